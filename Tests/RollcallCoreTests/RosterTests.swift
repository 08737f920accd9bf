import Testing

@testable import RollcallCore

/// Rosters, whole and in parts, and erasure. Source: I11, F17.
@Suite struct RosterTests {
    @Test func `who is not in a new roster is retired, and comes back with the next`() throws {
        try timeline(
            """
            0s       41,42 report                     → 41 unknown, 41 online, 42 unknown, 42 online
            10s      roster 42                        → 41 not expected
            20s      roster 41 42                     → 41 unknown, 41 online
            """)
    }

    @Test func `contact received after a retirement brings back, an earlier one does not`() throws {
        try timeline(
            """
            0s       41,42 report                     → 41 unknown, 41 online, 42 unknown, 42 online
            10s      roster 42                        → 41 not expected
            20s      41 reports received 9.999s
            25s      41 reports received 10s
            30s      41 reports received 10.001s      → 41 unknown, 41 online
            """)
    }

    @Test func `a roster enrols people who are not expected until they are on duty`() throws {
        let engine = try timeline(
            """
            0s       roster 41 42
            10s      41 reports                       → 41 unknown, 41 online
            """)
        #expect(engine.aggregates.notExpected[Int(NotExpected.noDuty.rawValue)] == 1)
    }

    private func people(_ count: Int) -> (report: String, all: [String]) {
        let ids = (10..<(10 + count)).map { "\($0)" }
        let expected = ids.map { "\($0) unknown, \($0) online" }.joined(separator: ", ")
        return ("0s \(ids.joined(separator: ",")) report → \(expected)", ids)
    }

    @Test func `a roster that retires more than half of the active and more than five is refused`()
        throws
    {
        let eleven = people(11)
        try timeline(
            """
            \(eleven.report)
            10s      roster \(eleven.all.dropFirst(6).joined(separator: " "))
            """)
    }

    @Test func `a roster may retire half of the active`() throws {
        let twelve = people(12)
        try timeline(
            """
            \(twelve.report)
            10s      roster \(twelve.all.dropFirst(6).joined(separator: " ")) → \
            \(twelve.all.prefix(6).map { "\($0) not expected" }.joined(separator: ", "))
            """)
    }

    @Test func `those who are not active may leave a roster in any number`() throws {
        try timeline(
            """
            0s       1,2,3,4,5,6,7,8,9 goes off duty
            0s       41 reports                       → 41 unknown, 41 online
            10s      roster 41
            """)
    }

    @Test func `a roster may retire five, however few there are`() throws {
        let five = people(5)
        try timeline(
            """
            \(five.report)
            10s      roster 99 → \(five.all.map { "\($0) not expected" }.joined(separator: ", "))
            """)
    }

    @Test func `a roster that is allowed to shrink may retire anybody`() throws {
        let eleven = people(11)
        try timeline(
            """
            \(eleven.report)
            10s      roster 99 shrink → \
            \(eleven.all.map { "\($0) not expected" }.joined(separator: ", "))
            """)
    }

    // MARK: - Erasure (F17)

    @Test func `an erased person is refused until the backend names them again`() throws {
        try timeline(
            """
            0s       41 reports                       → 41 unknown, 41 online
            10s      41 is erased
            20s      41 reports
            25s      server says 41 ONLINE to OFFLINE
            30s      roster 41
            40s      41 is told on duty               → 41 unknown
            50s      41 reports                       → 41 online
            """)
    }

    @Test func `an erased id is forgotten after the retention`() throws {
        try timeline(
            """
            0s       41 reports                       → 41 unknown, 41 online
            10s      41 is erased
            2591999s 41 reports
            2592010s 41 reports                       → 41 unknown, 41 online
            """)
    }

