import RollcallCore
import RollcallStore

/// Removes erased people from the store, a piece a turn (I11, DELETE /v1/responders/{id}).
///
///     waiting ── a checkpoint without them is complete ──► rows ──► dark time ──► pushes ──► alerts
///                                           done ◄── log ◄── older checkpoints ◄── samples ◄──┘
///
/// * waiting: a restart would still need their rows, to fold again what came after the checkpoint.
/// * rows: their rows, decisions and gaps are removed, walking back.
/// * dark time: their rows of it are removed, day by day.
/// * pushes: what became of pushes to them is removed.
/// * alerts: decisions and messages about alerts lose the names of their regions that nobody has any
///   more.
/// * samples: counts by region lose the same names.
/// * older checkpoints: their slices of those that still hold them are written anew.
/// * log: what the write-ahead log still holds is moved into the file and cut off.
///
/// It begins again with whom it was at after a restart; no step minds being done twice.
struct ErasureWriter {
    /// Rows, and decisions, removed a turn.
    private static let rowsATurn = 200
    /// Days of dark time looked at a turn.
    private static let daysATurn = 200
    /// Pushes removed a turn.
    private static let pushesATurn: Int64 = 1000
    /// Decisions and messages about alerts, and regions of samples, looked at a turn.
    static let alertsATurn: Int64 = 1000
    /// The time for which a turn looks at slices of older checkpoints.
    private static let lookingMax = Duration.milliseconds(2)
    /// Blocks of segments that are kept no longer, removed a turn.
    private static let blocksATurn: Int64 = 64

    private enum Stage {
        case rows
        case dark(left: [Int64], after: Int64)
        case pushes(left: [Int64])
        case decisions(after: Int64)
        case messages(after: MessagePlace)
        case samples(after: Int64)
        case checkpoints([EngineCheckpoint], SliceWalk?)
        case pruning
        case log
    }

    /// Every erasure that is remembered, by its number.
    private(set) var erasures: [Int64: Erasure]
    /// Numbers of those that are not finished.
    private var waiting: [Int64]
    /// Those that are being removed, all at once: an older checkpoint is read once for all of them.
    private var current: [Int64] = []
    private var stage = Stage.rows
    /// True if a transaction failed: where the work stands is in the store.
    private var isStale = false
    private var hasKeptEnd = false

    init(_ erasures: [Erasure]) {
        self.erasures = Dictionary(uniqueKeysWithValues: erasures.map { ($0.number, $0) })
        waiting = erasures.filter { $0.finishedAt == nil }.map(\.number)
    }

    /// Erasures that are not finished.
    var pendingCount: Int { waiting.count + current.count }

    /// The turn up to which all erasures are finished, of a store that holds `turn`.
    func finished(through turn: Int64) -> Int64 {
        let open = (waiting + current).compactMap { erasures[$0]?.turn }.min()
        return open.map { min(turn, $0 - 1) } ?? turn
    }

    /// Numbers + 1 of those of whom something may be left in the store.
    var people: [Int64] { (waiting + current).compactMap { erasures[$0]?.responder } }

    /// True if a checkpoint is wanted that is newer than `turn`.
    func wantsCheckpoint(after turn: Int64) -> Bool {
        waiting.contains { (erasures[$0]?.turn ?? 0) > turn }
    }

    /// True if there is something to be written, with the newest complete checkpoint at `turn`.
    func isBusy(checkpoint turn: Int64) -> Bool {
        if isStale || isCut { return true }
        if !current.isEmpty { return !wantsLogCut }
        return waiting.contains { (erasures[$0]?.turn ?? 0) <= turn }
    }

    /// True once nothing is left but the log: between transactions.
    var wantsLogCut: Bool {
        if case .log = stage { return !current.isEmpty && !isCut }
        return false
    }

    /// True once the log is cut, and that is not kept yet.
    private var isCut: Bool { current.contains { erasures[$0]?.finishedAt != nil } }

    /// Notes erasures whose turn is committed.
    mutating func add(_ new: [Erasure]) {
        for erasure in new where erasures[erasure.number] == nil {
            erasures[erasure.number] = erasure
            waiting.append(erasure.number)
        }
    }

    /// Abandons what was begun in a transaction that failed; it is begun again.
    mutating func abandon() { isStale = true }

    /// Does the next piece in the open transaction.
    /// - Throws: `StoreError` if the store cannot be read or written.
    mutating func write(
        to journal: Journal, checkpoint turn: Int64, _ engine: Engine
    ) throws(StoreError) {
        if isStale { self = ErasureWriter(try journal.erasures()) }
        if current.isEmpty {
            current = waiting.filter { (erasures[$0]?.turn ?? 0) <= turn }
            waiting.removeAll { current.contains($0) }
            stage = .rows
        }
        switch stage {
        case .rows: try removeRows(journal)
        case .dark(let left, let day): try removeDark(left, after: day, journal)
        case .pushes(let left): try removePushes(left, journal)
        case .decisions(let last):
            let next = try journal.forgetRegions(
                regions, engine, through: turn, after: last, limit: Self.alertsATurn)
            stage = next.map { .decisions(after: $0) } ?? .messages(after: MessagePlace())
        case .messages(let last):
            let next = try journal.forgetRegions(
                regions, engine, after: last, limit: Self.alertsATurn)
            stage = next.map { .messages(after: $0) } ?? .samples(after: 0)
        case .samples(let last):
            let next = try journal.forgetSampledRegions(
                regions, engine, after: last, limit: Self.alertsATurn)
            if let next { stage = .samples(after: next) } else { try findCheckpoints(journal) }
        case .checkpoints(let left, let walk):
            try rewrite(left, walk, journal, engine)
        case .pruning:
            // Even those that are kept no longer: their bytes are what counts.
            if try journal.pruneCheckpoints() { return }
            if try !journal.pruneSegments(blocksMax: Self.blocksATurn) {
                try forgetRegions(journal)
                stage = .log
            }
        case .log:
            for number in current {
                if let erasure = erasures[number] { try journal.put(erasure) }
            }
            hasKeptEnd = isCut
        }
    }

