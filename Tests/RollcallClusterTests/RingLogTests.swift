import RollcallCluster
import RollcallCore
import Testing

/// The turn log on a key-value store that answers at once.
@Suite struct RingLogTests {
    /// A store of keys in memory; `isLost` loses every answer.
    private final class Keys: KeyValueStore, @unchecked Sendable {
        var rows: [[UInt8]: KeyValueRow] = [:]
        var revision: Int64 = 1
        var isLost = false

        func run(
            _ transaction: KeyValueTransaction,
            reply: @escaping @Sendable (KeyValueOutcome) -> Void
        ) {
            let isTrue = transaction.comparisons.allSatisfy { comparison in
                switch comparison {
                case .value(let key, let value): rows[key]?.value == value
                case .revision(let key, let revision): rows[key]?.revision == revision
                case .absent(let key): rows[key] == nil
                }
            }
            var found: [[KeyValueRow]] = []
            for operation in isTrue ? transaction.operations : transaction.otherwise {
                switch operation {
                case .put(let key, let value):
                    rows[key] = KeyValueRow(key: key, value: value, revision: revision + 1)
                case .delete(let from, let to): for key in keys(from, to) { rows[key] = nil }
                case .get(let key): found.append(rows[key].map { [$0] } ?? [])
                case .range(let from, let to, let limit):
                    found.append(keys(from, to).prefix(limit).compactMap { rows[$0] })
                }
            }
            revision += 1
            if isLost { return reply(.unknown("lost")) }
            reply(.answered(KeyValueAnswer(isTrue: isTrue, revision: revision, found: found)))
        }

        private func keys(_ from: [UInt8], _ to: [UInt8]) -> [[UInt8]] {
            rows.keys.filter {
                !$0.lexicographicallyPrecedes(from) && $0.lexicographicallyPrecedes(to)
            }.sorted { $0.lexicographicallyPrecedes($1) }
        }

        func watch(
            prefix: [UInt8], after revision: Int64,
            receive: @escaping @Sendable (KeyValueNews) -> Void
        ) {}

        func forget(before revision: Int64) {}
    }

    /// What a log should have told and did not.
    private struct Missing: Error { var what: String }

    /// What a reply brought.
    private final class Box<Value>: @unchecked Sendable { var value: Value? }

    private static func waited<Value>(_ body: (@escaping @Sendable (Value) -> Void) -> Void) throws
        -> Value
    {
        let box = Box<Value>()
        body { box.value = $0 }
        return try #require(box.value)
    }

    private let keys = Keys()
    private let log: RingLog

    init() throws {
        var sizes = RingLog.Sizes()
        sizes.slots = 8
        sizes.partBytes = 100
        log = RingLog(keys, prefix: Array("/w".utf8), sizes: sizes)
        let first = LogEntry(.creation, at: 1, after: 0, origin: Self.origin(1), body: [9])
        let made: AppendOutcome = try Self.waited { log.create(log: 77, first, reply: $0) }
        guard case .landed = made else { throw Missing(what: "the log") }
    }

    private static func origin(_ serial: Int64, incarnation: UInt64 = 5) -> LogOrigin {
        LogOrigin(
            member: Array("a".utf8), incarnation: incarnation, reign: 1, serial: serial)
    }

    private func view() throws -> LogView {
        let outcome: HeadOutcome = try Self.waited { log.head(reply: $0) }
        guard case .view(let view) = outcome else { throw Missing(what: "the log") }
        return view
    }

    private func entry(_ view: LogView, _ body: [UInt8], incarnation: UInt64 = 5) -> LogEntry {
        LogEntry(
            .turn, at: view.head.position + 1, after: view.head.hash,
            origin: Self.origin(view.head.position, incarnation: incarnation), body: body)
    }

    @discardableResult
    private func append(_ body: [UInt8]) throws -> LogEntry {
        let view = try view()
        let entry = entry(view, body)
        let outcome: AppendOutcome = try Self.waited { log.append(entry, after: view, reply: $0) }
        guard case .landed(let head) = outcome else { throw Missing(what: "the log") }
        #expect(head == (try self.view().head))
        return entry
    }

