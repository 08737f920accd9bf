import RollcallBasis
import RollcallCore
import RollcallStore
import RollcallSupport

/// The opening of a store for the state writer: as it is, or anew if it cannot be read.
///
///     lock ──► open ──► recover ───────────────────────────────────────► opened
///                │         │ damaged, foreign                               ▲
///                └─────────┴──► epoch file ──► put aside ──► open an empty one ┘
///
/// A store is put aside once at a start at most, and only by evidence: a second failure, and every
/// other one, ends the start. That an epoch file stands beside a store without a turn says that
/// there was another one, also after a crash in between.
struct StoreOpening {
    let store: StateStore
    var recovered: StateStore.Recovered
    /// The messages on their way to receivers, and the pushes to phones.
    let messages: [OutboxMessage]
    let pushes: [PushMessage]
    /// The loss by it; nil without one.
    private(set) var loss: StateLoss?

    /// Opens or makes the store at `path`; `upgrade` hears what becomes of one of an older version.
    /// - Throws: `StoreError` if it cannot be opened and may not be put aside, or a second attempt
    ///   fails.
    init(
        path given: String, upgrade: StoreUpgrade.Watch = StoreUpgrade.Watch(),
        aroundCommit: StateStore.AroundCommit? = nil
    ) throws(StoreError) {
        let path = try StoreFile.resolve(given)
        // Before anything is looked at, and held over the moving.
        let lock = try StoreLock(storePath: path)
        let epoch = EpochFile(storePath: path)
        var loss: StateLoss?
        if StoreJoin.isThere(path) { try StoreJoin.take(path) }
        if StoreQuarantine.isLogAlone(path) {
            loss = try Self.quarantine(path, epoch, .gone, "its log stood there alone")
        }
        do throws(StoreError) {
            (store, recovered, messages, pushes) = try Self.open(
                path, lock, upgrade, aroundCommit)
        } catch {
            let evidence = error
            guard loss == nil, let cause = StoreQuarantine.cause(evidence),
                cause != .foreign || !StoreQuarantine.isHeld(path)
            else { throw evidence }
            loss = try Self.quarantine(path, epoch, cause, evidence.finding)
            StoreQuarantine.trust(path)
            (store, recovered, messages, pushes) = try Self.open(
                path, lock, upgrade, aroundCommit)
        }
        StoreQuarantine.trust(path)
        if loss == nil, recovered.lastTurn == nil, epoch.isThere {
            loss = StateLoss(
                cause: .gone, at: ClockReading.now().wall,
                evidence: "an epoch file stands beside it, and it holds no turn")
        }
        self.loss = loss
    }

    private static func open(
        _ path: String, _ lock: StoreLock, _ upgrade: StoreUpgrade.Watch,
        _ aroundCommit: StateStore.AroundCommit?
    ) throws(StoreError) -> (
        StateStore, StateStore.Recovered, [OutboxMessage], [PushMessage]
    ) {
        let store = try StateStore(
            path: path, vfs: nil, lock: lock, upgrade: upgrade, aroundCommit: aroundCommit)
        let recovered = try store.recover()
        return (store, recovered, try store.journal.messages(), try store.journal.pushes())
    }

    private static func quarantine(
        _ path: String, _ epoch: EpochFile, _ cause: StateLossCause, _ evidence: String
    ) throws(StoreError) -> StateLoss {
        let clock = ClockReading.now()
        if !epoch.isThere {
            try epoch.write(
                EpochFile.Page(store: 0, claims: 0, reading: EpochFile.Reading(clock)))
        }
        let kept = try StoreQuarantine.quarantine(path, at: clock.wall)
        return StateLoss(cause: cause, at: clock.wall, evidence: evidence, kept: kept)
    }
}
