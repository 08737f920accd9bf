import Logging
import RollcallBasis
import RollcallCore
import RollcallStore
import RollcallSupport

/// The state writer and its pushes: what was decided is stored, what is stored is claimed, what is
/// claimed is sent, once (N2, N7).
///
///     decided ── commit ──► claimed ── commit ──► epoch file ──► delivery worker ──► report ── commit ──► end
///
/// The first two may be one commit. Whatever a start finds claimed is over: nobody knows.
extension StateWriter {
    /// Takes what comes from pushes in a turn: reports of delivery workers, and pushes at their
    /// end, which the engine learns of in the same turn.
    func takePushes(at now: RunningTime, _ pending: inout PendingTurn) {
        let came = pushReports
        pushReports = []
        for report in came { take(report, at: now) }
        guard pushes.due() <= now else { return }
        let ends = pushes.settle(now: now, wall: engine.clock.wall(now))
        for end in ends { _ = pending.fold(.pushed(end), into: &engine, at: now) }
        writeLog(ends)
    }

    private func take(_ report: PushReport, at now: RunningTime) {
        if report.queue.load == .receipts {
            pushes.take(
                report.receipts?.verdicts, in: report.queue,
                retryAfter: report.receipts?.retryAfter, now: now)
        } else {
            pushes.end(report.queue, report.attempts, now: now)
        }
        writeLog(report)
    }

    /// Takes what a turn decided, without how people stand, and unless `sends` is false begins what is
    /// due then.
    func evaluatePushes(
        _ decisions: [NumberedDecision], _ pending: inout PendingTurn, at now: RunningTime,
        sends: Bool
    ) {
        let rules = engine.policy.nudges
        if pushes.sink != rules.sink { pushes.follow(rules.sink) }
        for decision in decisions {
            if let nudge = PushMessage(nudge: decision.decision, rules, now: now) {
                pushes.decide(nudge)
            } else if case .wake(let at, let number, let push) = decision.decision,
                rules.mode == .live
            {
                pushes.decide(
                    PushMessage(
                        number: push, kind: .wake, person: number, decidedAt: at, now: now,
                        life: endpoints.pushTimes.wakeFor))
            }
        }
        if sends, pushes.due() <= now {
            let engine = engine
            pending.pushSendings = pushes.begin(now: now) { Self.isWanted($0, engine) }
            let claims = pending.pushSendings.reduce(0) { $0 + $1.claims }
            if claims > 0 {
                pushClaims += Int64(claims)
                pending.pushClaims = pushClaims
            }
        }
        pending.pushes = pushes.takeChanges()
    }

    /// False once there is nothing left to ask for, or nobody to ask: located since, paused, off
    /// duty, erased (N1, N4).
    private static func isWanted(_ message: PushMessage, _ engine: Engine) -> Bool {
        let rules = engine.policy.nudges
        guard rules.mode == .live, message.person < engine.roster.count,
            !engine.roster.id(message.person).isEmpty
        else { return false }
        let person = engine.roster[message.person]
        if !person.isActive { return false }
        if rules.sink == .expo, engine.pushToken(message.person) == nil { return false }
        return message.kind == .wake || person.lastLocationAt <= message.facts.lastLocationAt
    }

    /// Hands over what a commit says was claimed, once that also stands beside the store. What waited
    /// for its commit for too long is not sent any more (J6).
    func sendPushes(_ sendings: [PushSending]) {
        guard !sendings.isEmpty else { return }
        let clock = ClockReading.now()
        let hasClaims = sendings.contains { $0.claims > 0 }
        let mayClaim = endpoints.permit.holds && (!hasClaims || leaveEpoch(clock))
        let now = running(clock)
        for sending in sendings {
            if sending.queue.load == .receipts {
                carry(.tickets(sending.messages.map(\.ticket)), of: sending)
                continue
            }
            let wanted = sending.messages.filter {
                mayClaim && $0.until > now && Self.isWanted($0, engine)
            }
            let kept = Set(wanted.map(\.number))
            let held = sending.messages.map(\.number).filter { !kept.contains($0) }
            let payloads = wanted.map { payload($0, sending.sink, now) }
            guard !payloads.isEmpty else {
                let report = PushReport(sending.queue, notSent: held, nil)
                mailbox.put(.pushReport(report, reign: reign))
                continue
            }
            carry(.pushes(payloads, held: held), of: sending)
        }
    }

    /// Returns what is sent of a push: names and tokens are looked up now, and stored nowhere.
    private func payload(
        _ message: PushMessage, _ sink: NudgeRules.Sink, _ now: RunningTime
    ) -> PushPayload {
        let person = engine.roster[message.person]
        return PushPayload(
            number: message.number, kind: message.kind, store: store.number,
            responderID: Array(engine.roster.id(message.person)),
            token: sink == .expo ? engine.pushToken(message.person) : nil,
            isSilent: person.isNudgedSilently, platform: person.platform,
            facts: message.facts, circles: CircleNames.names(engine.circles[person.circles]),
            timeToLive: max(.seconds(1), message.until - now), decidedAt: message.decidedAt)
    }

