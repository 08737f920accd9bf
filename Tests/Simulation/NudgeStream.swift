/// Rules that hold for the nudge lines of any story, whatever the oracle thinks of them: N2, N4, N10,
/// F1, F32, R3.
struct NudgeStream {
    /// A nudge's line.
    struct Line {
        var at: Int64
        var responderID: String
        var decision: String
        var reason: String?
    }

    private static let reasons = ["solo", "no_token", "throttled", "rate", "blind"]
    private static let rateWindow: Int64 = 1000
    private static let askInterval: Int64 = 3_600_000
    private static let asksWithin: Int64 = 24 * 3_600_000
    private static let asksMax = 6

    private var rules = StoryNudges()
    /// When each person was last nudged, by mode, by the wall.
    private var last: [StoryNudges.Mode: [String: Int64]] = [:]
    /// When somebody asked for each person, by mode, by the wall.
    private var asks: [StoryNudges.Mode: [String: [Int64]]] = [:]
    /// A nudge because somebody asked, until that is answered.
    private var asked: Line?
    /// Of all that were nudged, by a wall that did not step since.
    private var sent: [Int64] = []
    /// The line before, unless the wall stepped since.
    private var before: Line?

    /// Other settings hold.
    mutating func note(_ rules: StoryNudges) { self.rules = rules }

    /// Walls before and after a step are not compared, but by N2.
    mutating func step() {
        sent = []
        before = nil
    }

    /// Whoever is named again is somebody new.
    mutating func forget(_ id: String) {
        for mode in last.keys { last[mode]?[id] = nil }
        for mode in asks.keys { asks[mode]?[id] = nil }
    }

    /// Evaluates a line; `status` is the person's own.
    mutating func take(_ line: Line, isBlind: Bool, status: String) throws(Breach) {
        let fact = "\(line.responderID) \(line.decision) at \(line.at)"
        if rules.mode == .disabled { throw Breach(rule: "N10", detail: fact + ", disabled") }
        if status == "NOT_EXPECTED" { throw Breach(rule: "N4", detail: fact + ", not expected") }
        if let asked { throw Breach(rule: "R3", detail: fact + ", unanswered: \(asked)") }
        if line.decision == "ask" {
            if isBlind { throw Breach(rule: "R3", detail: fact + ", blind") }
            asked = line
            return try evaluateAsk(line, fact)
        }
        if let before, before.at == line.at,
            !before.responderID.utf8.lexicographicallyPrecedes(line.responderID.utf8)
        {
            throw Breach(rule: "F1", detail: fact + ", after \(before.responderID)")
        }
        before = line
        if isBlind, line.reason != "blind" { throw Breach(rule: "F32", detail: fact + ", blind") }
        if line.decision == "send" {
            try evaluateSend(line, fact)
        } else {
            guard let reason = line.reason, Self.reasons.contains(reason) else {
                throw Breach(rule: "N8", detail: fact + ", no reason")
            }
            if reason == "no_token", rules.sink != .expo {
                throw Breach(rule: "N8", detail: fact + ", no token is needed")
            }
        }
    }

    /// Evaluates an answer to who asks: it comes behind the one nudge if there is one, else alone.
    mutating func take(_ answer: String, to id: String, at: Int64) throws(Breach) {
        let isSent = answer == (rules.mode == .live ? "send" : "dry_run")
        let isDecided = asked.map { $0.responderID == id && $0.at == at } ?? false
        if isSent != isDecided || (asked != nil) != isDecided {
            let nudge = asked.map { "\($0)" } ?? "nothing"
            throw Breach(rule: "R3", detail: "\(id) at \(at): \(answer), decided \(nudge)")
        }
        asked = nil
    }

    /// One an hour, six a day, whoever asks.
    private mutating func evaluateAsk(_ line: Line, _ fact: String) throws(Breach) {
        let before = asks[rules.mode]?[line.responderID] ?? []
        if let last = before.last, line.at - last < Self.askInterval {
            throw Breach(rule: "R3", detail: fact + ", last at \(last)")
        }
        if before.count(where: { line.at - $0 < Self.asksWithin }) >= Self.asksMax {
            throw Breach(rule: "R3", detail: fact + ", after \(before)")
        }
        asks[rules.mode, default: [:]][line.responderID, default: []].append(line.at)
        try noteSent(line, fact)
    }

    private mutating func noteSent(_ line: Line, _ fact: String) throws(Breach) {
        sent.removeAll { line.at - $0 >= Self.rateWindow }
        sent.append(line.at)
        if sent.count > rules.rate {
            throw Breach(rule: "N10", detail: fact + ", \(sent.count) within a second")
        }
    }

    private mutating func evaluateSend(_ line: Line, _ fact: String) throws(Breach) {
        let id = line.responderID
        if let last = asks[rules.mode]?[id]?.last, line.at - last < Self.askInterval {
            throw Breach(rule: "R3", detail: fact + ", asked for at \(last)")
        }
        if let last = last[rules.mode]?[id], line.at - last < rules.minInterval {
            throw Breach(rule: "N2", detail: fact + ", last at \(last)")
        }
        try noteSent(line, fact)
        last[rules.mode, default: [:]][id] = line.at
    }
}
