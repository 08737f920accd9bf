import Testing

@testable import Rollcall
@testable import RollcallBasis
@testable import RollcallCore
@testable import RollcallStore

/// Gaps and dark time as they stand in the store, and how they leave it (Contract/Gaps, J7, I7).
@Suite struct GapStoreTests {
    private let directory = TemporaryDirectory()

    private func number(_ story: HistoryStory, _ sql: SQL) throws -> Int64 {
        try story.integers(sql).first ?? 0
    }

    // MARK: - Writing

    @Test func `a gap is stored from when it counts, once, and follows it to the verdict`() throws {
        var story = try HistoryStory(directory)
        try story.turn(at: 0, [try HistoryStory.batches(["a"], sequence: 1, captured: 0)])
        try story.turn(at: 100)
        #expect(try number(story, "SELECT count(*) FROM gaps") == 0)
        try story.turn(at: 200)
        #expect(try number(story, "SELECT count(*) FROM gaps WHERE closed_ms = 0") == 1)
        #expect(try number(story, "SELECT tally >> 8 & 255 FROM gaps") == 0)
        try story.turn(
            at: 400, [try HistoryStory.batches(["a"], sequence: 2, captured: 150)])
        #expect(try number(story, "SELECT tally >> 25 FROM gaps WHERE closed_ms > 0") == 310_000)
        try story.turn(
            at: 480, [try HistoryStory.batches(["a"], sequence: 3, captured: 480)])
        try story.turn(at: 530)
        let aggregates = GapAggregates(raw: try number(story, "SELECT tally FROM gaps"))
        #expect(aggregates.cause == .appSuspended && aggregates.verdict == .network)
        #expect(aggregates.platform == .ios && !aggregates.isBlind)
        #expect(try number(story, "SELECT count(*) FROM gaps") == 1)
        #expect(try story.integers("SELECT first_turn FROM gaps") == [3])
        #expect(try story.integers("SELECT turn FROM gaps") == [6])
        try story.store.journal.close()
    }

