import Testing

@testable import RollcallCore

/// People come back from a checkpoint by pages and slices: as many as fill one, one more, one less.
/// Source: J5.
@Suite struct ReturningPeopleTests {
    private static let slice = Checkpoint.peopleASlice
    private static let page = Roster.pageSize
    private static let began = RunningTime(milliseconds: 1_795_230_000_000)

    private func id(_ number: Int) -> [UInt8] {
        // Of different lengths, so that each stands elsewhere than its number says.
        Array("r-\(String(repeating: "x", count: number % 5))\(number)".utf8)
    }

    private func report(_ numbers: Range<Int>, to engine: inout Engine) throws {
        guard !numbers.isEmpty else { return }
        let items = numbers.map { number in
            let id = String(decoding: id(number), as: UTF8.self)
            return
                #"{"responder_id":"\#(id)","circles":["c-\#(number / 4)"],"region":"g-\#(number % 3)"}"#
        }
        let body = Array("[\(items.joined(separator: ","))]".utf8)
        let scan = try ItemScanner.scan(body.span, kind: .batch)
        _ = engine.fold(.items(scan.items, source: EventSource.standard), at: Self.began)
        engine.advance(to: Self.began)
        _ = engine.takeDecisions()
    }

    private func returned(_ engine: Engine) -> Engine? {
        let checkpoint = Checkpoint(engine)
        var reader = CheckpointReader()
        for index in 0..<checkpoint.sliceCount { reader.take(checkpoint.slice(index)) }
        return reader.finish()
    }

    private func bytes(_ engine: Engine) -> [[UInt8]] {
        let checkpoint = Checkpoint(engine)
        return (0..<checkpoint.sliceCount).map { checkpoint.slice($0) }
    }

    @Test(arguments: [
        0, 1, page - 1, page, page + 1, slice - 1, slice, slice + 1, slice + page, 2 * slice + 1,
    ])
    func `J5: everybody is found who was there, and whoever comes then`(people: Int) throws {
        var engine = Engine()
        try report(0..<people, to: &engine)
        let erased = Set([0, 5, people / 2, people - 1]).filter { $0 > 0 && $0 < people }
        for number in erased {
            let erasure = Event.erase(.id(id(number)), source: EventSource.standard)
            _ = engine.fold(erasure, at: Self.began)
        }
        engine.advance(to: Self.began)
        _ = engine.takeDecisions()
        var back = try #require(returned(engine))
        #expect(back.roster.count == people)
        #expect(back.brokenInvariants() == [])
        #expect(bytes(back) == bytes(engine))
        for number in 0..<people {
            let found = back.roster.number(of: id(number))
            guard found == (erased.contains(number) ? nil : number),
                back.roster.id(number).elementsEqual(engine.roster.id(number))
            else {
                Issue.record("person \(number) is found as \(found ?? -1)")
                break
            }
        }
        // Others come; pages go on where they ended.
        try report(0..<(people + Self.page + 1), to: &back)
        try report(0..<(people + Self.page + 1), to: &engine)
        #expect(back.roster.count == engine.roster.count)
        #expect(back.brokenInvariants() == [])
        #expect(bytes(back) == bytes(engine))
    }

    @Test func `J5: slices come back the same in whatever order they were taken apart`() throws {
        var engine = Engine()
        try report(0..<(3 * Self.slice + 1), to: &engine)
        let erasure = Event.erase(.id(id(Self.slice)), source: EventSource.standard)
        _ = engine.fold(erasure, at: Self.began)
        engine.advance(to: Self.began)
        _ = engine.takeDecisions()
        let slices = bytes(engine)
        var apart: [Int: CheckpointSlice] = [:]
        for index in slices.indices.reversed() {
            apart[index] = CheckpointSlice(slices[index], at: index, version: Engine.version)
        }
        var reader = CheckpointReader()
        for index in slices.indices {
            let slice = try #require(apart[index])
            apart[index] = nil
            reader.take(slice)
        }
        let back = try #require(reader.finish())
        #expect(back.brokenInvariants() == [])
        #expect(bytes(back) == slices)
        for number in 0..<back.roster.count where number != Self.slice {
            guard back.roster.number(of: id(number)) == number else {
                Issue.record("person \(number) is not found")
                break
            }
        }
    }

    @Test func `J5: people who are not the next ones are none`() throws {
        var engine = Engine()
        try report(0..<(2 * Self.slice), to: &engine)
        let slices = bytes(engine)
        var reader = CheckpointReader()
        let last = slices.count - 1
        for place in Array(0..<(last - 1)) + [last, last - 1] { reader.take(slices[place]) }
        #expect(reader.finish() == nil)
    }
}