    private func read(after position: Int64, limit: Int = 100) throws -> ReadOutcome {
        try Self.waited { log.read(after: position, limit: limit, reply: $0) }
    }

    @Test(arguments: [0, 50, 99, 100, 101, 1000])
    func `S12: an entry is read as it was appended, whole or in parts`(bytes: Int) throws {
        let body = (0..<bytes).map { UInt8(truncatingIfNeeded: $0) }
        let appended = try append(body)
        guard case .entries(let entries, let view) = try read(after: 1) else {
            throw Missing(what: "no entries")
        }
        #expect(entries.map(\.entry) == [appended])
        #expect(entries.first?.revision == view.head.revision && view.head.position == 2)
    }

    @Test func `S2: an append after another's entry is refused, and so is one at another revision`()
        throws
    {
        let before = try view()
        try append([1])
        let late = entry(before, [2])
        #expect(try Self.waited { log.append(late, after: before, reply: $0) } == .refused)
        var restored = try view()
        restored.head.revision += 1
        let next = entry(restored, [3])
        #expect(try Self.waited { log.append(next, after: restored, reply: $0) } == .refused)
        #expect(try Self.waited { log.beat(after: before.head, reply: $0) } == .refused)
    }

    @Test func `S12: parts that two members put at one position are told apart`() throws {
        let view = try view()
        let big = Array(repeating: UInt8(1), count: 300)
        let other = entry(view, Array(repeating: UInt8(2), count: 300), incarnation: 6)
        // The other's slot is lost on its way; its parts are there.
        keys.isLost = true
        let outcome: AppendOutcome = try Self.waited { log.append(other, after: view, reply: $0) }
        #expect(outcome == .unknown("lost"))
        keys.isLost = false
        let own = try append(big)
        guard case .entries(let entries, _) = try read(after: 1) else {
            throw Missing(what: "no entries")
        }
        #expect(entries.map(\.entry) == [own])
    }

    @Test func `S12: a full ring takes nothing, and what is trimmed makes room`() throws {
        for number in 2...8 { try append([UInt8(number)]) }
        let full = try view()
        let more = entry(full, [9])
        guard
            case .unavailable = try Self.waited({
                (reply: @escaping @Sendable (AppendOutcome) -> Void) in
                log.append(more, after: full, reply: reply)
            })
        else { throw Missing(what: "it was taken") }
        log.trim(through: 3, full)
        #expect(try view().tail == 3)
        for number in 9...11 { try append([UInt8(number)]) }
        guard case .trimmed = try read(after: 1) else { throw Missing(what: "not trimmed") }
        // Around the ring's end in two reads.
        var held: [LandedEntry] = []
        while case .entries(let entries, _) = try read(after: 3 + Int64(held.count)),
            !entries.isEmpty
        {
            held += entries
        }
        #expect(held.map(\.entry.position) == Array(4...11))
    }

    @Test func `S12: the tail goes on by compare, and never back`() throws {
        for number in 2...6 { try append([UInt8(number)]) }
        let early = try view()
        log.trim(through: 2, early)
        log.trim(through: 4, early)
        #expect(try view().tail == 2)
        log.trim(through: 1, try view())
        #expect(try view().tail == 2)
    }

    @Test func `S12: what members note is read with the end`() throws {
        let note = MemberNote(
            member: Array("a/b".utf8), position: 7, wall: Timestamp(milliseconds: 99))
        log.note(note)
        #expect(try view().notes == [note])
    }

