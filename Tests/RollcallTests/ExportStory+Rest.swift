import Testing

@testable import RollcallBasis
@testable import RollcallCore
@testable import RollcallStore

/// What an export does not carry and a store holds: so that each of its tables has rows.
extension ExportStory {
    /// One message is over, one is being sent, one waits; the same of pushes; a state was lost once;
    /// somebody was erased. If `isErasing`, of that one something is left.
    func tellRest(isErasing: Bool = false) throws {
        var erasure = Erasure(number: 1, responder: 0)
        erasure.finishedAt = wall
        try store.journal.begin()
        try store.journal.put(erasure)
        try store.journal.commit()
        if isErasing {
            try commit([try batch(#"{"responder_id":"gone-1"}"#)])
            try commit([.erase(.id(Array("gone-1".utf8)), source: EventSource.standard)])
        }
        let (now, wall) = (engine.clock.now, engine.clock.wallNow)
        var outbox = Outbox(store: store.number, now: now)
        outbox.follow([Receiver(name: Array("oncall".utf8), kind: .webhook)])
        let attempts = page(&outbox, at: wall, now)
        var box = PushBox(store: store.number)
        box.follow(.expo)
        push(&box, at: wall, now)
        try commit([]) { pending in
            pending.outbox = outbox.takeChanges()
            pending.attempts = attempts
            pending.pushes = box.takeChanges()
            pending.pushClaims = 2
            pending.sample = FleetSample(engine)
            pending.stateLoss = StateLoss(
                cause: .gone, at: wall, evidence: "told once", kept: ["rollcall.db.corrupt-1"],
                isOpen: false)
        }
    }

    private func page(_ outbox: inout Outbox, at wall: Timestamp, _ now: RunningTime)
        -> [AttemptRow]
    {
        func decide(_ kind: Notice.Kind, _ number: Int64, _ incident: Int64) {
            var member = NoticeMember()
            member.incident = incident
            member.labels = [Label(Array("region".utf8), Array("north".utf8))]
            let receiver = Array("oncall".utf8)
            outbox.decide(
                Notice(number: number, receiver: receiver, kind: kind, members: [member]),
                at: wall, now: now)
        }
        func begin() -> [OutboxMessage] {
            outbox.begin(now: now).compactMap {
                if case .message(let message, _, _) = $0.content { message } else { nil }
            }
        }
        decide(.fired, 1001, 501)
        decide(.fired, 1002, 502)
        let queue = QueueKey(receiver: Array("oncall".utf8), target: 0)
        var attempts: [AttemptRow] = []
        for message in begin() {
            var attempt = AttemptRow(
                notice: message.number, target: 0, attempt: 1, beganAt: wall)
            attempt.took = Milliseconds(120)
            attempt.status = 200
            attempts.append(attempt)
            _ = outbox.end(message.number, in: queue, .delivered, now: now, wall: wall)
        }
        outbox.end(incident: 501)
        decide(.resolved, 1003, 501)
        _ = outbox.settle(now: now, wall: wall)
        attempts += begin().map {
            AttemptRow(notice: $0.number, target: 0, attempt: $0.attempts, beganAt: wall)
        }
        return attempts
    }

    private func push(_ box: inout PushBox, at wall: Timestamp, _ now: RunningTime) {
        func decide(_ number: Int64) {
            var facts = NudgeFacts()
            facts.cause = .permissionDenied
            facts.platform = .ios
            box.decide(
                PushMessage(
                    number: number, kind: .nudge, person: Int(number % 5), decidedAt: wall,
                    now: now, life: .seconds(3600), facts: facts))
        }
        func send(_ verdict: PushVerdict) {
            for sending in box.begin(now: now, isWanted: { _ in true }) {
                let attempts = sending.messages.map { PushAttempt($0.number, verdict, token: 99) }
                box.end(sending.queue, attempts, now: now)
            }
            _ = box.settle(now: now, wall: wall)
        }
        decide(9001)
        send(.delivered)
        decide(9002)
        send(.ticketed(Array("ticket".utf8)))
        decide(9003)
    }
}
