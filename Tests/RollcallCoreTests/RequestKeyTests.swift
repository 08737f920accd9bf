import Testing

@testable import RollcallCore

/// Requests under a name of their own: done once, and answered as the first was. Source: S19.
@Suite struct RequestKeyTests {
    /// An engine that is asked under names, as the state writer asks it.
    private struct Stage {
        var engine = Engine()
        var now = RunningTime(milliseconds: Script.zero)

        /// Lets a request arrive; its result if it is done now is `result`.
        mutating func ask(_ key: RequestKey, result: [Int64]) -> (KeyedAnswer, forgotten: Int) {
            engine.advance(to: now)
            _ = engine.takeDecisions()
            let answer = engine.answer(to: key, at: now)
            guard answer == .new else { return (answer, 0) }
            let receipt = engine.fold(.done(DoneRequest(key, result: result)), at: now)
            engine.advance(to: now)
            #expect(engine.takeDecisions().isEmpty, "a name decides nothing")
            return (answer, receipt.keysForgotten)
        }
    }

    private static func key(
        _ name: UInt64, _ request: UInt64, _ kind: RequestKey.Kind = .action
    ) -> RequestKey {
        RequestKey(
            name: RequestKey.Name(high: name &* 0x9E37_79B9, low: name), request: request,
            kind: kind)
    }

    /// Plays lines `TIME NAME asks REQUEST [as report] → new|repeats N|other`, in which the n-th
    /// request that is new comes to n; also with a restart before each of them.
    private func play(_ text: String, restarts: Bool) throws {
        var stage = Stage()
        var done: Int64 = 0
        for line in text.split(separator: "\n") {
            let halves = line.split(separator: "→").map { $0.split(separator: " ") }
            let words = halves[0]
            stage.now = RunningTime(milliseconds: Script.zero + (try Script.span(words[0])))
            if words[1] == "wall" {
                _ = stage.engine.fold(
                    .clock(step: Milliseconds(try Script.span(words[3]))), at: stage.now)
                continue
            }
            if words[1] == "start" {
                _ = stage.engine.fold(.start(), at: stage.now)
                continue
            }
            if restarts { stage.engine = try Self.copy(stage.engine) }
            let key = Self.key(
                UInt64(words[1].utf8.first ?? 0), UInt64(words[3].utf8.first ?? 0),
                words.last == "report" ? .report : .action)
            let (answer, _) = stage.ask(key, result: [done + 1])
            if answer == .new { done += 1 }
            let said =
                switch answer {
                case .new: "new"
                case .repeated(let result): "repeats \(result.map { "\($0)" }.joined())"
                case .otherRequest: "other"
                }
            #expect(said == halves[1].joined(separator: " "), "\(line)")
        }
    }

    private static func copy(_ engine: Engine) throws -> Engine {
        let checkpoint = Checkpoint(engine)
        var reader = CheckpointReader()
        for index in 0..<checkpoint.sliceCount { reader.take(checkpoint.slice(index)) }
        return try #require(reader.finish())
    }

    @Test(arguments: [false, true])
    func `S19: what was done under a name is not done again for 24 h, over restarts too`(
        restarts: Bool
    ) throws {
        try play(
            """
            0s           a asks x              → new
            1s           a asks x              → repeats 1
            1s           a asks y              → other
            2s           b asks x              → new
            3s           a asks x as report    → other
            23h59m59s    a asks x              → repeats 1
            24h          a asks y              → new
            24h          b asks x              → repeats 2
            24h2s        b asks x              → new
            24h3s        a asks y              → repeats 3
            """, restarts: restarts)
    }

    @Test func `S19: the 24 h are running time: no step of the wall and no stop moves them`() throws
    {
        try play(
            """
            0s           a asks x              → new
            1h           wall steps 48h
            1h           a asks x              → repeats 1
            2h           wall steps -72h
            20h          start
            23h          a asks x              → repeats 1
            24h          a asks x              → new
            """, restarts: true)
    }

