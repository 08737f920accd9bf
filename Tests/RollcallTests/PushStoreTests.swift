import Testing

@testable import RollcallCore
@testable import RollcallStore

/// The pushes' table: what a start finds, what retention and erasures leave (N2, N7).
@Suite struct PushStoreTests {
    private static let day: Int64 = 86_400_000

    private let directory = TemporaryDirectory()

    private func decide(
        _ number: Int64, person: Int = 0, kind: PushKind = .nudge, _ box: inout PushBox,
        at instant: Int64
    ) {
        var facts = NudgeFacts()
        facts.cause = .permissionDenied
        facts.platform = .ios
        facts.lastLocationAt = Timestamp(milliseconds: 17)
        facts.stale = Milliseconds(number)
        box.decide(
            PushMessage(
                number: number, kind: kind, person: person,
                decidedAt: Timestamp(milliseconds: instant),
                now: RunningTime(milliseconds: instant), life: .seconds(3600), facts: facts))
    }

    private func commit(_ box: inout PushBox, _ journal: Journal) throws {
        try journal.begin()
        try journal.write(box.takeChanges())
        try journal.commit()
    }

    /// Sends what is due; all of it comes to `verdict`.
    private func send(_ box: inout PushBox, _ verdict: PushVerdict, at instant: Int64) {
        let now = RunningTime(milliseconds: instant)
        for sending in box.begin(now: now, isWanted: { _ in true }) {
            box.end(
                sending.queue, sending.messages.map { PushAttempt($0.number, verdict, token: 99) },
                now: now)
        }
        _ = box.settle(now: now, wall: Timestamp(milliseconds: instant))
    }

    @Test func `pushes survive a restart as they were`() throws {
        var journal = try Journal(path: directory.store)
        var box = PushBox(store: 5)
        box.follow(.expo)
        decide(1, person: 4, &box, at: 1000)
        try commit(&box, journal)
        send(&box, .ticketed(Array("ticket".utf8)), at: 1000)
        decide(2, person: 1, &box, at: 2000)
        send(&box, .delivered, at: 2000)
        decide(3, kind: .wake, &box, at: 3000)
        send(&box, .refused(retryAfter: nil), at: 3000)
        decide(4, person: 2, &box, at: 4000)
        try commit(&box, journal)
        // What a start forgets is how often a sink that took others did not take it.
        let expected = (box.tickets.waiting + box.open).map { push in
            var push = push
            push.strikes = 0
            return push
        }
        try journal.close()
        journal = try Journal(path: directory.store)
        let found = try journal.pushes()
        #expect(found == expected)
        #expect(found.map(\.state) == [.ticketed, .waiting, .waiting])
        #expect(found[0].facts.cause == .permissionDenied && found[0].token == 99)
        #expect(try journal.lastPush() == 4)
        #expect(try journal.connection.integer("SELECT outcome FROM pushes WHERE number = 2") == 0)
        try journal.begin()
        try journal.set(pushClaims: 7)
        try journal.commit()
        #expect(try journal.pushClaims() == 7)
        try journal.close()
    }

    @Test func `a damaged row is damage, not a push`() throws {
        let journal = try Journal(path: directory.store)
        var box = PushBox(store: 5)
        decide(1, &box, at: 1000)
        try commit(&box, journal)
        for damage in [
            "UPDATE pushes SET state = 2, checksum = NULL",
            "UPDATE pushes SET state = 0, kind = 9",
            "UPDATE pushes SET kind = 0, responder = 0",
            "UPDATE pushes SET responder = 1, facts = x'ff'",
        ] as [SQL] {
            try journal.connection.run(damage)
            #expect(throws: StoreError.damaged("push 1 makes no sense")) { try journal.pushes() }
        }
        try journal.close()
    }

    @Test func `retention cuts what is over, and leaves what is not`() throws {
        let journal = try Journal(path: directory.store)
        var box = PushBox(store: 5)
        box.follow(.expo)
        for day in 0..<6 as Range<Int64> {
            decide(day + 1, &box, at: day * Self.day)
            send(&box, day == 2 ? .ticketed([1]) : .delivered, at: day * Self.day)
            try commit(&box, journal)
        }
        // Its receipt would be over by now: a row like that may stand as long as it likes.
        try journal.connection.run("UPDATE pushes SET state = 2, ticket = x'01' WHERE number = 3")
        try journal.connection.run("UPDATE pushes SET outcome = -1 WHERE number = 3")
        var last: Int64 = 0
        var pieces = 0
        var isLeft = true
        while isLeft {
            try journal.begin()
            isLeft = try journal.cutPushes(
                before: Timestamp(milliseconds: 4 * Self.day), after: &last, limit: 2)
            try journal.commit()
            pieces += 1
        }
        #expect(pieces == 3)
        #expect(try numbers(journal) == [3, 5, 6])
        try journal.close()
    }

    private func numbers(_ journal: Journal) throws -> [Int64] {
        try journal.connection.integers("SELECT number FROM pushes ORDER BY 1")
    }

    @Test func `what became of pushes goes with an erased person, piece by piece`() throws {
        let journal = try Journal(path: directory.store)
        var box = PushBox(store: 5)
        box.follow(.expo)
        for number in 1...5 as ClosedRange<Int64> {
            decide(number, person: number == 4 ? 8 : 7, &box, at: 0)
        }
        send(&box, .delivered, at: 0)
        try commit(&box, journal)
        var left: [Bool] = []
        for _ in 0..<3 {
            try journal.begin()
            left.append(try journal.removePushes(of: 8, limit: 2))
            try journal.commit()
        }
        #expect(left == [true, true, false])
        #expect(try numbers(journal) == [4])
        // What is still on its way to them finds no row, and makes none.
        try journal.begin()
        var again = PushBox(store: 5)
        decide(1, person: 7, &again, at: 0)
        _ = again.takeChanges()
        again.follow(.webhook)
        _ = again.begin(now: RunningTime(milliseconds: 0)) { _ in true }
        try journal.write(again.takeChanges())
        try journal.commit()
        #expect(try numbers(journal) == [4])
        try journal.close()
    }
}
