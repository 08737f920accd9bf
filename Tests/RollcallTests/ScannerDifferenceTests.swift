import Foundation
import RollcallCore
import RollcallTools
import Testing

/// The scanner beside Foundation's decoder, over bodies that seeds make and break. What both take says
/// the same to both, and what Foundation refuses we refuse. The differences that remain are these, and
/// each has a test below:
///
/// - Foundation guesses encodings; RFC 8259 knows UTF-8 alone, without a byte order mark.
/// - Containers nest 16 deep here and 512 there.
/// - A number that no double holds is an error there. Here it is JSON, and no value where one is asked
///   for.
/// - An integer with a fraction or an exponent (`1.0`, `1e2`), and `-0`, is one there. Here it is none,
///   so that nothing rounds a sequence.
/// - A number of more than 64 bytes is a value there, and none here.
/// - Of a name that is given twice one of the two wins there. Here the first wins, and the second is
///   told as a problem; of what is within telemetry or an update the last wins.
@Suite struct ScannerDifferenceTests {
    private static let bodies = 400
    /// Broken bodies for each whole one.
    private static let breaks = 3

    @Test(arguments: [1, 2, 3] as [UInt64])
    func `what Foundation reads of a body we read, and nothing that it refuses`(seed: UInt64) {
        var dice = Dice(seed: seed)
        var aggregates = Aggregates()
        for _ in 0..<Self.bodies {
            let body = RandomBatch(&dice).bytes
            compare(body, &aggregates)
            #expect(aggregates.refusedWhole == 0, "\(seed): a whole body is taken: \(shown(body))")
            for _ in 0..<Self.breaks { compare(broken(body, &dice), isBroken: true, &aggregates) }
        }
        // Both must have come often, or nothing was compared.
        #expect(aggregates.taken > 500 && aggregates.refusedBroken > 500, "\(aggregates)")
        #expect(aggregates.compared > 300, "\(aggregates)")
    }

    private struct Aggregates {
        var taken = 0
        var refusedWhole = 0
        var refusedBroken = 0
        var compared = 0
    }

    private func compare(_ body: [UInt8], isBroken: Bool = false, _ aggregates: inout Aggregates) {
        let ours = try? ItemScanner.scan(body.span, kind: .batch)
        let theirs = FoundationReading(body)
        guard let ours else {
            if isBroken { aggregates.refusedBroken += 1 } else { aggregates.refusedWhole += 1 }
            // A NUL behind a digit makes a number of UTF-16.
            let isOtherEncoding = body.contains(0)
            #expect(theirs == nil || isOtherEncoding, "only we refuse: \(shown(body))")
            return
        }
        aggregates.taken += 1
        let numbers = Numbers(body)
        guard let theirs else {
            #expect(numbers.hasBeyondDouble, "only Foundation refuses: \(shown(body))")
            return
        }
        if numbers.hasOtherInteger { return }
        aggregates.compared += 1
        #expect(ReadBatch.all(ours) == theirs.batches, "\(shown(body))")
        #expect(ours.privateFieldsDropped == theirs.privateFields, "\(shown(body))")
    }

    private func shown(_ body: [UInt8]) -> String { String(decoding: body, as: UTF8.self) }

    /// The numbers of a body, and what merely looks like one.
    private struct Numbers {
        var hasBeyondDouble = false
        /// An integer that is not written as one.
        var hasOtherInteger = false

        init(_ body: [UInt8]) {
            for part in body.split(whereSeparator: { !"0123456789+-.eE".utf8.contains($0) }) {
                let text = String(decoding: part, as: UTF8.self)
                // Parts of times are none.
                guard let value = Double(text), !".+".contains(text.prefix(1)), text.last != "."
                else { continue }
                if !value.isFinite { hasBeyondDouble = true }
                let isPlain = part.allSatisfy { (0x30...0x39).contains($0) } || value < 0
                if value == value.rounded(), !isPlain { hasOtherInteger = true }
                if text.contains("e") || text.contains("E") { hasOtherInteger = true }
                if value == 0, text.first == "-" { hasOtherInteger = true }
            }
        }
    }