    @Test func `an erasure takes the names that nobody has any more`() throws {
        var engine = Engine()
        fold(
            #"[{"responder_id":"a","region":"x","circles":["p"],"app_version":"1"},"#
                + #"{"responder_id":"b","region":"y","circles":["q"],"app_version":"2"}]"#, &engine)
        fold(#"{"responder_id":"a","region":"y"}"#, &engine)
        let erasure = Event.erase(.id(Array("a".utf8)), source: Array("default".utf8))
        _ = engine.fold(erasure, at: engine.clock.now)
        engine.advance(to: engine.clock.now)
        #expect(
            engine.regions.names.map { String(decoding: $0, as: UTF8.self) } == [
                "", "default", "", "y",
            ])
        #expect(engine.circles.count == 1)
        #expect(engine.versions.count == 1)
        // The freed number is given again, the others keep theirs.
        fold(#"{"responder_id":"b","region":"z"}"#, &engine)
        #expect(engine.regions[2] == Array("z".utf8))
    }

    private func fold(_ body: String, _ engine: inout Engine) {
        let bytes = Array(body.utf8)
        guard let scan = try? ItemScanner.scan(bytes.span, kind: .batch) else { return }
        _ = engine.fold(
            .items(scan.items, source: Array("default".utf8)),
            at: RunningTime(milliseconds: Script.zero))
    }

    @Test func `whoever is erased leaves no hole in the table of ids`() {
        var engine = Engine()
        for number in 0..<2000 { fold("{\"responder_id\":\"r-\(number)\"}", &engine) }
        for number in stride(from: 0, to: 2000, by: 3) {
            let erasure = Event.erase(.id(Array("r-\(number)".utf8)), source: [])
            _ = engine.fold(erasure, at: engine.clock.now)
        }
        for number in 0..<2000 {
            let found = engine.roster.number(of: Array("r-\(number)".utf8))
            #expect(found == (number % 3 == 0 ? nil : number))
        }
        #expect(engine.brokenInvariants() == [])
    }

    // MARK: - Rosters in parts (I11)

    @Test func `a roster in parts retires with its last part`() throws {
        try timeline(
            """
            0s       1,2,3 report    → 1 unknown, 1 online, 2 unknown, 2 online, 3 unknown, 3 online
            10s      roster 1 part a more
            11s      roster 4 part a more
            20s      roster 2 part a                  → 3 not expected
            """)
    }

    @Test func `facts of a part hold at once`() throws {
        let engine = try timeline(
            """
            0s       roster 1 part a more
            1s       1 reports                        → 1 unknown, 1 online
            """)
        #expect(engine.aggregates.active == 1)
    }

    @Test func `a retry of the last part changes nothing, and a part behind it is refused`() throws
    {
        try timeline(
            """
            0s       1,2 report                       → 1 unknown, 1 online, 2 unknown, 2 online
            10s      roster 1 part a                  → 2 not expected
            20s      2 is told on duty                → 2 unknown, 2 online
            30s      roster 1 part a
            40s      roster 3 part a
            50s      roster 3 part a more
            """)
    }

    @Test func `a roster of which no part came for 10 minutes is given up`() throws {
        try timeline(
            """
            0s       1,2 go off duty
            0s       roster 1 part a more
            0s       roster 1 part b more
            599.999s roster 1 part b more
            600s     roster 2 part a
            600s     roster 2 part b
            601s     1,2 are told on duty             → 1 unknown, 2 unknown
            """)
    }

    @Test func `a roster was given up when its time was over, not when that was noticed`() throws {
        try timeline(
            """
            0s       1,2 report                       → 1 unknown, 1 online, 2 unknown, 2 online
            0s       roster 1 part a more
            90s                                       → 1 degraded, 2 degraded
            180s                                      → 1 offline, 2 offline
            1199s    roster 1 part a
            1200s    roster 1 part a                  → 2 not expected
            """)
    }

    @Test func `its id may be used again 10 minutes after its end`() throws {
        try timeline(
            """
            0s       1,2 go off duty
            0s       roster 1 2 part a
            599.999s roster 1 part a
            600s     roster 1 2 part a more
            601s     roster 1 part a
            602s     1,2 are told on duty             → 1 unknown, 2 unknown
            """)
    }

    @Test func `the ninth open roster ends the oldest`() throws {
        let parts = (1...9).map { "\($0)s roster 1 part p\($0) more" }.joined(separator: "\n")
        let engine = try timeline(
            """
            0s       1,2 go off duty
            \(parts)
            10s      roster 2 part p1
            11s      roster 2 part p2
            """)
        #expect(engine.rosters.open.count == RosterParts.openMax - 1)
        #expect(engine.rosters.ended.count == 2)
    }

    @Test func `the last part of a roster that shrinks too much may come again with permission`()
        throws
    {
        let twelve = people(12)
        try timeline(
            """
            \(twelve.report)
            10s      roster 10 part a more
            11s      roster 11 part a
            12s      roster 11 shrink part a → \
            \(twelve.all.dropFirst(2).map { "\($0) not expected" }.joined(separator: ", "))
            """)
    }
}
