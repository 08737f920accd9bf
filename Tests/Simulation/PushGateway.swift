import RollcallCore
import RollcallTools

/// The phones behind a push gateway, as far as they matter: what was shown on them, and how often. It
/// takes, refuses and loses its answers; whatever becomes of those, nothing is shown twice. Source:
/// N2, N7; INV-21, INV-22.
struct PushGateway {
    /// The pushes that the store says were decided.
    private var decided: Set<Int64> = []
    private var shown: Set<Int64> = []
    /// What came of calls, as far as we were told.
    private var answers: [(queue: PushQueue, attempts: [PushAttempt])] = []

    init() {}

    /// A commit says that these were decided.
    mutating func commit(_ decisions: [NumberedDecision]) {
        for decision in decisions {
            switch decision.decision {
            case .nudge(_, _, let report) where report.kind == .send: decided.insert(report.number)
            case .wake(_, _, let push): decided.insert(push)
            default: break
            }
        }
    }

    /// We are killed: what was answered and not stored is not known any more.
    mutating func forgetAnswers() { answers = [] }

    /// A call arrives, or does not, and is answered, or not; what must not be, in words.
    mutating func take(_ sending: PushSending, _ dice: inout Dice) -> String? {
        guard sending.queue.load != .receipts else {
            preconditionFailure("these stories end before a receipt is due")
        }
        var attempts: [PushAttempt] = []
        for message in sending.messages {
            if !decided.contains(message.number) {
                return "INV-22: push \(message.number) was sent and no commit had decided it"
            }
            let verdict: PushVerdict =
                dice.pick([.delivered, .delivered, .unknown, .unknown, .refused(retryAfter: nil)])
            // A lost answer may be that of a push that arrived.
            let isShown = verdict == .delivered || verdict == .unknown && dice.chance(500)
            if isShown, !shown.insert(message.number).inserted {
                return "INV-21: push \(message.number) was shown twice"
            }
            attempts.append(PushAttempt(message.number, verdict))
        }
        answers.append((sending.queue, attempts))
        return nil
    }

    /// Takes what came back since.
    mutating func takeAnswers() -> [(queue: PushQueue, attempts: [PushAttempt])] {
        defer { answers = [] }
        return answers
    }
}