    private mutating func removeRows(_ journal: Journal) throws(StoreError) {
        for number in current {
            guard var erasure = erasures[number], erasure.nextRow != 0 || erasure.nextDecision > 0
            else { continue }
            try journal.removeRows(of: &erasure, limit: Self.rowsATurn)
            erasures[number] = erasure
            return
        }
        for number in current {
            guard let erasure = erasures[number] else { continue }
            try journal.removeGap(erasure.gap, of: erasure.responder)
        }
        stage = .dark(left: peopleOfCurrent, after: .min)
    }

    /// The regions of those that are being removed.
    private var regions: ErasedRegions {
        var joined = ErasedRegions()
        for number in current { joined.join(erasures[number]?.regions ?? .any) }
        return joined
    }

    /// Keeps them no longer: they may name somebody, too, and the log is cut after this.
    /// - Throws: `StoreError` if the store cannot be written.
    private mutating func forgetRegions(_ journal: Journal) throws(StoreError) {
        for number in current {
            erasures[number]?.regions = ErasedRegions()
            if let erasure = erasures[number] { try journal.put(erasure) }
        }
    }

    /// Numbers + 1 of those that are being removed.
    private var peopleOfCurrent: [Int64] {
        current.compactMap { erasures[$0]?.responder }.filter { $0 > 0 }
    }

    private mutating func removeDark(
        _ left: [Int64], after day: Int64, _ journal: Journal
    ) throws(StoreError) {
        guard let responder = left.first else {
            stage = .pushes(left: peopleOfCurrent)
            return
        }
        let next = try journal.removeDark(of: responder, after: day, limit: Self.daysATurn)
        let rest = Array(left.dropFirst())
        stage = next.map { .dark(left: left, after: $0) } ?? .dark(left: rest, after: .min)
    }

    private mutating func removePushes(
        _ left: [Int64], _ journal: Journal
    ) throws(StoreError) {
        guard let responder = left.first else {
            stage = .decisions(after: 0)
            return
        }
        let isLeft = try journal.removePushes(of: responder, limit: Self.pushesATurn)
        if !isLeft { stage = .pushes(left: Array(left.dropFirst())) }
    }

    private mutating func findCheckpoints(_ journal: Journal) throws(StoreError) {
        let newest = current.compactMap { erasures[$0]?.turn }.max() ?? 0
        stage = .checkpoints(try journal.checkpoints(beforeTurn: newest), nil)
    }

    private mutating func rewrite(
        _ left: [EngineCheckpoint], _ begun: SliceWalk?, _ journal: Journal, _ engine: Engine
    ) throws(StoreError) {
        guard let checkpoint = left.first else {
            // Once: nothing is packed while somebody is erased.
            try journal.dropUnfinishedSegments()
            stage = .pruning
            return
        }
        let people = peopleOfCurrent.map { $0 - 1 }
        var walk = begun ?? SliceWalk(checkpoint, of: people)
        let isKept = try rewrite(checkpoint, &walk, Set(people.map { Int($0) }), journal, engine)
        // Nobody will begin with it, and nobody may write it anew as if it were whole.
        if !isKept { try journal.dropCheckpoint(turn: checkpoint.turn) }
        let isOver = walk.isOver || !isKept
        stage = .checkpoints(isOver ? Array(left.dropFirst()) : left, isOver ? nil : walk)
    }

    /// Writes slices of a checkpoint anew; false if it cannot be written, since it is damaged or of
    /// other rules.
    private func rewrite(
        _ checkpoint: EngineCheckpoint, _ walk: inout SliceWalk, _ people: Set<Int>,
        _ journal: Journal, _ engine: Engine
    ) throws(StoreError) -> Bool {
        let (turn, version) = (checkpoint.turn, checkpoint.engineVersion)
        guard version == Engine.version else { return false }
        let end = ContinuousClock.now + Self.lookingMax
        repeat {
            var slice: [UInt8]?
            do throws(StoreError) {
                slice = try journal.slice(turn: turn, index: walk.next, engineVersion: version)
            } catch .damaged {
                return false
            }
            // It was given up meanwhile: the pruning finds it.
            guard let slice else { return false }
            let without = Checkpoint.slice(slice, without: people, of: regions, as: engine)
            if let without {
                try journal.replaceSlice(
                    turn: turn, index: walk.next, engineVersion: version, with: without)
            }
            guard walk.pass(Checkpoint.firstPerson(ofSlice: slice)) else { return false }
        } while !walk.isOver && ContinuousClock.now < end
        return true
    }

    /// The log was cut: nothing is left of those that were being removed. It is kept next.
    mutating func logWasCut(at wall: Timestamp) {
        for number in current { erasures[number]?.finishedAt = wall }
    }

    /// A transaction is committed: if it kept the end of those that are finished, that was all.
    mutating func committed() {
        guard hasKeptEnd else { return }
        hasKeptEnd = false
        current = []
    }

    /// Forgets what was finished before a time.
    mutating func forget(finishedBefore time: Timestamp) {
        erasures = erasures.filter { ($0.value.finishedAt ?? .distantFuture) >= time }
    }
}