    @Test func `S10, S13: all that a member notes is read again, and an older note is, too`() throws
    {
        var note = MemberNote(
            member: Array("a".utf8), position: 7, wall: Timestamp(milliseconds: 99))
        note.level = 2
        note.erased = 41
        note.digest = StateDigest(turn: 40, version: 6, hash: 0xFEDC_BA98_7654_3210)
        log.note(note)
        #expect(try view().notes == [note])
        let key = Array("/w/note/a".utf8)
        for words in ["7 99", "7 99 http://a:1"] {
            keys.rows[key] = KeyValueRow(key: key, value: Array(words.utf8), revision: 3)
            let read = try #require(try view().notes.first)
            #expect(read.position == 7 && read.level == Membership.firstLevel && read.erased == 0)
        }
        log.forget(member: Array("a".utf8))
        #expect(try view().notes == [])
    }

    @Test func `S13: what is trimmed is emptied by the next appends, and nothing else is`() throws {
        for number in 2...6 { try append([UInt8(number)]) }
        log.trim(through: 4, try view())
        #expect(try view().emptied == 0)
        try append([7])
        #expect(try view().emptied == 4)
        let slots = keys.rows.keys.filter { String(decoding: $0, as: UTF8.self).contains("/slot/") }
        #expect(slots.count == 3, "5, 6 and 7 are left")
        guard case .entries(let entries, _) = try read(after: 4) else {
            throw Missing(what: "no entries")
        }
        #expect(entries.map(\.entry.position) == [5, 6, 7])
        guard case .trimmed = try read(after: 2) else { throw Missing(what: "not trimmed") }
    }

    @Test(arguments: [Int64(5), 8, 9, 16, 17])
    func `S13: no slot is emptied that holds an entry, wherever the ring stands`(
        head: Int64
    ) throws {
        for number in 2...head {
            if number > 6 { log.trim(through: number - 4, try view()) }
            try append([UInt8(number)])
            let view = try view()
            var position = view.tail
            while position < view.head.position {
                guard case .entries(let entries, _) = try read(after: position), !entries.isEmpty
                else { throw Missing(what: "entry \(position + 1) behind \(view.tail)") }
                position += Int64(entries.count)
            }
        }
    }

    @Test func `S13: an append that comes late empties nothing`() throws {
        for number in 2...6 { try append([UInt8(number)]) }
        log.trim(through: 4, try view())
        let before = try view()
        let late = entry(before, [77])
        try append([7])
        for number in Int64(8)...12 {
            log.trim(through: number - 4, try view())
            try append([UInt8(number)])
        }
        #expect(try Self.waited { log.append(late, after: before, reply: $0) } == .refused)
        guard case .entries(let entries, _) = try read(after: 8) else {
            throw Missing(what: "no entries")
        }
        #expect(entries.map(\.entry.position) == [9, 10, 11, 12])
    }

    @Test func `S11: a log that is begun in the place of a lost one holds nothing of it`() throws {
        for number in 2...6 { try append(Array(repeating: UInt8(number), count: 150)) }
        log.note(
            MemberNote(member: Array("a".utf8), position: 6, wall: Timestamp(milliseconds: 1)))
        let lost = try view()
        let adoption = LogAdoption(log: 99, of: 77)
        let first = LogEntry(.creation, at: 1, after: 0, origin: Self.origin(0), body: [1])
        try append([7])
        let late: AppendOutcome = try Self.waited {
            log.adopt(adoption, first, over: lost.head, reply: $0)
        }
        #expect(late == .refused, "the log went on meanwhile")
        let present = try view()
        let outcome: AppendOutcome = try Self.waited {
            log.adopt(adoption, first, over: present.head, reply: $0)
        }
        guard case .landed(let head) = outcome else { throw Missing(what: "the new log") }
        let view = try view()
        #expect(view.head == head && head.log == 99 && head.position == 1)
        #expect(view.adoption == adoption && view.notes == [] && view.tail == 0)
        let left = keys.rows.keys.filter {
            let key = String(decoding: $0, as: UTF8.self)
            return key.contains("/slot/") || key.contains("/part/")
        }
        #expect(left.count == 1)
        guard case .entries(let entries, _) = try read(after: 0) else {
            throw Missing(what: "no entries")
        }
        #expect(entries.map(\.entry) == [first])
    }
}
