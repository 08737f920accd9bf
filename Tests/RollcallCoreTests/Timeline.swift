import RollcallCore
import Testing

/// Replays a timeline and compares every decision with what its lines promise, byte for byte.
///
///     TIME  WHO WHAT [CLAUSE…] [{members of the body}]  → EXPECTED, EXPECTED
///
/// TIME is what the wall shows. WHO is a responder, several (`41,42`, one array), or one of
/// `store fails|recovers`, `source [NAME] beats every N`, `skew NAME ±N` (a minute's, its clock N
/// behind), `refused N`, `clock steps ±N` (TIME is after the step), `policy WORDS`, `roster IDS [shrink] [part ID [more]]`,
/// `server says ID FROM to TO [id X] [WHEN]`,
/// `start`, `stop`, `turn`, `line {…}`; or nobody, to expect only. People report (a batch), are told
/// or go (facts of the backend), pause, share, are asked for [by ID], are erased. WHEN is `10s ago`, `2s ahead`, or a TIME.
///
/// EXPECTED is `41 online [from X] [by ORIGIN]`, `41 not expected`, `blind REASON [ended] [since
/// TIME]` or `41 #5 late`; with `gaps` also `41 gap open|judged|closed [CAUSE]` and
/// `41 verdict VERDICT [after CAUSE]`, without the evidence; with `alerts` also
/// `alert NAME [LABEL=VALUE] STATE VALUE`; with `skews` also `skew NAME STATE MEASURED CORRECTION`;
/// with `nudges` `41 nudged` or `41 held because REASON`, and no statuses. What is left out is the usual: the last status or cause, the origin that the
/// status most often has, the line's time. Source: house style 23.
@discardableResult
func timeline(
    _ text: String, updates: Bool = false, gaps: Bool = false, alerts: Bool = false,
    nudges: Bool = false, skews: Bool = false,
    sourceLocation: SourceLocation = #_sourceLocation
) throws -> Engine {
    var script = Script()
    if gaps { script.kinds.append("gap") }
    if skews { script.kinds.append("skew") }
    if alerts || nudges {
        script.kinds = (alerts ? ["alert"] : []) + (nudges ? ["nudge"] : [])
    }
    for line in text.split(separator: "\n") { try script.read(line) }
    let (decided, engine, all) = try script.replay(script.lines, updates: updates)
    if let difference = Script.difference(expected: script.expected, decided: decided) {
        Issue.record("\(difference)", sourceLocation: sourceLocation)
    }
    // `advance(a)` then `advance(b)` equals `advance(b)`. Source: J0.
    if let stepped = script.steppedLines() {
        let again = try script.replay(stepped, updates: updates).decided
        #expect(again == decided, "in smaller steps", sourceLocation: sourceLocation)
    }
    engine.expectSound(all, sourceLocation: sourceLocation)
    return engine
}

/// A timeline that cannot be read.
struct TimelineError: Error { var message: String }

/// The lines of a replay file, and those that it must print.
struct Script {
    /// 2026-11-21T00:00:00Z, the zero of every timeline.
    static let zero: Int64 = 1_795_219_200_000
    /// The kinds of lines that a timeline speaks about; all others are somebody else's test.
    fileprivate(set) var kinds = ["status", "blind", "update"]

    var lines: [(at: Int64, json: String)] = []
    var expected: [String] = []
    private(set) var at: Int64 = 0
    private var standing: [Substring: String] = [:]
    private var suspected: [Substring: String] = [:]
    private var captures: [String: Int64] = [:]

    /// Reads one line of a timeline.
    mutating func read(_ line: Substring) throws {
        let halves = line.split(separator: "→", maxSplits: 1, omittingEmptySubsequences: false)
        let brace = halves[0].firstIndex(of: "{") ?? halves[0].endIndex
        var words = Words(halves[0][..<brace])
        guard let time = words.next() else { return }
        at = try Self.span(time)
        let members = halves[0][brace...].split(separator: " ").joined(separator: " ")
        if let who = words.next() { try command(who, &words, members) }
        guard words.isEmpty else { throw TimelineError(message: "what is meant by: \(line)") }
        for part in halves.dropFirst().joined().split(separator: ",") { try expect(Words(part)) }
    }

