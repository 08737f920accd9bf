import RollcallCluster
import RollcallCore
import RollcallStore

/// What a member holds durably: its store, as far as it matters here.
struct ClusterDisk {
    /// The watch's number, which every key that a receiver sees comes from (S7).
    private(set) var watch: UInt64 = 0
    private(set) var place = LogPlace()
    private(set) var turn: Int64 = 0
    /// The wall and running time of the last turn.
    private(set) var last: (wall: Int64, now: Int64)?
    /// The turns since the checkpoint.
    private var tail: [PendingTurn] = []
    private var checkpoint = Engine()
    /// The number of a log that is about to be begun here.
    var adopting: UInt64 = 0
    private var messages: [MessageKey: OutboxMessage] = [:]
    private var pushes: [Int64: PushMessage] = [:]

    private struct MessageKey: Hashable {
        var notice: Int64
        var target: Int
    }

    /// Keeps the log's first entry.
    mutating func create(_ landed: LandedEntry, log: UInt64) {
        watch = landed.entry.body.reduce(0) { $0 << 8 | UInt64($1) }
        place = LogPlace(behind: landed.entry, revision: landed.revision, log: log)
    }

    /// Keeps that what it holds is what another log begins with.
    mutating func adopt(_ place: LogPlace) {
        self.place = place
        adopting = 0
    }

    /// Keeps a turn; `engine` has folded it, and is what it should be unless it has drifted.
    mutating func commit(
        _ pending: PendingTurn, _ landed: LandedEntry, log: UInt64, _ engine: Engine,
        hasDrifted: Bool
    ) {
        place = LogPlace(behind: landed.entry, revision: landed.revision, log: log)
        turn = pending.turn.number
        last = (pending.turn.wallMilliseconds, pending.turn.nowMilliseconds)
        for message in pending.outbox.added + pending.outbox.changed {
            messages[MessageKey(notice: message.number, target: message.target)] = message
        }
        for push in pending.pushes.added + pending.pushes.changed { pushes[push.number] = push }
        tail.append(pending)
        guard tail.count >= 40, !hasDrifted else { return }
        tail = []
        checkpoint = engine
    }

    /// The messages and pushes that are not over.
    var open: (messages: [OutboxMessage], pushes: [PushMessage]) {
        (
            messages.values.filter { $0.state != .over }.sorted {
                ($0.number, $0.target) < ($1.number, $1.target)
            },
            pushes.values.filter { $0.row.state != .over }.sorted { $0.number < $1.number }
        )
    }

    /// The engine as of the last turn; nil if its turns do not fold to what they say.
    func recover() -> Engine? {
        var engine = checkpoint
        for pending in tail where TurnFolder.fold(pending, into: &engine) != .same { return nil }
        if let last = open.pushes.last { engine.note(storedPush: last.number) }
        return engine
    }
}
