@testable import RollcallCore

/// An outbox, a clock and what was sent, as text.
struct OutboxStage {
    static let wall = Timestamp(milliseconds: 1_795_230_000_000)

    var outbox: Outbox
    private(set) var now = RunningTime(milliseconds: 0)
    /// What the store holds, by notice and address.
    private(set) var rows: [String: OutboxMessage] = [:]
    private var notices: Int64 = 0

    init(_ receivers: [Receiver], times: OutboxTimes = OutboxTimes(), messagesMax: Int = 10_000) {
        outbox = Outbox(store: 7, now: now, times: times, messagesMax: messagesMax)
        outbox.follow(receivers)
    }

    static func receiver(_ name: String, _ kind: ReceiverKind, targets: Int = 1) -> Receiver {
        var receiver = Receiver(name: Array(name.utf8), kind: kind)
        receiver.targets = targets
        return receiver
    }

    /// A member of firing `incident`, of an alert that is told by its region.
    static func member(
        _ incident: Int64, region: String? = nil, severity: String = "warning",
        name: AlertName = .highOfflineRate
    ) -> NoticeMember {
        var member = NoticeMember()
        member.name = name
        member.incident = incident
        member.labels = [
            Label(Array("region".utf8), Array((region ?? "r\(incident)").utf8)),
            Label(Array("severity".utf8), Array(severity.utf8)),
        ]
        return member
    }

    /// Decides a notice; its number.
    @discardableResult mutating func decide(
        _ kind: Notice.Kind, _ members: [NoticeMember], to receiver: String = "oncall"
    ) -> Int64 {
        notices += 1
        let notice = Notice(
            number: notices, receiver: Array(receiver.utf8), kind: kind, members: members)
        outbox.decide(notice, at: Self.wall + Milliseconds(now.milliseconds), now: now)
        return notices
    }

    @discardableResult mutating func decide(
        _ kind: Notice.Kind, _ incidents: [Int64], to receiver: String = "oncall"
    ) -> Int64 {
        decide(kind, incidents.map { Self.member($0) }, to: receiver)
    }

    /// A turn: what comes to its end, what is sent now, and the store has it all.
    mutating func turn() -> [String] {
        let wall = Self.wall + Milliseconds(now.milliseconds)
        let ends = outbox.settle(now: now, wall: wall).map {
            "\($0.notice)\(Self.suffix($0.receiver, $0.target)) \($0.outcome.word)"
        }
        let sent = outbox.begin(now: now).map { sending in
            let suffix = Self.suffix(sending.queue.receiver, sending.queue.target)
            switch sending.content {
            case .message(let message, let context, let count):
                let more = count > context.count ? " and \(count - context.count) more" : ""
                let around = context.isEmpty ? "" : " of \(Self.text(context))\(more)"
                return "\(message.number)\(suffix) \(message.notice.kind.word) "
                    + "\(Self.text(message.members))\(around) #\(message.attempts)"
            case .refresh(let firing, let ended):
                return "refresh\(suffix) \(Self.text(firing)) \(Self.text(ended))"
            }
        }
        store()
        return ends + sent
    }

    /// Writes down what changed, as the state writer does.
    mutating func store() {
        let changes = outbox.takeChanges()
        for message in changes.added + changes.changed {
            rows["\(message.number)/\(message.queue)"] = message
        }
    }

    /// What became of an attempt, and the turn after it.
    mutating func result(
        _ notice: Int64, _ verdict: OutboxVerdict, retryAfter: Int64? = nil,
        to receiver: String = "oncall", _ target: Int = 0
    ) -> [String] {
        _ = outbox.end(
            notice, in: QueueKey(receiver: Array(receiver.utf8), target: target), verdict,
            retryAfter: retryAfter.map { .seconds($0) }, now: now,
            wall: Self.wall + Milliseconds(now.milliseconds))
        return turn()
    }

    /// An attempt that came back.
    struct Attempt: Equatable {
        var at: Int64
        var notice: Int64
        var verdict: OutboxVerdict
    }

    /// Passes so many seconds, at a receiver that answers as `answer` says; each attempt takes
    /// `took`. What was tried, by the milliseconds since the beginning.
    mutating func pass(
        seconds: Int64, took: Milliseconds = Milliseconds(0), attemptsMax: Int = 10_000,
        retryAfter: Int64? = nil, _ answer: (_ at: Int64, _ notice: Int64) -> OutboxVerdict
    ) -> [Attempt] {
        let begin = now
        let end = now + .seconds(seconds)
        var attempts: [Attempt] = []
        var sent = turn()
        while attempts.count < attemptsMax {
            let line = sent.last { $0.contains("#") }
            if let number = line.flatMap({ Int64($0.prefix { $0.isNumber }) }) {
                let at = (now - begin).count
                now = now + took
                let verdict = answer(at, number)
                attempts.append(Attempt(at: at, notice: number, verdict: verdict))
                sent = result(
                    number, verdict, retryAfter: verdict == .failed ? retryAfter : nil)
                continue
            }
            let due = outbox.due()
            if due >= end { break }
            now = max(now, due)
            sent = turn()
        }
        now = max(now, end)
        return attempts
    }

    /// Settings are read again; how many messages come sooner.
    @discardableResult mutating func reload(
        _ change: EndpointChange, to receiver: String = "oncall", target: Int = 0
    ) -> Int {
        var changes = EndpointChanges()
        changes.queues[QueueKey(receiver: Array(receiver.utf8), target: target)] = change
        return outbox.retrySoon(changes, now: now)
    }

    mutating func wait(seconds: Int64) { now = now + .seconds(seconds) }

    /// Waits until something is due, at most so long; how many milliseconds that took.
    mutating func waitForDue(seconds: Int64 = 1_000_000) -> Int64 {
        let from = now
        now = min(max(now, outbox.due()), now + .seconds(seconds))
        return (now - from).count
    }

    /// Killed and started again: only rows are left.
    mutating func restart(_ receivers: [Receiver]) {
        let messages = rows.values.sorted { $0.number < $1.number }
        outbox = Outbox(
            store: 7, messages: messages, now: now, times: outbox.times,
            messagesMax: outbox.messagesMax)
        outbox.follow(receivers)
    }

    private static func suffix(_ receiver: [UInt8], _ target: Int) -> String {
        let name = String(decoding: receiver, as: UTF8.self)
        return (name == "oncall" ? "" : "@\(name)") + (target == 0 ? "" : "/\(target)")
    }

    private static func text(_ members: [NoticeMember]) -> String {
        "[\(members.map { "\($0.incident)" }.joined(separator: " "))]"
    }
}
