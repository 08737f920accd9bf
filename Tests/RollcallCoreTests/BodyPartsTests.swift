import Testing

@testable import RollcallCore

/// A body that is divided by whose its items are. Source: K1, K5.
@Suite("Parts of a body (K5)")
struct BodyPartsTests {
    /// Two cells with half of the slots each: `r-17` and `4711` are the first one's, `Zoë` the other's.
    private static let owners = (0..<PersonSlot.count).map { UInt16($0 < 2048 ? 0 : 1) }

    private func parts(_ text: String, _ format: BodyFormat = .json) -> BodyParts? {
        BodyParts(Array(text.utf8), format: format, owners: Self.owners, depthMax: 8)
    }

    private func texts(_ parts: BodyParts?) -> [String] {
        (parts?.parts ?? []).map { String(decoding: $0.body, as: UTF8.self) }
    }

    @Test("each cell gets its items, as they were written, and their places")
    func divides() throws {
        let body =
            #"[{"responder_id":"r-17"}, {"responder_id": "Zoë"} ,{"a":[1],"responder_id":4711}]"#
        let parts = try #require(self.parts(body))
        #expect(
            texts(parts) == [
                #"[{"responder_id":"r-17"},{"a":[1],"responder_id":4711}]"#,
                #"[{"responder_id": "Zoë"}]"#,
            ])
        #expect(parts.parts.map(\.cell) == [0, 1])
        #expect(parts.parts.map(\.places) == [[0, 2], [1]])
        #expect(parts.itemCount == 3)
    }

    @Test("so it is with lines, of which empty ones are none")
    func dividesLines() throws {
        let body =
            "{\"responder_id\":\"Zoë\"}\n\n{\"responder_id\":\"r-17\"}\r\n{\"responder_id\":\"Zo\\u00eb\"}"
        let parts = try #require(self.parts(body, .lines))
        #expect(
            texts(parts) == [
                "{\"responder_id\":\"r-17\"}",
                "{\"responder_id\":\"Zoë\"}\n{\"responder_id\":\"Zo\\u00eb\"}",
            ])
        #expect(parts.parts.map(\.places) == [[1], [0, 2]])
    }

    @Test("a body of one cell goes on as it came")
    func staysWhole() throws {
        for (text, format) in [
            (#" {"responder_id":"r-17"} "#, BodyFormat.json),
            (#"[ {"responder_id":"r-17"}, {"responder_id":4711}, 5 ]"#, .json),
            ("\n{\"responder_id\":\"r-17\"}\n \n", .lines),
        ] {
            #expect(texts(parts(text, format)) == [text])
        }
    }

    @Test("the word about when it was sent goes to all, and is no item")
    func keepsTheHead() throws {
        let said = #"{"sent_at":1764000000}"#
        let one = #"{"responder_id":"r-17"}"#
        let other = #"{"responder_id":"Zoë"}"#
        let list = try #require(parts("[\(said),\(other),\(one)]"))
        #expect(texts(list) == ["[\(said),\(one)]", "[\(said),\(other)]"])
        #expect(list.parts.map(\.places) == [[0, 2], [0, 1]])
        #expect(list.parts.map(\.itemCount) == [1, 1])
        let lines = try #require(parts("\(said)\n\(one)\n\(other)", .lines))
        #expect(texts(lines) == ["\(said)\n\(one)", "\(said)\n\(other)"])
        // In any other place it is an item, and so it is with more in it.
        let late = try #require(parts("[\(one),\(said),\(other)]"))
        #expect(late.parts.map(\.places) == [[0, 1], [2]])
        let more = try #require(parts(#"[{"sent_at":1,"a":2},\#(other)]"#))
        #expect(more.parts.map(\.itemCount) == [2])
        #expect(parts("[\(said)]")?.parts.isEmpty == true)
    }

    @Test("items whose id cannot be read go along with another one, to be rejected there")
    func passesOnWhatCannotBeRead() throws {
        let other = #"{"responder_id":"Zoë"}"#
        let one = #"{"responder_id":"r-17"}"#
        for odd in [
            "5", "null", "[]", "{}", #"{"responder_id":{}}"#, #"{"responder_id":-1}"#,
            #"{"responder_id":1.5}"#, #"{"responder_id":12345678901234567890}"#,
        ] {
            let parts = try #require(self.parts("[\(other),\(odd),\(one)]"))
            #expect(parts.parts.map(\.places) == [[2], [0, 1]], "\(odd)")
        }
        let broken = try #require(
            parts("\(other)\n{\"responder_id\":\"r-17\"\n\(one)\n{} {}", .lines))
        #expect(broken.parts.map(\.places) == [[2], [0, 1, 3]])
        #expect(texts(broken)[1] == "\(other)\n{\"responder_id\":\"r-17\"\n{} {}")
    }

    @Test("of two ids the first counts, unless it is null")
    func firstIDCounts() throws {
        let body =
            #"[{"responder_id":null,"responder_id":"Zoë"},{"responder_id":"r-17","responder_id":"Zoë"}]"#
        #expect(try #require(parts(body)).parts.map(\.places) == [[1], [0]])
    }

    @Test("a body that is no JSON is not divided")
    func refuses() {
        for text in [
            "", " ", "{", "[1", "[{},]", #"{"a":1} 2"#, "[[[[[[[[[1]]]]]]]]]", "\u{FEFF}[]",
        ] {
            #expect(parts(text) == nil, "\(text)")
        }
        #expect(parts("[]")?.parts.isEmpty == true)
        #expect(parts("", .lines)?.parts.isEmpty == true)
    }

    @Test("a body with too many items is not divided")
    func refusesTooMany() {
        func count(_ text: String, _ format: BodyFormat) -> Int? {
            BodyParts(
                Array(text.utf8), format: format, owners: Self.owners, depthMax: 8, itemsMax: 2
            )?.itemCount
        }
        #expect(count(#"[{"sent_at":1},1,2]"#, .json) == 2)
        #expect(count("[1,2,3]", .json) == nil)
        #expect(count("1\n2\n", .lines) == 2)
        #expect(count("1\n2\n3", .lines) == nil)
    }

    @Test("every cell takes all of its part, and what it says of places fits the whole")
    func agreesWithTheScanner() throws {
        var random = Seeded(seed: 7)
        for _ in 0..<300 {
            let count = Int.random(in: 1...12, using: &random)
            let items = (0..<count).map { _ -> String in
                switch Int.random(in: 0..<9, using: &random) {
                case 0: return "7"
                case 1: return #"{"responder_id":""}"#
                case 2:
                    return
                        #"{"x":"]}\"","responder_id":\#(Int.random(in: 0..<99, using: &random))}"#
                default: return #"{"responder_id":"p-\#(Int.random(in: 0..<99, using: &random))"}"#
                }
            }
            for format in [BodyFormat.json, .lines] {
                let text =
                    format == .json
                    ? "[\(items.joined(separator: ","))]" : items.joined(separator: "\n")
                let body = Array(text.utf8)
                let whole = try ItemScanner.scan(body.span, kind: .batch, format: format)
                let parts = try #require(
                    BodyParts(body, format: format, owners: Self.owners, depthMax: 8))
                var rejected: [Int] = []
                var taken: [Int] = []
                for part in parts.parts {
                    let scan = try ItemScanner.scan(part.body.span, kind: .batch, format: format)
                    rejected += scan.rejected.map { part.places[$0.index] }
                    taken += scan.places.map { part.places[Int($0)] }
                    for index in 0..<scan.items.count {
                        let id = try #require(scan.items.item(index)).responderID
                        let slot = PersonSlot.of(scan.items.bytes.span, id.indices)
                        #expect(Int(Self.owners[slot]) == part.cell)
                    }
                }
                #expect(rejected.sorted() == whole.rejected.map(\.index))
                #expect(taken.sorted() == whole.places.map { Int($0) })
                #expect(parts.itemCount == whole.itemCount)
            }
        }
    }
}
