@testable import RollcallCore

/// An engine, its outbox and the receivers that they tell, by the second: as the state writer
/// drives them.
struct StormStage {
    static let zero = RunningTime(milliseconds: 1_795_219_200_000)

    /// What a receiver answers.
    enum Answer {
        /// 2xx.
        case takes
        /// 5xx: it did not take it.
        case fails
        /// Nothing that is heard: it took it all the same.
        case isUnheard
        /// Nothing yet.
        case waits
    }

    private(set) var engine: Engine
    private(set) var outbox: Outbox
    /// By receiver; `takes` for all others.
    var answers: [String: Answer] = [:]
    /// True to go on from a checkpoint after each turn.
    var restores = false
    /// What receivers took, in words.
    private(set) var notified: [String] = []
    /// The texts of what was taken of storms.
    private(set) var texts: [String] = []
    /// What receivers know to fire: the numbers of incidents and storms.
    private(set) var open: [String: Set<Int64>] = [:]
    /// What does not hold, in words.
    private(set) var broken: [String] = []
    /// What was decided, for a store.
    private(set) var stored: [Decision] = []
    private(set) var decisionBytes: [UInt8] = []
    private var sendings: [OutboxSending] = []
    private var now = zero

    init(_ receivers: [Receiver], storm: Int = 5) throws {
        var policy = try Policy.of(Array("\"rate off flapping off noonline for=0s,keep=0s\"".utf8))
        policy.receivers = receivers
        policy.alerts.storm = storm
        // Nobody suspects the feed.
        policy.feedMinActive = 1_000_000
        engine = Engine(policy: policy)
        outbox = Outbox(store: 7, now: Self.zero)
        outbox.follow(receivers)
    }

    /// People `r-<number>`, one a region, report.
    mutating func report(_ regions: some Sequence<Int>, at second: Int64) throws {
        let items = regions.map {
            "{\"responder_id\":\"\($0)\",\"region\":\"r-\($0)\"}"
        }
        let body = "[\(items.joined(separator: ","))]"
        let scan = try ItemScanner.scan(Array(body.utf8).span, kind: .batch)
        pass(to: second)
        turn(.items(scan.items, source: []))
    }

    mutating func silence(_ matchers: [LabelMatcher], from: Int64, until: Int64) {
        pass(to: from)
        let end = Timestamp(milliseconds: Self.zero.milliseconds + until * 1000)
        let silence = Silence(
            matchers: matchers, endsAt: end, author: Array("kim".utf8), comment: [])
        turn(.silence(.begin(silence)))
    }

    /// A source says that it lives, and when it will again.
    mutating func beat(every interval: Int64, at second: Int64) {
        pass(to: second)
        turn(.heartbeat(source: Array("a".utf8), every: .seconds(interval)))
    }

    mutating func change(at second: Int64, _ body: (inout Policy) -> Void) {
        pass(to: second)
        var policy = engine.policy
        body(&policy)
        turn(.policy(policy))
    }

    /// Lets time pass, with a turn wherever something is due.
    mutating func pass(to second: Int64) {
        let end = Self.zero + .seconds(second)
        while true {
            let isAnswered = sendings.contains { answer(to: $0) != .waits }
            let due = min(engine.nextInstant(), isAnswered ? now : outbox.due())
            let next = max(due, now + Milliseconds(10))
            if next > end { break }
            now = next
            turn(nil)
        }
        now = max(now, end)
    }

    /// One turn, a millisecond after the last.
    private mutating func turn(_ event: Event?) {
        now = now + Milliseconds(1)
        endSendings()
        let wall = engine.clock.wall(now)
        for end in outbox.settle(now: now, wall: wall) {
            _ = engine.fold(.outcome(end), at: now)
        }
        if let event { _ = engine.fold(event, at: now) }
        engine.advance(to: now)
        let decisions = engine.takeDecisions().map(\.decision)
        stored += decisions
        if outbox.receivers != engine.policy.receivers { outbox.follow(engine.policy.receivers) }
        for decision in decisions {
            switch decision {
            case .notice(let at, let notice):
                decisionBytes += notice.journalBytes
                outbox.decide(notice, at: at, now: now)
            case .mute(_, let mute):
                decisionBytes += mute.journalBytes
                if case .storm = mute.reason {
                    outbox.withdraw(incident: mute.incident, from: mute.receiver)
                }
            case .alert(_, let report) where report.state == .resolved:
                outbox.end(incident: report.incident)
            default: break
            }
        }
        outbox.endStorms(but: engine.storms)
        sendings += outbox.begin(now: now)
        _ = outbox.takeChanges()
        _ = outbox.takeQueuesGone()
        broken += engine.brokenInvariants().map { "\(second) s: \($0)" }
        guard restores else { return }
        let checkpoint = Checkpoint(engine)
        var reader = CheckpointReader()
        for index in 0..<checkpoint.sliceCount { reader.take(checkpoint.slice(index)) }
        guard let restored = reader.finish() else { return broken.append("it cannot be read") }
        engine = restored
    }

    private mutating func endSendings() {
        let under = sendings
        sendings = []
        for sending in under {
            guard case .message(let message, _, _) = sending.content else {
                outbox.refreshed(sending.queue)
                continue
            }
            let receiver = Self.text(sending.queue.receiver)
            let answer = answer(to: sending)
            if answer == .waits {
                sendings.append(sending)
                continue
            }
            if answer != .fails { take(message, receiver) }
            _ = outbox.end(
                message.number, in: sending.queue, answer == .takes ? .delivered : .failed,
                now: now, wall: engine.clock.wall(now))
        }
    }

    private func answer(to sending: OutboxSending) -> Answer {
        answers[Self.text(sending.queue.receiver)] ?? .takes
    }

    private mutating func take(_ message: OutboxMessage, _ receiver: String) {
        let members = message.members.map { member in
            let region = Self.text(member.labels.value(of: Label.region))
            return message.notice.storm.map { "storm of \($0.count)" } ?? region
        }
        notified.append(
            "\(second) \(receiver) \(message.notice.kind.word) \(members.joined(separator: " "))")
        for member in message.members {
            if message.notice.kind == .resolved {
                open[receiver]?.remove(member.incident)
            } else {
                open[receiver, default: []].insert(member.incident)
            }
            guard let storm = message.notice.storm else { continue }
            let text = AlertText(member, storm: storm) { _ in nil }
            texts.append("\(text.summary) | \(text.description)")
        }
    }

    private var second: Int64 { (now - Self.zero).count / 1000 }

    private static func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

    /// Incidents that fire, by the numbers under which `receiver` is told of them.
    func firing(for receiver: String) -> [Int64: Int64] {
        var firing: [Int64: Int64] = [:]
        for (_, alert) in engine.alerting.board.all where alert.state == .firing {
            guard let notified = alert.notified(Array(receiver.utf8)) else { continue }
            firing[alert.incident] = notified.storm == 0 ? alert.incident : notified.storm
        }
        return firing
    }
}
