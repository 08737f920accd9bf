import Logging
import RollcallBasis
import RollcallCore
import RollcallStore
import RollcallSupport

/// The state writer and what was lost with a store: it is said, told to receivers (A5), and
/// remembered.
extension StateWriter {
    /// The time that the fleet must have been watched again until receivers are told that it is
    /// over: longer than any threshold that people are judged by, so that the statuses mean
    /// something.
    static let lossShownFor = Milliseconds.seconds(15 * 60)

    /// Takes over what the epoch file says of the store that was found, and what an earlier start
    /// has noted.
    /// - Throws: `StoreError` if that note cannot be read.
    func beginLoss(_ epoch: EpochFile.Verdict, _ clock: ClockReading) throws(StoreError) {
        if loss == nil, epoch.turnsLost > 0 {
            let last = RFC3339.string(engine.clock.wallNow)
            loss = StateLoss(
                cause: .older, at: clock.wall,
                evidence:
                    "it ends at \(last), \(epoch.turnsLost) turns before what was acknowledged")
        }
        if loss == nil, epoch.isAnothers {
            loss = StateLoss(
                cause: .older, at: clock.wall, evidence: "the epoch file is another store's")
        }
        isLossNew = loss != nil
        if loss == nil { loss = try store.journal.stateLoss() }
    }

    /// Says so, once the first turn is committed.
    func logLoss(_ checkpointsDamaged: [Int64], _ now: RunningTime) {
        lossSince = now
        for turn in checkpointsDamaged {
            log.error(
                "a checkpoint is damaged: an older one and the journal were read instead",
                metadata: ["checkpoint": "\(turn)"])
        }
        guard let loss else { return }
        if loss.isOpen {
            lossAlarm = StoreAlarm(lost: loss.cause, at: loss.at, times: endpoints.times)
        }
        guard isLossNew else { return }
        var metadata: Logger.Metadata = [
            "cause": "\(loss.cause.word)", "evidence": "\(loss.evidence)",
        ]
        if !loss.kept.isEmpty { metadata["kept"] = "\(loss.kept.joined(separator: " "))" }
        let words: Logger.Message =
            loss.cause == .older
            ? "the store is older than what was acknowledged: what came after it is lost"
            : "what was known is lost: the store is begun anew"
        log.error(words, metadata: metadata)
    }

    /// Says which segments' rows the opening of the store has made anew (J12).
    func logSegmentDamage() {
        guard let damage = store.journal.segmentDamage else { return }
        stats.segmentsMended = damage.segments.count
        for segment in damage.segments {
            log.error(
                "the row of a packed segment was damaged: it was made anew from its blocks",
                metadata: [
                    "first_turn": "\(segment.firstTurn)", "last_turn": "\(segment.lastTurn)",
                    "blocks_lost": "\(segment.blocksLost)",
                ])
        }
        guard damage.segments.isEmpty else { return }
        log.error(
            "the index of packed segments was damaged: it was made anew",
            metadata: ["evidence": "\(damage.evidence)"])
    }

    /// Lets a turn keep what changed of it.
    func takeLoss(_ pending: inout PendingTurn) {
        guard isLossChanged else { return }
        isLossChanged = false
        pending.stateLoss = loss
    }

    /// Sends what is due of the alarm, and ends it once somebody has been watched for long enough.
    func tendLoss() {
        guard var alarm = lossAlarm else { return }
        let clock = ClockReading.now()
        let now = running(clock)
        if engine.clock.isBlind || engine.aggregates.active == 0 || !uncommitted.isEmpty {
            lossSince = now
        } else if alarm.state == .firing, now - lossSince >= Self.lossShownFor {
            alarm.worked(now: now, wall: clock.wall)
            loss?.isOpen = false
            isLossChanged = true
        }
        send(&alarm, clock)
        lossAlarm = alarm.state == .fine ? nil : alarm
    }
}