    private func carry(_ load: PushLoad, of sending: PushSending) {
        let queue = sending.queue
        let isCarried = pushWorkers.carry(load, to: queue) { [endpoints, log, mailbox, reign] in
            endpoints.carrier(of: queue, log: log) { mailbox.put(.pushReport($0, reign: reign)) }
        }
        if isCarried { return }
        let report = PushReport(
            queue, notSent: sending.messages.map(\.number), "the system has no thread left")
        mailbox.put(.pushReport(report, reign: reign))
    }

    // MARK: - The epoch

    /// Begins the pushes that go on, and returns what the file beside the store says at a start.
    /// - Throws: `StoreError` if the store cannot be read.
    func beginPushes(
        _ messages: [PushMessage], _ clock: ClockReading
    ) throws(StoreError) -> EpochFile.Verdict {
        pushClaims = try store.journal.pushClaims()
        let page = epoch.page()
        var verdict = EpochFile.verdict(
            page, store: store.number, claims: pushClaims, turn: turnNumber,
            isCopy: try store.journal.copiedAt() != nil, EpochFile.Reading(clock))
        // What was lost may have known of pushes, whatever the file says (N2).
        if loss != nil { verdict.isRestored = true }
        // From here on this store knows more than the one it was a copy of, should that come back.
        if verdict.isRestored { pushClaims = max(pushClaims, page?.claims ?? 0) + 1 }
        pushes = PushBox(
            store: store.number, messages: messages,
            isRestored: verdict.isRestored, times: endpoints.pushTimes)
        return verdict
    }

    /// Says what came of it, once the first turn is committed.
    func logEpoch(_ verdict: EpochFile.Verdict, _ clock: ClockReading) {
        _ = leaveEpoch(clock)
        if verdict.step.count > 0 {
            log.warning(
                "the wall clock was put forward while we were down",
                metadata: ["step_ms": "\(verdict.step.count)"])
        }
        guard verdict.isRestored else { return }
        log.warning(
            "the store may be older than what was sent: nobody is nudged for an interval",
            metadata: ["until": "\(RFC3339.string(engine.nudges.frozenUntil))"])
    }

    /// Notes beside the store that the wall stepped, once that is committed: a restart must not see
    /// the same step again.
    func tendEpoch() {
        guard hasWallStepped else { return }
        hasWallStepped = false
        _ = leaveEpoch(ClockReading.now())
    }

    /// Writes beside the store what it has claimed; false if that cannot be done, and nothing may
    /// be sent.
    func leaveEpoch(_ clock: ClockReading) -> Bool {
        let page = EpochFile.Page(
            store: store.number, claims: pushClaims, turn: turnCommitted,
            reading: EpochFile.Reading(clock))
        do throws(StoreError) {
            try epoch.write(page)
            if hasEpochFailed { log.info("the epoch file can be written again") }
            hasEpochFailed = false
            return true
        } catch {
            if !hasEpochFailed {
                log.error(
                    "the epoch file cannot be written: nothing is sent to phones",
                    metadata: ["error": "\(error)"])
            }
            hasEpochFailed = true
            return false
        }
    }

    // MARK: - The log

    private func writeLog(_ report: PushReport) {
        var metadata: Logger.Metadata = ["took_ms": "\(report.took.count)"]
        if let error = report.error { metadata["error"] = "\(error)" }
        if report.queue.load == .receipts {
            guard report.receipts?.verdicts == nil else { return }
            return log.warning("the sink does not tell of receipts", metadata: metadata)
        }
        var counts: [String: Int] = [:]
        for attempt in report.attempts { counts[Self.word(attempt.verdict), default: 0] += 1 }
        for (word, count) in counts { metadata[word] = "\(count)" }
        if let first = report.attempts.map(\.number).min() { metadata["first"] = "\(first)" }
        let isWhole = counts.keys.allSatisfy { $0 == "taken" || $0 == "unregistered" }
        log.log(
            level: isWhole ? .info : .warning, isWhole ? "pushes handed over" : "pushes not taken",
            metadata: metadata)
    }

    private static func word(_ verdict: PushVerdict) -> String {
        switch verdict {
        case .delivered, .ticketed: "taken"
        case .refused: "refused"
        case .unregistered: "unregistered"
        case .unknown: "unknown"
        }
    }

    /// One line for each kind and outcome: a wave has many ends.
    private func writeLog(_ ends: [PushEnd]) {
        for kind in PushKind.allCases {
            for outcome in PushOutcome.allCases where outcome != .delivered {
                let numbers = ends.filter { $0.kind == kind && $0.outcome == outcome }.map(\.number)
                guard let first = numbers.min() else { continue }
                let isExpected = outcome == .dropped || outcome == .unregistered
                log.log(
                    level: isExpected ? .info : .warning, "pushes given up",
                    metadata: [
                        "kind": "\(kind.word)", "outcome": "\(outcome.word)",
                        "pushes": "\(numbers.count)", "first": "\(first)",
                    ])
            }
        }
    }
}
