import Logging
import RollcallBasis
import RollcallCore
import RollcallStore
import RollcallSupport

/// The state writer and its outbox: what was decided is stored, what is stored is sent, what came
/// of it is stored too (A9).
///
///     decided ── commit ──► attempt begun ── commit ──► delivery worker ──► report ── commit ──► outcome
///
/// The first two may be one commit. Nothing is sent but what a commit says was begun, so that
/// after a crash everything that may have arrived is known to.
extension StateWriter {
    /// Answers and sends what a turn has kept, or a loop that needed none.
    func finish(_ folded: FoldedTurn) {
        followCells()
        answers.gather {
            // Read where they stand: to take one out copies all that a receipt holds.
            for place in folded.replies.indices {
                if folded.replies[place].receipt.isElsewhere {
                    // Some of it may be stored: all of it may come again (I4).
                    folded.replies[place].reply(.unavailable(Self.slotsMoved))
                    continue
                }
                folded.replies[place].reply(.committed(folded.replies[place].receipt))
            }
        }
        workload.turned(after: ContinuousClock.now - folded.began)
        send(folded.pending.sendings)
        sendPushes(folded.pending.pushSendings)
        answer(folded.questions, at: folded.now)
    }

    private static let slotsMoved =
        "people of it are another cell's since this moment: send it again"

    /// Notices that are waited for at once, at most.
    static let noticeWaitsMax = 16

    /// Takes what comes from the outbox in a turn: reports of delivery workers, and messages at
    /// their end, which the engine learns of in the same turn.
    func takeReports(at now: RunningTime, _ pending: inout PendingTurn) {
        let wall = engine.clock.wall(now)
        let came = reports
        reports = []
        for report in came { take(report, at: now, wall, &pending) }
        guard outbox.due() <= now else { return }
        for end in outbox.settle(now: now, wall: wall) {
            writeLog(end)
            _ = pending.fold(.outcome(end), into: &engine, at: now)
        }
        workers.dismiss(outbox.takeQueuesGone())
    }

    private func take(
        _ report: DeliveryReport, at now: RunningTime, _ wall: Timestamp,
        _ pending: inout PendingTurn
    ) {
        let result = report.result
        guard report.notice > 0 else {
            outbox.refreshed(report.queue)
            if result.kind != .delivered { writeLog(report, "not refreshed", .warning) }
            return
        }
        var row = AttemptRow(
            notice: report.notice, target: report.queue.target, attempt: report.attempt,
            beganAt: report.beganAt)
        row.took = report.took
        row.status = result.status
        row.error = result.error ?? ""
        pending.attempts.append(row)
        let end = outbox.end(
            report.notice, in: report.queue, result.kind, error: result.error,
            retryAfter: result.retryAfter, now: now, wall: wall)
        edge.attempted(report.queue.receiver, result.kind)
        switch end {
        case .unknown: break
        case .finished(let end):
            edge.notified(report.queue.receiver, after: end.took)
            writeLog(report, "receiver told", .info)
        case .again(let next):
            let isRefused = result.kind == .refused
            writeLog(
                report, isRefused ? "receiver refuses" : "receiver not told",
                isRefused ? .error : .warning, again: next - now)
        }
    }

    /// Evaluates a turn that is folded, and what it decides goes into the outbox. Unless `sends` is
    /// false, whatever is due then is begun.
    func evaluate(_ pending: inout PendingTurn, at now: RunningTime, sends: Bool = true) {
        engine.advance(to: now)
        pending.take(from: &engine)
        evaluateMessages(&pending, at: now, sends: sends)
    }

    /// Takes what a turn decided into the outbox and the box of pushes. Unless `sends` is false,
    /// whatever is due then is begun.
    func evaluateMessages(_ pending: inout PendingTurn, at now: RunningTime, sends: Bool) {
        // Of a mass nearly all are of people, and those make no messages.
        let decisions = pending.decisions.filter { !$0.decision.isStanding }
        if outbox.receivers != engine.policy.receivers { outbox.follow(engine.policy.receivers) }
        for decision in decisions {
            switch decision.decision {
            case .notice(let at, let notice): outbox.decide(notice, at: at, now: now)
            case .alert(_, let report) where report.state == .resolved:
                outbox.end(incident: report.incident)
            case .mute(_, let mute):
                if case .storm = mute.reason {
                    outbox.withdraw(incident: mute.incident, from: mute.receiver)
                }
            default: break
            }
        }
        outbox.endStorms(but: engine.storms)
        if sends, outbox.due() <= now {
            pending.sendings = outbox.begin(now: now)
            let wall = engine.clock.wall(now)
            for sending in pending.sendings {
                guard case .message(let message, _, _) = sending.content else { continue }
                pending.attempts.append(
                    AttemptRow(
                        notice: message.number, target: message.target, attempt: message.attempts,
                        beganAt: wall))
            }
        }
        pending.outbox = outbox.takeChanges()
        evaluatePushes(decisions, &pending, at: now, sends: sends)
    }

    /// Hands over what a commit says was begun.
    func send(_ sendings: [OutboxSending]) {
        for sending in sendings {
            let payload = NotificationPayload(sending, store: store.number) { member in
                let receiver = member.fallback?.receiver
                return receiver.flatMap { outbox.lastError(of: member.incident, to: $0) }
            } name: { number in
                let id = engine.roster.id(number)
                return id.isEmpty ? nil : Array(id)
            }
            // A leader that may not be one any more tells nobody (S6).
            guard endpoints.permit.holds else {
                didNotSend(payload, sending, SendingPermit.words)
                continue
            }
            if carry(payload, attempt: sending.attempt, to: sending.queue) { continue }
            didNotSend(payload, sending, "the system has no thread left")
        }
    }

