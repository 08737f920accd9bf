import RollcallCluster
import RollcallCore
import Testing

@testable import RollcallBasis
@testable import RollcallSupport

/// What a turn log does on whatever holds its keys.
enum TurnLogExercise {
    /// Waits for a reply.
    static func wait<Value: Sendable>(
        _ ask: (@escaping @Sendable (Value) -> Void) -> Void
    ) throws -> Value {
        let box = Mailbox<Value>()
        ask { box.put($0) }
        for _ in 0..<20 {
            if let value = box.takeAll(waiting: 1000).first { return value }
        }
        throw CancellationError()
    }

    static func entry(_ position: Int64, after previous: UInt64, _ body: [UInt8])
        -> LogEntry
    {
        LogEntry(
            position == 1 ? .creation : .turn, at: position, after: previous,
            origin: LogOrigin(
                member: Array("a".utf8), incarnation: 1, reign: 1, serial: position),
            body: body)
    }

    /// Makes a log, appends to it, beats, reads and watches.
    static func run(on store: any KeyValueStore) throws {
        var sizes = RingLog.Sizes()
        sizes.slots = 64
        sizes.partBytes = 4096
        let log = RingLog(store, prefix: Array("/t/".utf8), sizes: sizes)
        let nothing: HeadOutcome = try wait { log.head(reply: $0) }
        #expect(nothing == HeadOutcome.none)
        let first = Self.entry(1, after: 0, [1, 2, 3])
        guard case .landed = try wait({ log.create(log: 9, first, reply: $0) }) else {
            Issue.record("not made")
            return
        }
        let second: AppendOutcome = try wait { log.create(log: 8, first, reply: $0) }
        #expect(second == .refused)
        guard case .view(let view) = try wait({ log.head(reply: $0) }) else {
            Issue.record("no head")
            return
        }
        #expect(view.head.log == 9 && view.head.position == 1)
        // What the watch tells is what is read.
        let news = Mailbox<LogNews>()
        log.watch(after: view.head.revision) { news.put($0) }
        // In one request, and in parts.
        var last = view
        var entries: [LogEntry] = []
        for (index, size) in [10, 20_000, 0].enumerated() {
            let entry = Self.entry(
                Int64(index + 2), after: last.head.hash,
                (0..<size).map { UInt8(truncatingIfNeeded: $0 * 7) })
            guard
                case .landed(let head) = try wait({
                    log.append(entry, after: last, reply: $0)
                })
            else {
                Issue.record("not landed")
                return
            }
            // S2: whoever holds the end from before is refused.
            let late = Self.entry(Int64(index + 2), after: last.head.hash, [9])
            let refused: AppendOutcome = try wait { [last] in
                log.append(late, after: last, reply: $0)
            }
            #expect(refused == .refused)
            last.head = head
            entries.append(entry)
        }
        guard case .landed = try wait({ log.beat(after: last.head, reply: $0) }) else {
            Issue.record("no beat")
            return
        }
        guard
            case .entries(let read, _) = try wait({
                log.read(after: 1, limit: 10, reply: $0)
            })
        else {
            Issue.record("not read")
            return
        }
        #expect(read.map(\.entry) == entries)
        var heard: [Int64] = []
        var (hasBeaten, grown) = (false, 0)
        for _ in 0..<50 where !hasBeaten {
            for item in news.takeAll(waiting: 100) {
                switch item {
                case .entry(let landed): heard.append(landed.entry.position)
                case .grown: grown += 1
                case .beat, .released: hasBeaten = true
                case .lost: Issue.record("the watch is lost")
                }
            }
        }
        #expect(hasBeaten && heard.contains(2) && heard == heard.sorted())
        #expect(grown == 1, "the one in parts")
    }
}
