import Testing

@testable import RollcallCore

/// What comes before what, and what a replay makes of its lines. Source: F1 to F5.
@Suite struct OrderTests {
    // MARK: - At an instant (F1, L12)

    @Test func `what arrives is folded in journal order`() throws {
        try timeline(
            """
            0s     b reports                          → b unknown, b online
            0s     a reports                          → a unknown, a online
            0s     c,A report                         → c unknown, c online, A unknown, A online
            """)
    }

    @Test func `deadlines pass by the bytes of the ids`() throws {
        try timeline(
            """
            0s     é,z,9,10,Z,a report                → é unknown, é online, z unknown, z online, \
            9 unknown, 9 online, 10 unknown, 10 online, Z unknown, Z online, a unknown, a online
            90s                                       → 10 degraded, 9 degraded, Z degraded, \
            a degraded, z degraded, é degraded
            """)
    }

    @Test func `a deadline comes after all that arrives at its instant`() throws {
        try timeline(
            """
            0s     a,b report                         → a unknown, a online, b unknown, b online
            90s    c reports                          → c unknown, c online
            90s    b reports                          → a degraded
            """)
    }

    @Test func `pauses end before deadlines pass`() throws {
        try timeline(
            """
            0s     a,z report                         → a unknown, a online, z unknown, z online
            1s     z pauses until 90s                 → z not expected
            90s                                       → z unknown, z online, a degraded
            """)
    }

    @Test func `the late come before the forgotten`() throws {
        try timeline(
            """
            0s     policy forget 1h
            0s     a goes on duty                     → a unknown
            180s                                      → a offline
            1h90s  z reports                          → z unknown, z online
            1h180s                                    → z degraded, a not expected by deadline
            """)
    }

    @Test func `the forgotten leave by the bytes of their ids`() throws {
        try timeline(
            """
            0s     policy forget 1h
            0s     9,10,a goes on duty                → 9 unknown, 10 unknown, a unknown
            180s                                      → 10 offline, 9 offline, a offline
            1h180s                                    → 10 not expected by deadline, \
            9 not expected by deadline, a not expected by deadline
            """)
    }

    @Test func `blindness ends before pauses do and deadlines pass`() throws {
        try timeline(
            """
            0s     a,z report                         → a unknown, a online, z unknown, z online
            10s    z pauses until 92s                 → z not expected
            89s    store fails
            90s                                       → blind store since 89s
            99s    store recovers                     → blind store ended since 89s, z unknown, z online
            100s                                      → a degraded
            """)
    }

    // MARK: - Digits (F4)

    @Test func `digits below a millisecond are cut`() throws {
        try timeline(
            """
            0s     41 reports                         → 41 unknown, 41 online
            60s    41 reports {"received_at":"2026-11-21T00:00:50.0009Z"}
            140s                                      → 41 degraded
            """)
    }

    // MARK: - Lines (F5)

    /// The statuses that a replay of `lines` prints, each stamped in milliseconds of the timeline.
    private func replay(_ lines: String..., finishes: Bool = true) throws -> [String] {
        var replay = Replay(policy: Policy())
        var output: [UInt8] = []
        for line in lines {
            let words = line.split(separator: " ", maxSplits: 1)
            let at = try Script.span(words[0]) + Script.zero
            try replay.fold(Array("{\"at\":\(at),\(words[1])}".utf8), to: &output)
        }
        if finishes { replay.finish(to: &output) }
        return String(decoding: output, as: UTF8.self).split(separator: "\n").compactMap { line in
            line.split(separator: ",").first { $0.contains("\"to\":") }.map(String.init)
        }
    }

    private static let batch = #""kind":"batch","body":{"responder_id":"41"}"#

