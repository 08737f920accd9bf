import Testing

@testable import RollcallBasis
@testable import RollcallCore
@testable import RollcallStore

/// The outbox's tables: what a start finds, and what retention leaves (A9).
@Suite struct OutboxStoreTests {
    private static let day: Int64 = 86_400_000
    private static let receivers = [Receiver(name: Array("oncall".utf8), kind: .webhook)]

    private let directory = TemporaryDirectory()

    private func member(_ incident: Int64) -> NoticeMember {
        var member = NoticeMember()
        member.incident = incident
        member.labels = [Label(Array("region".utf8), Array("r\(incident)".utf8))]
        return member
    }

    private func decide(
        _ kind: Notice.Kind, _ number: Int64, _ incidents: [Int64], _ outbox: inout Outbox,
        at instant: Int64
    ) {
        let notice = Notice(
            number: number, receiver: Self.receivers[0].name, kind: kind,
            members: incidents.map(member))
        outbox.decide(
            notice, at: Timestamp(milliseconds: instant), now: RunningTime(milliseconds: instant))
    }

    private func commit(_ outbox: inout Outbox, _ attempts: [AttemptRow], _ journal: Journal) throws
    {
        try journal.begin()
        try journal.write(outbox.takeChanges())
        for attempt in attempts { try journal.put(attempt) }
        try journal.commit()
    }

    /// Tells the outbox that the one message that is due was delivered.
    private func deliver(_ outbox: inout Outbox, at instant: Int64) {
        let now = RunningTime(milliseconds: instant)
        let wall = Timestamp(milliseconds: instant)
        for sending in outbox.begin(now: now) {
            guard case .message(let message, _, _) = sending.content else { continue }
            _ = outbox.end(message.number, in: message.queue, .delivered, now: now, wall: wall)
        }
        _ = outbox.settle(now: now, wall: wall)
    }

    @Test func `what is on its way survives a restart, with its attempts`() throws {
        var journal = try Journal(path: directory.store)
        var outbox = Outbox(store: 5, now: RunningTime(milliseconds: 1000))
        outbox.follow(Self.receivers)
        decide(.fired, 1, [1, 2], &outbox, at: 1000)
        decide(.fired, 2, [3], &outbox, at: 1000)
        let queue = QueueKey(receiver: Self.receivers[0].name, target: 0)
        _ = outbox.begin(now: RunningTime(milliseconds: 1000))
        var first = AttemptRow(
            notice: 1, target: 0, attempt: 1, beganAt: Timestamp(milliseconds: 1000))
        try commit(&outbox, [first], journal)
        _ = outbox.end(
            1, in: queue, .refused, now: RunningTime(milliseconds: 1500),
            wall: Timestamp(milliseconds: 1500))
        first.took = Milliseconds(500)
        first.status = 401
        first.error = "https://hooks.example.org: 401"
        decide(.resolved, 3, [2], &outbox, at: 1500)
        _ = outbox.begin(now: RunningTime(milliseconds: 1500))
        let second = AttemptRow(
            notice: 2, target: 0, attempt: 1, beganAt: Timestamp(milliseconds: 1500))
        try commit(&outbox, [first, second], journal)
        let expected = outbox
        try journal.close()

        journal = try Journal(path: directory.store)
        let messages = try journal.messages()
        var again = Outbox(store: 5, messages: messages, now: RunningTime(milliseconds: 1500))
        again.follow(Self.receivers)
        #expect(messages.map(\.state) == [.refused, .sending, .waiting])
        #expect(messages.map(\.left) == [1, 1, 1])
        #expect(messages[0].next == expected.queues[0].open[0].next)
        #expect(messages.map(\.notice) == expected.queues[0].open.map(\.notice))
        let deliveryStatus = try #require(try journal.notices.deliveryStatus(of: 1))
        #expect(deliveryStatus.targets.map(\.attempts) == [[first]])
        #expect(deliveryStatus.took == nil)
        #expect(try journal.notices.deliveryStatus(of: 2)?.targets.map(\.attempts) == [[second]])
        #expect(try journal.notices.deliveryStatus(of: 9) == nil)
        // What was being sent may have arrived: it goes first, once more.
        let sent = again.begin(now: RunningTime(milliseconds: 1500)).map(\.attempt)
        #expect(sent == [2] || sent == [1])
        try journal.close()
    }

    @Test func `a damaged row is damage, not a page`() throws {
        let journal = try Journal(path: directory.store)
        var outbox = Outbox(store: 5, now: RunningTime(milliseconds: 0))
        outbox.follow(Self.receivers)
        decide(.fired, 1, [1], &outbox, at: 0)
        try commit(&outbox, [], journal)
        try journal.connection.run("UPDATE outbox SET left_members = 2")
        #expect(throws: StoreError.damaged("message of notice 1 is not as it was written")) {
            try journal.messages()
        }
        try journal.connection.run("UPDATE outbox SET checksum = NULL")
        #expect(throws: StoreError.damaged("message of notice 1 makes no sense")) {
            try journal.messages()
        }
        try journal.connection.run("UPDATE outbox SET left_members = 1, body = x'01'")
        #expect(throws: StoreError.damaged("message of notice 1 makes no sense")) {
            try journal.messages()
        }
        try journal.close()
    }

    @Test func `the store's number is made once`() throws {
        var store = try StateStore(path: directory.store)
        let number = store.number
        try store.journal.close()
        store = try StateStore(path: directory.store)
        #expect(store.number == number)
        try store.journal.close()
        let other = TemporaryDirectory()
        let second = try StateStore(path: other.store)
        #expect(second.number != number)
        try second.journal.close()
    }

    @Test func `retention cuts what is over with its attempts, and leaves what is not`() throws {
        let journal = try Journal(path: directory.store)
        var outbox = Outbox(store: 5, now: RunningTime(milliseconds: 0))
        outbox.follow(Self.receivers)
        for day in 0..<6 as Range<Int64> {
            let instant = day * Self.day
            // Of day 2 something still fires, day 3 never arrived.
            decide(.fired, 2 * day + 1, [day], &outbox, at: instant)
            if day != 3 { deliver(&outbox, at: instant) }
            if day != 2 && day != 3 {
                decide(.resolved, 2 * day + 2, [day], &outbox, at: instant + 1)
                deliver(&outbox, at: instant + 1)
            }
            let attempt = AttemptRow(
                notice: 2 * day + 1, target: 0, attempt: 1,
                beganAt: Timestamp(milliseconds: instant))
            try commit(&outbox, [attempt], journal)
            if day == 3 { _ = outbox.begin(now: RunningTime(milliseconds: instant)) }
            if day == 3 {
                _ = outbox.end(
                    7, in: QueueKey(receiver: Self.receivers[0].name, target: 0), .refused,
                    now: RunningTime(milliseconds: instant),
                    wall: Timestamp(milliseconds: instant))
            }
        }
        var last: Int64 = 0
        var pieces = 0
        var isLeft = true
        while isLeft {
            try journal.begin()
            isLeft = try journal.cutOutbox(
                before: Timestamp(milliseconds: 5 * Self.day), after: &last, limit: 2)
            try journal.commit()
            pieces += 1
        }
        #expect(pieces > 2)
        func numbers(_ sql: SQL) throws -> [Int64] {
            try journal.connection.integers(sql)
        }
        #expect(try numbers("SELECT notice FROM outbox ORDER BY notice") == [5, 7, 11, 12])
        #expect(try numbers("SELECT notice FROM attempts ORDER BY notice") == [5, 7, 11])
        try journal.close()
    }
}
