@testable import RollcallCore

/// A push box, a clock and its rows, as text.
struct PushStage {
    static let wall = Timestamp(milliseconds: 1_795_230_000_000)

    var box: PushBox
    private(set) var now = RunningTime(milliseconds: 0)
    /// What the store holds, by number.
    private(set) var rows: [Int64: PushMessage] = [:]
    /// Who is not to be sent anything any more.
    var unwanted: Set<Int> = []
    /// What went out and did not come back.
    private(set) var inFlight: [PushSending] = []
    /// How often each went out.
    private(set) var sent: [Int64: Int] = [:]

    init(
        _ sink: NudgeRules.Sink = .webhook, waitingMax: Int = PushBox.waitingMax,
        ticketsMax: Int = PushBox.ticketsMax
    ) {
        box = PushBox(store: 7, waitingMax: waitingMax, ticketsMax: ticketsMax)
        box.follow(sink)
    }

    private var wall: Timestamp { Self.wall + Milliseconds(now.milliseconds) }

    mutating func decide(
        _ number: Int64, _ kind: PushKind = .nudge, life: Milliseconds = .seconds(3600)
    ) {
        box.decide(
            PushMessage(
                number: number, kind: kind, person: Int(number), decidedAt: wall, now: now,
                life: life))
    }

    /// A turn: what came to its end and what is sent now; the store has it all.
    mutating func turn() -> [String] {
        let ends = box.settle(now: now, wall: wall).map { "\($0.number) \($0.outcome.word)" }
        let unwanted = unwanted
        let sendings = box.begin(now: now) { !unwanted.contains($0.person) }
        keep()
        inFlight += sendings
        for sending in sendings where sending.queue.load != .receipts {
            for message in sending.messages { sent[message.number, default: 0] += 1 }
        }
        return ends
            + sendings.map { sending in
                let numbers = sending.messages.map(\.number)
                let text =
                    numbers.count > 2
                    ? "\(numbers[0])...\(numbers[numbers.count - 1])"
                    : numbers.map { "\($0)" }.joined(separator: " ")
                return "\(sending.queue.load == .receipts ? "ask" : "send") \(text)"
            }
    }

    private mutating func keep() {
        let changes = box.takeChanges()
        for message in changes.added + changes.changed { rows[message.number] = message }
    }

    /// The first call that is under way comes back.
    mutating func end(
        _ verdict: PushVerdict, _ others: [Int64: PushVerdict] = [:], token: UInt64 = 0
    ) {
        let sending = inFlight.removeFirst()
        let attempts = sending.messages.map {
            PushAttempt($0.number, others[$0.number] ?? verdict, token: token)
        }
        box.end(sending.queue, attempts, now: now)
    }

    /// The same of a question for receipts.
    mutating func tell(_ receipts: [ReceiptVerdict]?, retryAfter: Milliseconds? = nil) {
        let sending = inFlight.removeFirst()
        box.take(receipts, in: sending.queue, retryAfter: retryAfter, now: now)
    }

    mutating func wait(_ span: Milliseconds) { now = now + span }

    /// Waits until something is due, and passes a turn.
    mutating func next() -> [String] {
        let due = box.due()
        if due < .distantFuture { now = max(now, due) }
        return turn()
    }

    /// A kill, and a start from the rows.
    mutating func restart(isRestored: Bool = false) {
        let sink = box.sink
        let alive = rows.values.filter { $0.state != .over }.sorted { $0.number < $1.number }
        box = PushBox(store: 7, messages: alive, isRestored: isRestored)
        box.follow(sink)
        inFlight = []
    }

    /// Where a push stands in the store.
    func state(_ number: Int64) -> String {
        guard let row = rows[number] else { return "nowhere" }
        switch row.state {
        case .waiting: return "waiting"
        case .sending: return "sending"
        case .ticketed: return "ticketed"
        case .over: return "\(row.outcome?.word ?? "no outcome")"
        }
    }
}