    @Test func `a aggregates is what it was made of, also at its limits`() {
        var report = GapReport()
        #expect(GapAggregates(report).verdict == nil)
        for verdict in GapVerdict.allCases {
            report.verdict = verdict
            report.suspected = .unexplained
            report.facts.platform = .other
            report.blind = .seconds(86_400 * 30)
            report.length = .seconds(86_400 * 366)
            let aggregates = GapAggregates(raw: GapAggregates(report).raw)
            #expect(
                aggregates.verdict == verdict && aggregates.cause == .unexplained
                    && aggregates.isBlind)
            #expect(aggregates.platform == .other && aggregates.length == report.length)
        }
        report.length = Milliseconds(.max)
        #expect(GapAggregates(report).length == Milliseconds(1 << 38 - 1))
        report.length = Milliseconds(-1)
        #expect(GapAggregates(report).length == Milliseconds(0))
    }

    @Test func `mere lateness leaves no row`() throws {
        var story = try HistoryStory(directory)
        try story.turn(at: 0, [try HistoryStory.batches(["a"], sequence: 1, captured: 0)])
        try story.turn(at: 120)
        try story.turn(
            at: 130, [try HistoryStory.batches(["a"], sequence: 2, captured: 130)])
        #expect(try number(story, "SELECT count(*) FROM gaps") == 0)
        #expect(try number(story, "SELECT count(*) FROM dark") == 1)
        try story.store.journal.close()
    }

    @Test func `dark time is added up by day and person, across midnight too`() throws {
        var story = try HistoryStory(directory)
        try story.silence(["a", "b"], from: 0)
        #expect(try story.integers("SELECT contact_ms FROM dark") == [310_000, 310_000])
        #expect(try story.integers("SELECT location_ms FROM dark") == [300_000, 300_000])
        try story.silence(["a"], from: 3600)
        #expect(try story.integers("SELECT contact_ms FROM dark") == [620_000, 310_000])
        // Silent from 90 s after 23:57 on, for 310 s.
        try story.silence(["b"], from: HistoryStory.day - 180)
        let rows = try story.integers("SELECT contact_ms FROM dark WHERE responder = 2")
        #expect(rows == [310_000 + 90_000, 220_000])
        try story.store.journal.close()
    }

    @Test func `the last region and platform of a day are those of its row`() throws {
        let bookings = [
            DarkBooking(
                number: 7, day: 2, kind: .contact, length: Milliseconds(10), region: [1],
                platform: .ios),
            DarkBooking(
                number: 7, day: 1, kind: .location, length: Milliseconds(3), region: [1],
                platform: .ios),
            DarkBooking(
                number: 7, day: 2, kind: .location, length: Milliseconds(4), region: [2],
                platform: .android),
            DarkBooking(
                number: 6, day: 2, kind: .contact, length: Milliseconds(5), region: [3],
                platform: .ios),
        ]
        #expect(
            DarkRow.merged(bookings) == [
                DarkRow(
                    day: 1, responder: 8, platform: .ios, location: Milliseconds(3), region: [1]),
                DarkRow(
                    day: 2, responder: 7, platform: .ios, contact: Milliseconds(5), region: [3]),
                DarkRow(
                    day: 2, responder: 8, platform: .android, contact: Milliseconds(10),
                    location: Milliseconds(4), region: [2]),
            ])
    }

    @Test func `folding the tail again books nothing twice, and goes on with the gaps' numbers`()
        throws
    {
        var story = try HistoryStory(directory)
        try story.silence(["a"], from: 0)
        try story.turn(
            at: 1000, [try HistoryStory.batches(["b"], sequence: 1, captured: 1000)])
        try story.turn(at: 1300)
        let before = try story.integers("SELECT contact_ms + location_ms FROM dark")
        try story.store.journal.close()
        var again = try HistoryStory(directory)
        let recovered = try again.store.recover()
        #expect(recovered.differences == 0)
        again.engine = recovered.engine
        again.turn = story.turn
        #expect(again.engine.takeDarkBookings() == [])
        #expect(try again.integers("SELECT contact_ms + location_ms FROM dark") == before)
        try again.silence(["c"], from: 2000)
        #expect(try again.integers("SELECT number FROM gaps") == [1, 2, 3])
        try again.store.journal.close()
    }

    @Test func `a turn that was kept brings its gaps and its dark time when it is committed`()
        throws
    {
        var story = try HistoryStory(directory)
        try story.turn(at: 0, [try HistoryStory.batches(["a"], sequence: 1, captured: 0)])
        let kept = try story.pendingTurn(at: 200)
        let next = try story.pendingTurn(
            at: 400, [try HistoryStory.batches(["a"], sequence: 2, captured: 150)])
        #expect(try number(story, "SELECT count(*) FROM gaps") == 0)
        try story.store.commit([kept, next])
        #expect(try story.integers("SELECT first_turn FROM gaps WHERE closed_ms > 0") == [2])
        #expect(try story.integers("SELECT contact_ms FROM dark") == [310_000])
        try story.store.journal.close()
    }

    // MARK: - Leaving

    /// Cuts what is up to `turn`, as retention does, in pieces; returns how many it took.
    private func cut(_ story: HistoryStory, through turn: Int64, limit: Int64) throws -> Int {
        let journal = story.store.journal
        let found = try #require(try journal.turn(turn))
        var last: Int64 = 0
        var pieces = 0
        var isLeft = true
        while isLeft {
            try journal.begin()
            isLeft = try journal.cutGaps(through: found, after: &last, limit: limit)
            try journal.commit()
            pieces += 1
        }
        isLeft = true
        while isLeft {
            try journal.begin()
            isLeft = try journal.cutDark(
                before: found.wallMilliseconds / 86_400_000, limit: limit)
            try journal.commit()
            pieces += 1
        }
        return pieces
    }

    @Test func `gaps that are over go with their days, in pieces; open ones stay`() throws {
        var story = try HistoryStory(directory)
        try story.turn(at: 0, [try HistoryStory.batches(["open"], sequence: 1, captured: 0)])
        try story.turn(at: 200)
        for hour in 1...5 { try story.silence(["a", "b"], from: Int64(hour) * 3600) }
        let day = HistoryStory.day
        try story.turn(at: day + 1)
        let cutTurn = story.turn
        try story.silence(["a"], from: day + 3600)
        #expect(try number(story, "SELECT count(*) FROM gaps") == 12)
        // Eleven gaps and three rows of dark time of the first day, four a piece.
        #expect(try cut(story, through: cutTurn, limit: 4) == 4)
        #expect(try story.integers("SELECT number FROM gaps") == [1, 12])
        #expect(
            try story.integers("SELECT DISTINCT day FROM dark")
                == [HistoryStory.began / 86_400_000 + 1])
        // Nothing is passed by that a next cut has to find.
        try story.turn(
            at: day + 7200, [try HistoryStory.batches(["open"], sequence: 2, captured: day)])
        try story.turn(at: day + 7400)
        _ = try cut(story, through: story.turn, limit: 1000)
        #expect(try story.integers("SELECT number FROM gaps WHERE closed_ms > 0") == [])
        try story.store.journal.close()
    }

    /// Erases somebody and writes until nothing is left to be removed but the log.
    private func erase(_ story: inout HistoryStory, _ id: String, at seconds: Int64) throws {
        try story.turn(at: seconds, [.erase(.id(Array(id.utf8)), source: EventSource.standard)])
        var writer = ErasureWriter(try story.store.journal.erasures())
        for _ in 0..<1000 where !writer.wantsLogCut {
            try story.store.journal.begin()
            try writer.write(to: story.store.journal, checkpoint: story.turn, story.engine)
            try story.store.journal.commit()
            writer.committed()
        }
        #expect(writer.wantsLogCut)
    }

    @Test func `an erasure takes a person's gaps and dark time along, and nobody else's`() throws {
        var story = try HistoryStory(directory)
        for hour in 0..<3 { try story.silence(["a", "b"], from: Int64(hour) * 3600) }
        try story.silence(["b"], from: HistoryStory.day * 3)
        #expect(try number(story, "SELECT count(*) FROM gaps WHERE responder = 2") == 4)
        // In silence when it is asked for: that gap and that time go too.
        let last = HistoryStory.day * 4
        try story.turn(
            at: last, [try HistoryStory.batches(["b"], sequence: 900_000, captured: last)])
        try story.turn(at: last + 200)
        try erase(&story, "b", at: last + 220)
        #expect(try number(story, "SELECT count(*) FROM gaps WHERE responder = 2") == 0)
        #expect(try number(story, "SELECT count(*) FROM dark WHERE responder = 2") == 0)
        #expect(try number(story, "SELECT count(*) FROM gaps WHERE responder = 1") == 3)
        #expect(try number(story, "SELECT count(*) FROM dark WHERE responder = 1") == 1)
        try story.store.journal.close()
    }

    @Test func `a gap that outlived its decisions is found by an erasure all the same`() throws {
        var story = try HistoryStory(directory)
        try story.turn(at: 0, [try HistoryStory.batches(["a"], sequence: 1, captured: 0)])
        try story.turn(at: 200)
        let turn = try #require(try story.store.journal.lastTurn())
        try story.store.journal.begin()
        #expect(try story.store.journal.cut(through: turn, limit: 1000) == false)
        try story.store.journal.commit()
        #expect(try number(story, "SELECT count(*) FROM decisions") == 0)
        #expect(try number(story, "SELECT count(*) FROM gaps") == 1)
        try erase(&story, "a", at: 300)
        #expect(try number(story, "SELECT count(*) FROM gaps") == 0)
        try story.store.journal.close()
    }

    @Test func `dark time of so many days a turn is removed, and of one more in the next`() throws {
        let story = try HistoryStory(directory)
        let journal = story.store.journal
        func remove(after day: Int64) throws -> Int64? {
            try journal.begin()
            let next = try journal.removeDark(of: 1, after: day, limit: 3)
            try journal.commit()
            return next
        }
        try journal.begin()
        try journal.add(
            (1...4).map { DarkRow(day: $0, responder: 1, platform: .ios, region: [65]) })
        try journal.commit()
        #expect(try remove(after: .min) == 3)
        #expect(try number(story, "SELECT count(*) FROM dark") == 1)
        #expect(try remove(after: 3) == nil)
        #expect(try number(story, "SELECT count(*) FROM dark") == 0)
        try journal.close()
    }
}
