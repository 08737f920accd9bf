/// Rules that hold for what is told of incidents that somebody may have taken, in any story. Source: R2.
struct TakeStream {
    private static let longest: Int64 = 12 * 3_600_000

    private var receivers: [StoryReceiver] = []
    private var steps: Int64 = 0
    /// When each firing alert fired, by name and labels, in running time.
    private var firedAt: [String: Int64] = [:]
    /// When each take ends, by the incident, in running time.
    private var ends: [Int64: Int64] = [:]

    /// Others are told from now on.
    mutating func note(_ receivers: [StoryReceiver]) { self.receivers = receivers }

    /// The wall stepped, and no take with it.
    mutating func step(_ by: Int64) { steps += by }

    /// An alert changed.
    mutating func note(_ alert: String, _ state: String, at: Int64) {
        if state == "firing" { firedAt[alert] = at - steps }
    }

    /// Evaluates an answer to a take.
    mutating func take(
        _ incident: Int64, _ answer: String, until: Int64?, at: Int64
    ) throws(Breach) {
        let fact = "\(incident) at \(at): \(answer)"
        switch answer {
        case "taken":
            guard let until, until > at, until - at <= Self.longest else {
                throw Breach(rule: "R2", detail: fact + ", until \(String(describing: until))")
            }
            ends[incident] = until - steps
        case "given back":
            guard let end = ends.removeValue(forKey: incident), end > at - steps else {
                throw Breach(rule: "R2", detail: fact + ", and nobody had taken it")
            }
        default: break
        }
    }

    /// Evaluates that a receiver is told: of what is taken neither again nor by escalation, and nothing
    /// escalates before its time.
    func evaluate(
        _ told: StoryTold, _ kind: String, _ receiver: String, at: Int64
    ) throws(Breach) {
        let now = at - steps
        let fact = "\(told) \(kind) to \(receiver) at \(at)"
        let isTaken = ends[told.incident].map { $0 > now } ?? false
        if isTaken, kind == "repeated" { throw Breach(rule: "R2", detail: fact + ", taken") }
        // Who stands in for another is told of what was not taken there (D3).
        guard kind == "fired", !receivers.contains(where: { $0.fallback == receiver }),
            let escalateAfter = receivers.first(where: { $0.name == receiver })?.escalateAfter,
            escalateAfter > 0
        else { return }
        if isTaken { throw Breach(rule: "R2", detail: fact + ", escalates though taken") }
        if let fired = firedAt[told.alert], now < fired + escalateAfter {
            throw Breach(rule: "R2", detail: fact + ", escalates too soon: fired \(fired)")
        }
    }
}
