import Glibc
import Rollcall
import RollcallCore

/// A day with known truth as a store that `rollcall serve` opens, so that its answers can be held
/// against the truth.
struct TruthStore {
    private static let dayMilliseconds: Int64 = 86_400_000

    private let store: KeeperStore
    private var engine = Engine()
    private var turn: Int64 = 0
    private var pending = PendingTurn()
    private var last: RunningTime?
    /// When the turn's first event came.
    private var began: RunningTime?

    private init(path: String) throws(StoreError) { store = try KeeperStore(path: path) }

    /// Writes the day of `fleet` to a new store at `path`, moved back by whole days until it has
    /// passed. Errors: as the store's.
    static func write(_ fleet: TruthFleet, to path: String) throws(StoreError) {
        var store = try TruthStore(path: path)
        let dates = passed(fleet)
        for line in fleet.lines {
            let moved = dates.reduce(line) { $0.replacing($1.drawn, with: $1.moved) }
            try store.take(Array(moved.utf8))
        }
        try store.commit()
        try store.store.journal.close()
    }

    /// Every date of the fleet's day, and the one that takes its place.
    private static func passed(_ fleet: TruthFleet) -> [(drawn: String, moved: String)] {
        let now = Int64(Glibc.time(nil)) * 1000
        let days = max(0, (TruthPlan.dawn - now) / dayMilliseconds + 2)
        // Phones with wrong clocks name the days around it. Backwards, so that no date is moved twice.
        return (-2...2 as ClosedRange<Int64>).map { day in
            let drawn = TruthPlan.dawn + day * dayMilliseconds
            let moved = drawn - days * dayMilliseconds
            return (date(drawn), date(moved))
        }
    }

    /// The date in quotes' sight: what stands before the hour.
    private static func date(_ at: Int64) -> String {
        "\"" + RFC3339.string(Timestamp(milliseconds: at)).prefix(11)
    }

    private mutating func take(_ line: [UInt8]) throws(StoreError) {
        let fields = line.split(separator: UInt8(ascii: "\""), maxSplits: 8)
        guard fields.count > 7, let start = line.firstRange(of: Array("\"body\":".utf8)) else {
            preconditionFailure("a fleet writes what can be read")
        }
        let time = Array(fields[3])
        guard let at = RFC3339.parse(time.span, time.indices) else {
            preconditionFailure("a fleet writes what can be read")
        }
        let kind: ItemKind = fields[7].elementsEqual("batch".utf8) ? .batch : .responder
        let body = Array(line[start.upperBound...].dropLast())
        guard let scanned = try? ItemScanner.scan(body.span, kind: kind) else {
            preconditionFailure("a fleet writes what can be read")
        }
        let instant = RunningTime(milliseconds: at.milliseconds)
        // A keeper under little load makes a turn of each write; a second's worth is as good here.
        if let began, instant - began >= .seconds(1) { try commit() }
        began = began ?? instant
        if last == nil {
            _ = pending.fold(.start(), into: &engine, at: instant)
            _ = pending.fold(.policy(engine.policy), into: &engine, at: instant)
        }
        last = max(last ?? instant, instant)
        let now = max(instant, engine.openInstant)
        _ = pending.fold(
            .items(scanned.items, source: EventSource.standard), into: &engine, at: now)
    }

    /// Ends the turn, as the keeper does.
    private mutating func commit() throws(StoreError) {
        engine.advance(to: max(last ?? engine.watch.now, engine.watch.now))
        pending.take(from: &engine)
        turn += 1
        pending.close(number: turn, engine)
        try store.commit([pending])
        pending = PendingTurn()
        began = nil
    }
}