    private func didNotSend(
        _ payload: NotificationPayload, _ sending: OutboxSending, _ why: String
    ) {
        let result = AttemptResult(.failed, error: why, mayHaveArrived: false)
        mailbox.put(
            .report(
                DeliveryReport(
                    queue: sending.queue, payload: payload, attempt: sending.attempt,
                    result: result, beganAt: ClockReading.now().wall), reign: reign))
    }

    /// Hands over a draft to the delivery worker to an address; false if the system has no thread
    /// left.
    func carry(_ payload: NotificationPayload, attempt: Int, to queue: QueueKey) -> Bool {
        workers.carry((payload, attempt), to: queue) { [endpoints, log, mailbox, reign] in
            endpoints.carrier(to: queue, log: log) { mailbox.put(.report($0, reign: reign)) }
        }
    }

    // MARK: - Reloads

    /// A reload says so much of the ways to receivers: what was refused there is tried sooner.
    func retrySoon(_ endpoints: EndpointChanges, at now: RunningTime) {
        alarm.retrySoon(endpoints, now: now)
        lossAlarm?.retrySoon(endpoints, now: now)
        logRetriedSoon(
            outbox.retrySoon(endpoints, now: now), pushes.retrySoon(endpoints.sink, now: now))
    }

    func logRetriedSoon(_ messages: Int, _ pushes: Int = 0) {
        guard messages + pushes > 0 else { return }
        log.info(
            "what was refused is tried sooner: the settings were read again",
            metadata: ["messages": "\(messages)", "pushes": "\(pushes)"])
    }

    // MARK: - What is shown

    /// While the store fails, the wall's time of the last commit: what was taken later is not
    /// stored (D1).
    var committedAt: Timestamp {
        if uncommitted.isEmpty { return .distantFuture }
        let running = origin.running + committedElapsed - origin.elapsed
        return engine.clock.wall(RunningTime(milliseconds: running))
    }

    /// Returns what fires and nobody has taken; of many alerts, as of the last second.
    func unreached() -> Unreached {
        let elapsed = ClockReading.now().elapsed
        let isSmall = engine.alerting.board.count < 256
        if isSmall || elapsed - unreachedKnown.at >= Self.sleepMax {
            let engine = (published ?? engine).viewed(at: running(ClockReading.now()))
            let alarms = [alarm, lossAlarm].compactMap(\.self)
            unreachedKnown = (elapsed, Unreached(engine, outbox, alarms, by: committedAt))
        }
        return unreachedKnown.what
    }

    // MARK: - Waiting for the end of a notice

    /// Takes a question for what becomes of a notice.
    func wait(_ wait: NoticeWait) {
        guard noticeWaits.count < Self.noticeWaitsMax else { return answer(wait) }
        noticeWaits.append(wait)
    }

    /// Answers those whose notice came to its end, or who have waited long enough.
    func answerNoticeWaits() {
        guard !noticeWaits.isEmpty else { return }
        let elapsed = ClockReading.now().elapsed
        let isStuck = !uncommitted.isEmpty
        let (over, left) = noticeWaits.reduce(into: ([NoticeWait](), [NoticeWait]())) {
            let isOver = $1.until <= elapsed || (!isStuck && !outbox.isOpen($1.notice))
            if isOver { $0.0.append($1) } else { $0.1.append($1) }
        }
        noticeWaits = left
        for wait in over { answer(wait) }
    }

    private func answer(_ wait: NoticeWait) {
        do throws(StoreError) {
            wait.reply(try store.journal.notices.deliveryStatus(of: wait.notice))
        } catch {
            log.error("the store cannot be read", metadata: ["error": "\(error)"])
            wait.reply(nil)
        }
    }

    // MARK: - The log

    func writeLog(
        _ report: DeliveryReport, _ words: Logger.Message, _ level: Logger.Level,
        again: Milliseconds? = nil
    ) {
        var metadata = DecisionLog.about(report.payload)
        metadata["receiver"] = "\(String(decoding: report.queue.receiver, as: UTF8.self))"
        metadata["took_ms"] = "\(report.took.count)"
        if report.notice > 0 {
            metadata["notice"] = "\(report.notice)"
            metadata["attempt"] = "\(report.attempt)"
        }
        if report.queue.target > 0 { metadata["target"] = "\(report.queue.target)" }
        if let error = report.result.error { metadata["error"] = "\(error)" }
        if let again { metadata["again_in_ms"] = "\(again.count)" }
        log.log(level: level, words, metadata: metadata)
    }

    /// Tells the log of a message at its end that was not taken; what was taken is told by the
    /// report.
    private func writeLog(_ end: NoticeEnd) {
        let level: Logger.Level
        switch end.outcome {
        case .delivered: return
        case .expired: level = .error
        case .removed: level = .warning
        case .dropped, .abandoned: level = .info
        }
        log.log(
            level: level, "message given up",
            metadata: [
                "receiver": "\(String(decoding: end.receiver, as: UTF8.self))",
                "notice": "\(end.notice)", "outcome": "\(end.outcome.word)",
                "after_ms": "\(end.took.count)",
            ])
    }
}

/// A question for the end of a notice.
struct NoticeWait: Sendable {
    let notice: Int64
    /// The instant at which it is answered at the latest, by the machine's clock.
    let until: Int64
    /// Called once, on the state writer's thread; nil if there is no such notice.
    let reply: @Sendable (NoticeDeliveryStatus?) -> Void
}
