/// A rule that does not hold, and the facts.
struct Breach: Error {
    var rule: String
    var detail: String
}

/// Rules that hold for the decisions of any story, whatever the oracle thinks of them.
struct DecisionStream {
    private static let order = ["ONLINE", "DEGRADED", "UNKNOWN", "OFFLINE"]
    private static let graceFrom: Int64 = 15_000
    private static let graceSpan: Int64 = 30 * 60_000
    private static let gracesMax = 3

    /// The last status told of each person.
    private var statuses: [String: String] = [:]
    /// Open blind windows by reason: two starts at one instant are two windows.
    private var open: [String: Int] = [:]
    private var onset = Int64.max
    /// The same without an episode that it touches.
    private var ownOnset = Int64.max
    /// The last episode: one that touches it goes on with it.
    private var last = (onset: Int64.max, end: Int64.min)
    private var graces: [Int64] = []
    /// Nobody but these becomes OFFLINE by time before that (INV-09).
    private var grace: (until: Int64, except: Set<String>)?
    /// The smallest of all policies so far: a factor outlives its policy until the next contact (F19).
    private var offlineMin = Int64.max
    private var factorMin = 1.0
    private var gaps = GapStream()
    private var alerts = AlertStream()
    private var nudges = NudgeStream()
    private var takes = TakeStream()
    /// Walls before and after a step are not compared.
    private var hasStepped = false

    /// A stream that begins under `policy`.
    init(policy: StoryPolicy) { note(policy) }

    /// Takes note of a line whose decisions were taken.
    mutating func fold(_ line: StoryLine) {
        switch line.event {
        case .clock(let step):
            hasStepped = true
            gaps.step(step)
            alerts.step(step)
            nudges.step()
            takes.step(step)
        case .policy(let policy):
            note(policy)
            grace = nil
        case .erase(let id):
            statuses[id] = nil
            gaps.forget(id)
            nudges.forget(id)
        default: break
        }
    }

    /// Evaluates a decision by those before it.
    mutating func take(_ decision: StoryDecision) throws(Breach) {
        switch decision {
        case .status(let at, let id, let from, let to, let origin):
            try judge(id, from: from, to: to, origin: origin)
            if to == "OFFLINE", origin == "deadline", !hasStepped, let grace, at < grace.until,
                !grace.except.contains(id)
            {
                throw Breach(rule: "INV-09", detail: "\(id) at \(at), grace until \(grace.until)")
            }
            statuses[id] = to
            try gaps.note(id, is: to, at: at)
        case .gap(let at, let id, let state, let suspected, let verdict):
            let line = GapStream.Line(
                at: at, responderID: id, state: state, suspected: suspected, verdict: verdict)
            try gaps.take(line, isBlind: !open.isEmpty)
        case .blind(let at, let begins, let since, let reason):
            if begins { try lose(since, reason) } else { try regain(at, reason) }
        case .alert(let at, let name, let state, let labels, let value):
            let line = AlertStream.Line(
                at: at, name: name, state: state, labels: labels, value: value)
            try alerts.take(line, isBlind: !open.isEmpty, statuses)
            takes.note(name + labels, state, at: at)
        case .nudge(let at, let id, let decision, let reason):
            let line = NudgeStream.Line(
                at: at, responderID: id, decision: decision, reason: reason)
            let status = statuses[id] ?? "NOT_EXPECTED"
            try nudges.take(line, isBlind: !open.isEmpty, status: status)
        case .notice(let at, let receiver, let kind, let told):
            for told in told { try takes.evaluate(told, kind, receiver, at: at) }
        case .take(let at, let incident, let answer, let until):
            try takes.take(incident, answer, until: until, at: at)
        case .ask(let at, let id, let answer, _):
            try nudges.take(answer, to: id, at: at)
        case .mute, .skew, .update: break
        }
    }

    /// Only legal transitions (INV-04), and none for the worse while blind (INV-08).
    private func judge(
        _ id: String, from: String, to: String, origin: String
    ) throws(Breach) {
        let known = statuses[id] ?? "NOT_EXPECTED"
        let isDuty = from == "NOT_EXPECTED" || to == "NOT_EXPECTED"
        // L7: of an UNKNOWN person the server's `from` is believed.
        let isBelieved = known == "UNKNOWN" && origin == "server" && !isDuty
        let fact = "\(id) was \(known), from \(from) to \(to) by \(origin)"
        if known != from && !isBelieved || from == to { throw Breach(rule: "INV-04", detail: fact) }
        if isDuty {
            let isLegal = origin == "duty" || origin == "deadline" && to == "NOT_EXPECTED"
            if !isLegal { throw Breach(rule: "INV-04", detail: fact) }
            return
        }
        if from == "ONLINE", to == "OFFLINE", origin != "server" {
            throw Breach(rule: "INV-04", detail: fact)
        }
        // What the server named is only printed: the model's own status must not get worse (B4).
        let isWorse = rank(to) > rank(isBelieved ? known : from)
        if isWorse, !open.isEmpty { throw Breach(rule: "INV-08", detail: fact) }
        if isWorse, origin != "deadline", origin != "server" {
            throw Breach(rule: "L9", detail: fact)
        }
    }

    private mutating func lose(_ since: Int64, _ reason: String) throws(Breach) {
        open[reason, default: 0] += 1
        if open[reason] == 2, reason != "stopped", reason != "suspended" {
            throw Breach(rule: "B4", detail: "\(reason) begins twice")
        }
        onset = min(onset, since, since <= last.end ? last.onset : since)
        ownOnset = min(ownOnset, max(since, last.end))
    }

    private mutating func regain(_ at: Int64, _ reason: String) throws(Breach) {
        guard let count = open[reason] else {
            throw Breach(rule: "B4", detail: "\(reason) ends and had not begun")
        }
        open[reason] = count == 1 ? nil : count - 1
        guard open.isEmpty else { return }
        graces.removeAll { at - $0 >= Self.graceSpan }
        let hasGrace = at - onset >= Self.graceFrom && graces.count < Self.gracesMax
        alerts.regain(from: ownOnset, until: hasStepped ? nil : at, hasGrace: hasGrace)
        if hasGrace {
            graces.append(at)
            let offline = statuses.filter { $0.value == "OFFLINE" }.map(\.key)
            grace = (at + Int64(Double(offlineMin) * factorMin), Set(offline))
        }
        last = (onset, at)
        onset = .max
        ownOnset = .max
    }

    /// Evaluates the end: `endsAt` by the wall. Nobody's verdict is owed (C2), no alert waits too
    /// long.
    func evaluateEnd(_ endsAt: Int64) throws(Breach) {
        try gaps.evaluateEnd(endsAt)
        try alerts.evaluateEnd(endsAt)
    }

    private func rank(_ status: String) -> Int { Self.order.firstIndex(of: status) ?? 0 }

    private mutating func note(_ policy: StoryPolicy) {
        let factor = min(1, policy.lowPowerFactor) * min(policy.iosFactor, policy.androidFactor, 1)
        factorMin = min(factorMin, factor)
        offlineMin = min(
            offlineMin, policy.onDuty.offlineAfter, policy.onMission.offlineAfter)
        alerts.note(policy.alerts)
        nudges.note(policy.nudges)
        takes.note(policy.receivers)
    }
}