    @Test func `without an end the last line's instant is closed`() throws {
        let words = [#""to":"UNKNOWN""#, #""to":"ONLINE""#, #""to":"DEGRADED""#]
        let turn = #""kind":"batch","body":{"responder_id":"42","duty_state":"OFF_DUTY"}"#
        #expect(try replay("0s \(Self.batch)", "90s \(turn)") == words)
        #expect(try replay("0s \(Self.batch)", "90s \(turn)", finishes: false).count == 2)
        #expect(try replay("0s \(Self.batch)", "89.999s \(turn)").count == 2)
    }

    @Test func `an end closes its own instant`() throws {
        let words = [#""to":"UNKNOWN""#, #""to":"ONLINE""#, #""to":"DEGRADED""#]
        #expect(try replay("0s \(Self.batch)", #"90s "kind":"end""#, finishes: false) == words)
        #expect(try replay("0s \(Self.batch)", #"89.999s "kind":"end""#).count == 2)
    }

    @Test func `a line older than its predecessor is folded at the held time`() throws {
        try timeline(
            """
            100s   41 reports                         → 41 unknown, 41 online
            50s    line {"kind":"batch","body":{"responder_id":"42"}}
            100s                                      → 42 unknown, 42 online
            190s                                      → 41 degraded, 42 degraded
            """)
    }

    @Test func `nothing is decided between a stop and the end`() throws {
        try timeline(
            """
            0s     41 reports                         → 41 unknown, 41 online
            50s    stop
            1h
            """)
    }

    @Test func `a line between stop and start is an error that names it`() throws {
        let stop = #"10s "kind":"stop""#
        #expect(throws: ReplayError.self) {
            try replay("0s \(Self.batch)", stop, "20s \(Self.batch)")
        }
        do {
            _ = try replay("0s \(Self.batch)", stop, "20s \(Self.batch)")
        } catch let error as ReplayError {
            #expect(error.line == 3)
        }
        #expect(throws: ReplayError.self) { try replay(stop, #"11s "kind":"turn""#) }
        #expect(throws: ReplayError.self) { try replay(stop, stop) }
        _ = try replay(stop, #"11s "kind":"start""#, "12s \(Self.batch)")
    }

    @Test func `nothing follows an end`() throws {
        let end = #"10s "kind":"end""#
        #expect(throws: ReplayError.self) { try replay(end, "20s \(Self.batch)") }
        #expect(throws: ReplayError.self) { try replay(end, #"20s "kind":"start""#) }
    }

    @Test(arguments: [
        "{", "[]", "7", #"{"kind":"start"}"#, #"{"at":"yesterday","kind":"start"}"#,
        #"{"at":1795219200000}"#, #"{"at":1795219200000,"kind":"dance"}"#,
        #"{"at":1795219200000,"kind":"start"} x"#, #"{"at":1795219200000,"kind":"store"}"#,
        #"{"at":1795219200000,"kind":"store","body":{"state":"shaky"}}"#,
        #"{"at":1795219200000,"kind":"clock","body":{}}"#,
        #"{"at":1795219200000,"kind":"erase","body":{}}"#,
        #"{"at":1795219200000,"kind":"refused","body":{}}"#,
        #"{"at":1795219200000,"kind":"batch"}"#, #"{"at":1795219200000,"kind":"batch","body":}"#,
    ])
    func `a line that cannot be read is an error with its number`(line: String) {
        var replay = Replay(policy: Policy())
        var output: [UInt8] = []
        #expect(throws: Never.self) {
            try replay.fold(Array(#"{"at":1795219200000,"kind":"start"}"#.utf8), to: &output)
        }
        let error = #expect(throws: ReplayError.self) {
            try replay.fold(Array(line.utf8), to: &output)
        }
        #expect(error?.line == 2)
    }

    /// The same bytes for the same input.
    @Test func `a decision is printed as one line of JSON`() throws {
        var replay = Replay(policy: Policy(), reportsUpdates: true)
        var output: [UInt8] = []
        for line in [
            #"{"at":"2026-11-21T00:00:00.0007Z","kind":"batch","body":"#
                + #"{"responder_id":"a\"\u0041/é\ud83d\ude00","updates":[{"sequence":7}]}}"#,
            #"{"kind":"store","body":{"state":"failing"},"at":1795219201000,"more":[{}]}"#,
            #"{"at":1795219202000,"kind":"store","body":{"state":"ok"}}"#,
        ] { try replay.fold(Array(line.utf8), to: &output) }
        replay.finish(to: &output)
        #expect(
            String(decoding: output, as: UTF8.self) == """
                {"at":"2026-11-21T00:00:00.000Z","kind":"update","responder_id":"a\\"A/é😀",\
                "sequence":7,"outcome":"accepted"}
                {"at":"2026-11-21T00:00:00.000Z","kind":"status","responder_id":"a\\"A/é😀",\
                "from":"NOT_EXPECTED","to":"UNKNOWN","origin":"duty"}
                {"at":"2026-11-21T00:00:00.000Z","kind":"status","responder_id":"a\\"A/é😀",\
                "from":"UNKNOWN","to":"ONLINE","origin":"contact"}
                {"at":"2026-11-21T00:00:02.000Z","kind":"blind","state":"begin",\
                "since":"2026-11-21T00:00:01.000Z","reason":"store"}
                {"at":"2026-11-21T00:00:02.000Z","kind":"blind","state":"end",\
                "since":"2026-11-21T00:00:01.000Z","reason":"store"}

                """)
    }

    @Test func `a heartbeat's source is the body's, else the line's`() throws {
        let engine = try timeline(
            """
            0s line {"kind":"heartbeat","source":"b1","body":{"every_seconds":10}}
            0s line {"kind":"heartbeat","source":"b1","body":{"source":"b2","every_seconds":10}}
            0s line {"kind":"heartbeat","body":{"every_seconds":10}}
            """)
        #expect(
            engine.sight.feed.sources.map(\.name) == ["b1", "b2", "default"].map { Array($0.utf8) })
    }