    /// One to three bytes are changed, put in or taken out; or a few are there twice, or the end is
    /// cut off.
    private func broken(_ body: [UInt8], _ dice: inout Dice) -> [UInt8] {
        var body = body
        let signs =
            Array(#"{}[]",:\0123456789-+.eEtfnu "#.utf8) + [0x00, 0x1F, 0x7F, 0x80, 0xC3, 0xFF]
        for _ in 0..<dice.number(1...3) where !body.isEmpty {
            let place = Int(dice.number(0...Int64(body.count - 1)))
            switch dice.number(0...9) {
            case 0: body[place] ^= 1 << UInt8(dice.number(0...7))
            case 1...3: body[place] = dice.pick(signs)
            case 4...5: body.insert(dice.pick(signs), at: place)
            case 6...7: body.remove(at: place)
            case 8: body.removeLast(Int(dice.number(0...3)) % body.count)
            // Too short for a name of ours, so that none is there twice.
            default: body.insert(contentsOf: body[place...].prefix(5), at: place)
            }
        }
        return body
    }

    // MARK: - Differences

    private func body(_ members: String) -> [UInt8] {
        Array(#"{"responder_id":"a"\#(members)}"#.utf8)
    }

    private func isOurs(_ body: [UInt8]) -> Bool {
        (try? ItemScanner.scan(body.span, kind: .batch)) != nil
    }

    private func isTheirs(_ body: [UInt8]) -> Bool { FoundationReading(body) != nil }

    private func value(_ body: [UInt8]) throws -> (ours: ReadBatch?, theirs: ReadBatch?) {
        let ours = try ItemScanner.scan(body.span, kind: .batch)
        let theirs = try #require(FoundationReading(body))
        return (ReadBatch.all(ours).first ?? nil, theirs.batches.first ?? nil)
    }

    @Test func `Foundation guesses encodings, we know one`() throws {
        let text = String(decoding: body(""), as: UTF8.self)
        for other in [String.Encoding.utf16LittleEndian, .utf16BigEndian, .utf32LittleEndian] {
            let bytes = Array(try #require(text.data(using: other)))
            #expect(isTheirs(bytes) && !isOurs(bytes))
        }
        #expect(isTheirs([0xEF, 0xBB, 0xBF] + body("")) && !isOurs([0xEF, 0xBB, 0xBF] + body("")))
    }

    @Test func `we follow fewer containers`() {
        func nested(_ depth: Int) -> [UInt8] {
            let brackets = (0..<depth).map { _ in "[" } + (0..<depth).map { _ in "]" }
            return body(#","strange":"# + brackets.joined())
        }
        #expect(isTheirs(nested(15)) && isOurs(nested(15)))
        #expect(isTheirs(nested(16)) && !isOurs(nested(16)))
        #expect(!isTheirs(nested(600)) && !isOurs(nested(600)))
    }

    @Test func `a number that no double holds is JSON all the same`() {
        #expect(!isTheirs(body(#","strange":1e999"#)) && isOurs(body(#","strange":1e999"#)))
        let long = body(#","battery_level":0."# + String(repeating: "5", count: 80))
        let (ours, theirs) = (try? value(long)) ?? (nil, nil)
        #expect(theirs?.battery == 5556 && ours?.battery == nil && ours?.responderID == "a")
    }

    @Test(arguments: ["1.0", "1e2", "10e-1"])
    func `an integer is written as one`(number: String) throws {
        let (ours, theirs) = try value(body(#","updates":[{"sequence":\#(number)}]"#))
        #expect(theirs?.updates.count == 1 && ours?.updates == [])
    }

    @Test func `of a name that is given twice the first wins`() throws {
        let twice = body(#","region":"n","region":"s""#)
        let scan = try ItemScanner.scan(twice.span, kind: .batch)
        #expect(scan.problemCount(.duplicateKey) == 1 && isTheirs(twice))
        #expect(try value(twice).ours?.region == "n")
        let within = try value(
            body(
                #","telemetry":{"queue_depth":1,"queue_depth":2},"updates":[{"sequence":1,"#
                    + #""sequence":2},{"sequence":3,"fix":"cached","fix":"live"}]"#)
        ).ours
        #expect(within?.telemetry?.last == 1)
        // Of a sequence nobody knows which is another update's.
        #expect(within?.updates.map(\.sequence) == [3] && within?.updates.first?.isCached == true)
    }
}