    // MARK: - Input

    private mutating func command(_ who: Substring, _ words: inout Words, _ json: String) throws {
        switch who {
        case "store":
            let state = try words.some() == "fails" ? "failing" : "ok"
            add("store", "{\"state\":\"\(state)\"}")
        case "source":
            let name = try words.some()
            if name != "beats" { try words.demand("beats") }
            try words.demand("every")
            let source = name == "beats" ? "" : #""source":"\#(name)","#
            let every = try Self.span(words.some())
            add("heartbeat", "{\(source)\"every_seconds\":\(Double(every) / 1000)}")
        case "skew":
            let name = try words.some()
            add("skew", "{\"skew_ms\":\(try Self.span(words.some()))}", source: name)
        case "refused": add("refused", "{\"count\":\(try words.some())}")
        case "clock":
            try words.demand("steps")
            add("clock", "{\"step_ms\":\(try Self.span(words.some()))}")
        case "policy": add("policy", "\"\(words.rest().joined(separator: " "))\"")
        case "roster":
            var list: [String] = []
            var terms = ""
            while let word = words.next() {
                switch word {
                case "shrink": terms += #","shrink":"allow""#
                case "part": terms += ",\"roster\":\"\(try words.some())\""
                case "more": terms += ",\"more\":true"
                default: list.append("{\"responder_id\":\"\(word)\"}")
                }
            }
            add("roster", "[\(list.joined(separator: ","))]" + terms)
        case "server":
            try words.demand("says")
            var body = ["\"responder_id\":\"\(try words.some())\""]
            body.append("\"from\":\"\(try words.some().uppercased())\"")
            try words.demand("to")
            body.append("\"to\":\"\(try words.some().uppercased())\"")
            if words.take("id") { body.append("\"id\":\"\(try words.some())\"") }
            if !words.isEmpty { body.append("\"at\":\(try instant(&words))") }
            add("transition", "{\(body.joined(separator: ","))}")
        case "start", "stop", "turn": add(String(who), nil)
        case "reign":
            let unobserved = try Self.span(words.some())
            add("reign", #"{"number":1,"member":"b","unobserved_ms":\#(unobserved)}"#)
        case "line": lines.append((at, "{\"at\":\(at + Self.zero)," + json.dropFirst()))
        default: try person(who, &words, Clauses(members: json))
        }
    }

    private mutating func person(_ who: Substring, _ words: inout Words, _ told: Clauses) throws {
        let ids = who.split(separator: ",")
        let verb = try words.some()
        var clauses = told
        switch verb {
        case "report", "reports", "go", "goes": break
        case "is" where words.take("erased"):
            standing[who] = nil
            return add("erase", "{\"responder_id\":\"\(who)\"}")
        case "is" where words.take("asked"):
            let asker = words.take("by") ? ",\"by\":\"\(try words.some())\"" : ""
            return add("ask", "{\"responder_id\":\"\(who)\"\(asker)}")
        case "is", "are": try words.demand("told")
        case "shares": clauses.set("sharing", "active")
        case "pauses" where words.take("until"):
            clauses.body.append("\"paused_until\":\(try instant(&words))")
        case "pauses": clauses.set("sharing", "paused")
        default: throw TimelineError(message: "what does \(verb) mean?")
        }
        let isBatch = verb.hasPrefix("report")
        var received: Int64?
        while let clause = words.next() {
            if clause == "received" || clause == "at" {
                received = try instant(&words)
                clauses.body.append("\"\(isBatch ? "received_at" : "at")\":\(received ?? 0)")
            } else if clause == "captured" {
                clauses.captured(words.take("never") ? nil : try instant(&words))
            } else {
                try clauses.read(clause, &words)
            }
        }
        let bodies = ids.map { clauses.json($0, received ?? at + Self.zero, &captures) }
        let body = ids.count == 1 ? bodies[0] : "[\(bodies.joined(separator: ","))]"
        add(isBatch ? "batch" : "responder", body, source: clauses.source)
    }

    private mutating func add(_ kind: String, _ body: String?, source: Substring? = nil) {
        let members = [
            "\"at\":\(at + Self.zero)", "\"kind\":\"\(kind)\"",
            source.map { "\"source\":\"\($0)\"" }, body.map { "\"body\":\($0)" },
        ]
        lines.append((at, "{\(members.compactMap { $0 }.joined(separator: ","))}"))
    }

    /// `10s ago`, `2s ahead` or a time of the timeline, as milliseconds of the wall.
    private func instant(_ words: inout Words) throws -> Int64 {
        let span = try Self.span(words.some())
        if words.take("ago") { return Self.zero + at - span }
        return words.take("ahead") ? Self.zero + at + span : Self.zero + span
    }

    /// `90s`, `89.999s`, `1d180s`, `+5s` in milliseconds.
    static func span(_ text: Substring) throws -> Int64 {
        let units: [Substring: Double] = ["d": 86400, "h": 3600, "m": 60, "s": 1, "ms": 0.001]
        let parts = text.matches(of: /([0-9.]+)([a-z]+)/).map { part in
            (Double(part.1) ?? .nan) * (units[part.2] ?? .nan) * 1000
        }
        guard let sum = Int64(exactly: parts.reduce(0, +).rounded()), !parts.isEmpty else {
            throw TimelineError(message: "no time: \(text)")
        }
        return text.hasPrefix("-") ? -sum : sum
    }

    // MARK: - Output

    private mutating func expect(_ part: Words) throws {
        var words = part
        let who = try words.some()
        if who == "blind" {
            let reason = try words.some()
            let state = words.take("ended") ? "end" : "begin"
            let since = words.take("since") ? try Self.span(words.some()) : at
            let span = #""state":"\#(state)","since":"\#(Self.stamp(since))""#
            return print("blind", "\(span),\"reason\":\"\(reason)\"")
        }
        if who == "alert" { return try expectAlert(&words) }
        if who == "skew" {
            let (name, state) = (try words.some(), try words.some())
            let (skew, added) = (try Self.span(words.some()), try Self.span(words.some()))
            let spans = #""skew_ms":\#(skew),"correction_ms":\#(added)"#
            return print("skew", #""source":"\#(name)","state":"\#(state)",\#(spans)"#)
        }
        if words.take("gap") || words.take("verdict") { return try expectGap(who, part) }
        if words.take("nudged") { return try expectNudge(who, "send", &words) }
        if words.take("held") { return try expectNudge(who, "hold", &words) }
        var status = try words.some().uppercased()
        if status.hasPrefix("#") {
            let outcome = #""outcome":"\#(try words.some())""#
            let sequence = status.dropFirst()
            return print("update", #""responder_id":"\#(who)","sequence":\#(sequence),\#(outcome)"#)
        }
        if status == "NOT", words.take("expected") { status = "NOT_EXPECTED" }
        let from = words.take("from") ? try words.some().uppercased() : standing[who]
        let usual = ["ONLINE": "contact", "DEGRADED": "deadline", "OFFLINE": "deadline"]
        let origin = words.take("by") ? String(try words.some()) : usual[status] ?? "duty"
        guard words.isEmpty else { throw TimelineError(message: "what is expected of \(who)?") }
        standing[who] = status
        let change = #""from":"\#(from ?? "NOT_EXPECTED")","to":"\#(status)""#
        print("status", #""responder_id":"\#(who)",\#(change),"origin":"\#(origin)""#)
    }

    private mutating func expectGap(_ who: Substring, _ part: Words) throws {
        var words = part
        try words.demand(who)
        var state = "verdict"
        var verdict = ""
        if words.take("gap") {
            state = String(try words.some())
            if let cause = words.next() { suspected[who] = String(cause) }
        } else {
            try words.demand("verdict")
            verdict = ",\"verdict\":\"\(try words.some())\""
            if words.take("after") { suspected[who] = String(try words.some()) }
        }
        let cause = suspected[who] ?? "unexplained"
        print(
            "gap",
            #""responder_id":"\#(who)","state":"\#(state)","suspected":"\#(cause)""# + verdict)
    }

    private mutating func expectAlert(_ words: inout Words) throws {
        let name = try words.some()
        var label = ""
        var word = try words.some()
        if let equals = word.firstIndex(of: "=") {
            label = "\"\(word[..<equals])\":\"\(word[word.index(after: equals)...])\""
            word = try words.some()
        }
        print(
            "alert",
            #""alertname":"\#(name)","state":"\#(word)","labels":{\#(label)},"#
                + #""value":\#(try words.some())"#)
    }

    private mutating func expectNudge(
        _ who: Substring, _ decision: String, _ words: inout Words
    ) throws {
        var reason = ""
        if decision == "hold" {
            try words.demand("because")
            reason = ",\"reason\":\"\(try words.some())\""
        }
        guard words.isEmpty else { throw TimelineError(message: "what is expected of \(who)?") }
        print("nudge", #""responder_id":"\#(who)","decision":"\#(decision)""# + reason)
    }

    private mutating func print(_ kind: String, _ members: String) {
        expected.append(#"{"at":"\#(Self.stamp(at))","kind":"\#(kind)",\#(members)}"#)
    }

    private static func stamp(_ at: Int64) -> String {
        RFC3339.string(Timestamp(milliseconds: zero + at))
    }

    /// What a replay of `lines` prints, and the engine behind it.
    func replay(
        _ lines: [(at: Int64, json: String)], updates: Bool
    ) throws -> (decided: [String], engine: Engine, all: [String]) {
        var replay = Replay(policy: Policy(), reportsUpdates: updates, decodePolicy: Policy.of)
        var output: [UInt8] = []
        for line in lines { try replay.fold(Array(line.json.utf8), to: &output) }
        let end = #"{"at":\#(at + Self.zero),"kind":"end"}"#
        try replay.fold(Array(end.utf8), to: &output)
        let printed = String(decoding: output, as: UTF8.self).split(separator: "\n").map(
            String.init)
        let decided = printed.filter { line in
            kinds.contains { line.contains("\"kind\":\"\($0)\"") }
        }.map { $0.replacing(/,"evidence":\{.*\}\}$/, with: "}") }
        return (decided, replay.engine, printed)
    }

    /// The first line that differs, with its time, and all that was decided; nil if none does.
    static func difference(expected: [String], decided: [String]) -> String? {
        guard expected != decided else { return nil }
        let same = zip(expected, decided).prefix { $0 == $1 }.count
        let first = [expected, decided].map { same < $0.count ? readable($0[same]) : "nothing" }
        return "expected \(first[0])\n decided \(first[1])\n of:\n"
            + decided.map { "   " + readable($0) }.joined(separator: "\n")
    }

    private static func readable(_ line: String) -> String {
        let bytes = Array(line.utf8)
        guard let at = RFC3339.parse(bytes.span, 7..<min(31, bytes.count)) else { return line }
        return "\(Double(at.milliseconds - zero) / 1000)s  " + line.dropFirst(33)
    }
}

/// The words of a line, taken one by one.
struct Words {
    private var words: ArraySlice<Substring>
    init(_ text: Substring) { words = text.split(separator: " ")[...] }
    var isEmpty: Bool { words.isEmpty }
    mutating func next() -> Substring? { words.popFirst() }
    mutating func take(_ word: Substring) -> Bool { words.first == word && next() != nil }
    mutating func some() throws -> Substring {
        guard let word = next() else { throw TimelineError(message: "a line ends too early") }
        return word
    }
    mutating func demand(_ all: Substring...) throws {
        for word in all where !take(word) { throw TimelineError(message: "\(word) is missing") }
    }
    mutating func rest() -> [Substring] { (0..<words.count).compactMap { _ in next() } }
}

/// What a batch or a fact says, as members of JSON.
private struct Clauses {
    var body: [String] = []
    var source: Substring?
    private var updates: [(sequence: Substring, captured: Int64??)] = []
    private var isCached = false

    init(members: String) {
        if !members.isEmpty { body = [String(members.dropFirst().dropLast())] }
    }

    mutating func set(_ name: String, _ value: String) { body.append("\"\(name)\":\"\(value)\"") }

    mutating func read(_ clause: Substring, _ words: inout Words) throws {
        switch clause {
        case "on", "off": set("duty_state", "\(clause)_\(try words.some())".uppercased())
        case "paused", "sharing": set("sharing", clause == "paused" ? "paused" : "active")
        case "ios", "android": set("platform", String(clause))
        case "low", "normal":
            try words.demand("power")
            let mode = clause == "low" ? "low_power" : clause
            body.append("\"telemetry\":{\"power_mode\":\"\(mode)\"}")
        case "phone":
            let said = try words.some().split(separator: ",").map { word in
                try Self.said(word)
            }
            body.append("\"telemetry\":{\(said.joined(separator: ","))}")
        case "next": body.append("\"next_expected_in\":\"\(try words.some())\"")
        case "battery": body.append("\"battery_level\":\(try words.some())")
        case "in": set("region", String(try words.some()))
        case "circle", "circles":
            let names = try words.some().split(separator: ",").map { "\"\($0)\"" }
            body.append("\"circles\":[\(names.joined(separator: ","))]")
        case "uncircled": body.append("\"circles\":[]")
        case "token": set("push_token", String(try words.some()))
        case "cached": isCached = true
        case "install": set("install_id", String(try words.some()))
        case "through": source = try words.some()
        case "with": updates += try words.some().split(separator: ",").map { ($0, nil) }
        default: throw TimelineError(message: "what does \(clause) mean?")
        }
    }

    /// What a phone says of itself in one word: `background`, `denied`, `queue3`.
    private static func said(_ word: Substring) throws -> String {
        switch word {
        case "background", "foreground", "suspended", "terminated", "inactive":
            return "\"app_state\":\"\(word)\""
        case "granted", "denied": return "\"permission_status\":\"\(word)\""
        case "located": return "\"location_services\":true"
        case "unlocated": return "\"location_services\":false"
        case "wifi", "cellular", "none": return "\"network_type\":\"\(word)\""
        case "saving": return "\"power_mode\":\"low_power\""
        case "normal": return "\"power_mode\":\"normal\""
        case _ where word.hasPrefix("queue"): return "\"queue_depth\":\(word.dropFirst(5))"
        default: throw TimelineError(message: "what does a phone mean by \(word)?")
        }
    }

    /// When the updates named last were captured.
    mutating func captured(_ at: Int64?) {
        updates = updates.map { ($0.sequence, $0.captured ?? .some(at)) }
    }

    /// The body about `id`. An update was captured when it is said to be, else when it was named
    /// before, else when it was received.
    func json(_ id: Substring, _ received: Int64, _ captures: inout [String: Int64]) -> String {
        var body = ["\"responder_id\":\"\(id)\""] + body
        let list = updates.map { sequence, captured in
            let captured = captured ?? captures["\(id) \(sequence)"] ?? received
            captures["\(id) \(sequence)"] = captured
            let time = captured.map { ",\"captured_at\":\($0)" } ?? ""
            let fix = isCached ? ",\"fix\":\"cached\"" : ""
            return "{\"sequence\":\(sequence)\(time)\(fix)}"
        }
        if !list.isEmpty { body.append("\"updates\":[\(list.joined(separator: ","))]") }
        return "{\(body.joined(separator: ","))}"
    }
}