    @Test func `a policy line is ignored where settings are given`() throws {
        var replay = Replay(policy: Policy())
        var output: [UInt8] = []
        for line in [
            #"{"at":1795219200000,"kind":"policy","body":{"any":"thing"}}"#,
            #"{"at":1795219200000,"kind":"batch","body":{"responder_id":"41"}}"#,
            #"{"at":1795219289999,"kind":"end"}"#,
        ] { try replay.fold(Array(line.utf8), to: &output) }
        #expect(output.count { $0 == UInt8(ascii: "\n") } == 2)
    }
}

extension Script {
    /// The same lines with ones between them that change nothing; nil if lines are signs of life.
    func steppedLines() -> [(at: Int64, json: String)]? {
        let isRegular = lines.allSatisfy { line in
            ["start", "stop", "reign", "turn", "clock"].allSatisfy {
                !line.json.contains("\"kind\":\"\($0)\"")
            }
        }
        guard isRegular else { return nil }
        var stepped: [(at: Int64, json: String)] = []
        for (line, next) in zip(lines, lines.dropFirst().map(\.at) + [at]) {
            stepped.append(line)
            for middle in [line.at + 1, (line.at + next) / 2, next - 1]
            where middle > line.at && middle < next {
                let at = "\"at\":\(middle + Self.zero)"
                stepped.append((middle, "{\(at),\"kind\":\"clock\",\"body\":{\"step_ms\":0}}"))
            }
        }
        return stepped
    }

    // I2: of two batches of one instant the higher sequence wins, whichever comes later.
    @Test(
        arguments: [
            (6, 5), (Int64.max, 98), (Int64.max, Int64.max - 1), (1 << 31, (1 << 31) - 1),
            ((1 << 31) - 1, (1 << 31) - 2), (1_795_219_200_001, 1_795_219_200_000), (1, 0),
            (1 << 40, 7),
        ] as [(Int64, Int64)])
    func `a higher sequence wins a tie, a lower one does not`(higher: Int64, lower: Int64) {
        let at = ObservedTime(milliseconds: 1)
        let (high, low) = (FactTime(at: at, by: higher), FactTime(at: at, by: lower))
        #expect(high.isNews(after: low))
        #expect(!low.isNews(after: high))
        #expect(high.isNews(after: high))
    }
}