    @Test(arguments: RequestKey.Kind.allCases)
    func `S19: of too many names the oldest goes, of its own kind only`(
        kind: RequestKey.Kind
    ) throws {
        let other: RequestKey.Kind = kind == .action ? .report : .action
        var stage = Stage()
        _ = stage.ask(Self.key(1_000_000, 1, other), result: [])
        for number in 0..<UInt64(kind.countMax) {
            let (answer, forgotten) = stage.ask(Self.key(number, 1, kind), result: [Int64(number)])
            #expect(answer == .new && forgotten == 0)
        }
        #expect(stage.ask(Self.key(0, 1, kind), result: []).0 == .repeated([0]))
        #expect(stage.ask(Self.key(2_000_000, 1, kind), result: []).forgotten == 1)
        #expect(stage.engine.requestKeys.count(kind) == kind.countMax)
        stage.engine = try Self.copy(stage.engine)
        #expect(stage.ask(Self.key(1, 1, kind), result: []).0 == .repeated([1]))
        #expect(stage.ask(Self.key(1_000_000, 1, other), result: []).0 == .repeated([]))
        #expect(stage.ask(Self.key(0, 1, kind), result: []).0 == .new)
        #expect(stage.engine.requestKeys.count(kind) == kind.countMax)
    }

    /// Against a naive list that is looked through each time.
    @Test(arguments: Effort.seeds(20))
    func `S19: names are what a list of all that was done says`(seed: Int) throws {
        var random = Seeded(seed: UInt64(seed))
        var stage = Stage()
        var list: [(key: RequestKey, at: RunningTime, result: [Int64])] = []
        for step in 0..<2000 {
            stage.now =
                stage.now + Milliseconds(Int64.random(in: 0...1_200_000, using: &random))
            let kind: RequestKey.Kind = Bool.random(using: &random) ? .action : .report
            let key = Self.key(
                UInt64.random(in: 0..<200, using: &random),
                UInt64.random(in: 0..<2, using: &random), kind)
            let known = list.last {
                $0.key.name == key.name && stage.now - $0.at < RequestKeys.keptFor
            }
            let expected: KeyedAnswer =
                known.map { $0.key == key ? .repeated($0.result) : .otherRequest } ?? .new
            let (answer, _) = stage.ask(key, result: [Int64(step)])
            #expect(answer == expected)
            if answer == .new { list.append((key, stage.now, [Int64(step)])) }
            if step % 97 == 0 { stage.engine = try Self.copy(stage.engine) }
        }
        #expect(list.count > 300 && list.count < 1900)
    }

    @Test func `S16, S19: names are in a checkpoint only where there are any`() throws {
        var stage = Stage()
        _ = stage.engine.fold(.turn(lateness: nil), at: stage.now)
        stage.engine.advance(to: stage.now)
        let without = Checkpoint(stage.engine).slice(0)
        let key = Self.key(7, 8)
        _ = stage.ask(key, result: [3])
        let with = Checkpoint(stage.engine).slice(0)
        #expect(with.starts(with: without) && with.count > without.count)
        #expect(try Self.copy(stage.engine).answer(to: key, at: stage.now) == .repeated([3]))
        // With a reign before them, and without names behind one.
        let reign = Reign(number: 1, member: Array("a".utf8), unobserved: Milliseconds(0))
        _ = stage.engine.fold(.reign(reign), at: stage.now)
        stage.engine.advance(to: stage.now)
        let again = try Self.copy(stage.engine)
        #expect(again.answer(to: key, at: stage.now) == .repeated([3]))
        #expect(Checkpoint(again).slice(0) == Checkpoint(stage.engine).slice(0))
    }

    @Test func `S19: a row of a name is read as it was written, and damage is none`() {
        let request = DoneRequest(Self.key(.max, 0, .report), result: [1, -2, .max])
        #expect(DoneRequest(journalBytes: request.journalBytes) == request)
        let longest = DoneRequest(
            Self.key(1, 2), result: [Int64](repeating: 5, count: DoneRequest.resultMax))
        #expect(DoneRequest(journalBytes: longest.journalBytes) == longest)
        let tooLong = DoneRequest(longest.key, result: longest.result + [5])
        #expect(DoneRequest(journalBytes: tooLong.journalBytes) == nil)
        for count in 1..<request.journalBytes.count where count != 0 {
            let cut = DoneRequest(journalBytes: Array(request.journalBytes.prefix(count)))
            #expect(cut != request)
        }
    }

    @Test func `S19: a line of a name changes nothing in a replay`() throws {
        try timeline(
            """
            0s       41 reports                       → 41 unknown, 41 online
            1s       line {"kind":"key"}
            90s                                       → 41 degraded
            """)
    }
}
