/// Events as lines of a replay: what is read from a line is the event again. Source: V7,
/// F5.
package enum EventLine {
    /// Appends the line of `event` and its line feed; false if a damaged item is in it. `at` is the
    /// wall, of `clock` the one after the step; `policy` is the body of new settings.
    ///
    /// No secret is in it, and of silences, takes, drills and names of requests nothing but that there was
    /// one; of who did what, nothing either.
    package static func append(
        _ event: Event, at: Timestamp, policy: (Policy) -> [UInt8], to output: inout [UInt8]
    ) -> Bool {
        switch event {
        case .items(let list, let source):
            return items(list, source, RosterTerms(), isRoster: false, at, &output)
        case .roster(let list, let source, let terms):
            return items(list, source, terms, isRoster: true, at, &output)
        case .erase(let person, let source): erase(person, source, at, &output)
        case .heartbeat(let source, let every):
            line("heartbeat", source, at, &output) { $0.seconds("every_seconds", every) }
        case .skew(let source, let skew):
            line("skew", source, at, &output) { $0.integer("skew_ms", skew.count) }
        case .clock(let step):
            line("clock", nil, at, &output) { $0.integer("step_ms", step.count) }
        case .store(let isFailing):
            line("store", nil, at, &output) { $0.word("state", isFailing ? "failing" : "ok") }
        case .refused(let count):
            line("refused", nil, at, &output) { $0.integer("count", Int64(count)) }
        case .policy(let rules):
            begin("policy", at, &output)
            JSONWriter.raw(",\"body\":", to: &output)
            output += policy(rules)
            JSONWriter.raw("}\n", to: &output)
        case .silence: line("silence", nil, at, &output)
        case .take: line("take", nil, at, &output)
        case .ask(let call, let source): ask(call, source, at, &output)
        case .drill: line("drill", nil, at, &output)
        case .done: line("key", nil, at, &output)
        case .outcome: line("outcome", nil, at, &output)
        case .pushed(let end):
            line("outcome", nil, at, &output) { body in
                body.integer("push", end.number)
                body.integer("person", Int64(end.person))
                body.word("kind", end.kind.word)
                body.word("outcome", end.outcome.word)
                if end.token != 0 {
                    body.text("token", HexText.bytes(ItemText.hash(ofToken: end.token)))
                }
            }
        case .wake(let call, let source): wake(call, source, at, &output)
        case .turn(let lateness):
            line("turn", nil, at, &output) { body in
                if let lateness { body.integer("late_ms", lateness.count) }
            }
        case .start(let isRestored):
            line("start", nil, at, &output) { if isRestored { $0.flag("restored", true) } }
        case .reign(let reign):
            line("reign", nil, at, &output) { body in
                body.integer("number", reign.number)
                body.text("member", reign.member)
                body.integer("unobserved_ms", reign.unobserved.count)
            }
        case .membership(let change):
            line("membership", nil, at, &output) { append(change, to: &$0) }
        case .cells(let map): line("cells", nil, at, &output) { map.write(to: &$0) }
        case .split(let split): line("split", split.journalBytes, at, &output)
        case .summaries(let list):
            line("summaries", Summary.journalBytes(of: list), at, &output)
        case .masses(let list): line("masses", FleetMass.journalBytes(of: list), at, &output)
        case .peersElsewhere(let call):
            line("company", nil, at, &output) { body in
                // The journal holds numbers only.
                guard case .people(let accompanied, let alone) = call else { return }
                body.integers("people", accompanied.map { Int64($0) })
                body.integers("alone", alone.map { Int64($0) })
            }
        case .fleetCell(let isDark):
            line("fleet_cell", nil, at, &output) { $0.word("state", isDark ? "dark" : "heard") }
        case .action: line("action", nil, at, &output)
        case .subscription: line("subscription", nil, at, &output)
        case .stop: line("stop", nil, at, &output)
        }
        return true
    }

    /// Appends the line that ends a replay.
    package static func appendEnd(at: Timestamp, to output: inout [UInt8]) {
        line("end", nil, at, &output)
    }

    // MARK: - Parts

    static func begin(_ kind: StaticString, _ at: Timestamp, _ output: inout [UInt8]) {
        JSONWriter.raw("{\"at\":\"", to: &output)
        RFC3339.append(at, to: &output)
        JSONWriter.raw("\",\"kind\":", to: &output)
        JSONWriter.word(kind, to: &output)
    }

    private static func line(
        _ kind: StaticString, _ source: [UInt8]?, _ at: Timestamp, _ output: inout [UInt8],
        _ body: (inout ObjectWriter) -> Void = { _ in }
    ) {
        begin(kind, at, &output)
        append(source, &output)
        var object: [UInt8] = []
        var writer = ObjectWriter(&object)
        body(&writer)
        writer.end()
        // An empty one says nothing.
        if writer.bytes.count > 2 {
            JSONWriter.raw(",\"body\":", to: &output)
            output += writer.bytes
        }
        JSONWriter.raw("}\n", to: &output)
    }

    /// A line of what stands in the journal in a form of its own.
    private static func line(
        _ kind: StaticString, _ bytes: [UInt8], _ at: Timestamp, _ output: inout [UInt8]
    ) {
        line(kind, nil, at, &output) { body in
            var text: [UInt8] = []
            Base64.append(bytes, to: &text)
            body.text("bytes", text)
        }
    }

    private static func append(_ source: [UInt8]?, _ output: inout [UInt8]) {
        guard let source, source != EventSource.standard else { return }
        JSONWriter.raw(",\"source\":", to: &output)
        JSONWriter.string(source, to: &output)
    }

    private static func items(
        _ list: ItemList, _ source: [UInt8], _ terms: RosterTerms, isRoster: Bool,
        _ at: Timestamp, _ output: inout [UInt8]
    ) -> Bool {
        let items = (0..<list.count).map { list.item($0) }
        let kind = items.lazy.compactMap { $0?.kind }.first { $0 != .nobody } ?? .batch
        begin(isRoster ? "roster" : kind.word, at, &output)
        append(source, &output)
        if terms.allowsShrink { JSONWriter.raw(",\"shrink\":\"allow\"", to: &output) }
        if !terms.id.isEmpty {
            JSONWriter.raw(",\"roster\":", to: &output)
            JSONWriter.string(terms.id, to: &output)
        }
        if terms.hasMore { JSONWriter.raw(",\"more\":true", to: &output) }
        erased(items, &output)
        JSONWriter.raw(",\"body\":[", to: &output)
        var isFirst = true
        for index in items.indices where items[index]?.kind != .nobody {
            if !isFirst { output.append(UInt8(ascii: ",")) }
            isFirst = false
            guard ItemText.append(list, index, to: &output) else { return false }
        }
        JSONWriter.raw("]}\n", to: &output)
        return true
    }

    /// Appends what is left of items about people who were erased: where they stood, and whether
    /// they took a number.
    private static func erased(_ items: [Item?], _ output: inout [UInt8]) {
        var isFirst = true
        for (index, item) in items.enumerated() {
            guard let item, item.kind == .nobody else { continue }
            JSONWriter.raw(isFirst ? ",\"erased\":[" : ",", to: &output)
            isFirst = false
            var object = ObjectWriter(&output)
            object.integer("index", Int64(index))
            object.flag("enrols", item.isEnrolment)
            object.end()
            output = object.bytes
        }
        if !isFirst { output.append(UInt8(ascii: "]")) }
    }

    private static func append(_ change: MembershipChange, to body: inout ObjectWriter) {
        body.word("change", change.word)
        if case .level(let level) = change {
            body.integer("number", level)
        } else {
            body.text("member", change.member)
        }
    }

    private static func erase(
        _ person: ErasedPerson, _ source: [UInt8], _ at: Timestamp, _ output: inout [UInt8]
    ) {
        line("erase", source, at, &output) { body in
            switch person {
            case .id(let id): body.text("responder_id", id)
            case .number(let number, let hash):
                if let number { body.integer("person", Int64(number)) }
                body.text("hash", HexText.bytes(hash))
            }
        }
    }

    private static func ask(
        _ call: AskCall, _ source: [UInt8], _ at: Timestamp, _ output: inout [UInt8]
    ) {
        line("ask", call.isOperators ? nil : source, at, &output) { body in
            // The journal holds numbers only.
            guard case .numbers(let number, let asker) = call else { return }
            let people = [number, asker].compactMap { $0 }.map { Int64($0) }
            // Of a member who is nobody, or asks for nobody, there is a sign of life alone.
            if asker != nil, people.contains(where: { $0 < 0 }) { return }
            body.integers("people", people.filter { $0 >= 0 })
        }
    }

    private static func wake(
        _ call: WakeCall, _ source: [UInt8], _ at: Timestamp, _ output: inout [UInt8]
    ) {
        line("wake", source, at, &output) { body in
            // The journal holds numbers only.
            guard case .members(let members) = call else { return }
            body.integers("people", members.map { Int64($0) })
        }
    }
}

extension ItemKind {
    /// The kind of a replay's line with such items.
    fileprivate var word: StaticString {
        switch self {
        case .batch, .nobody: "batch"
        case .transition: "transition"
        case .responder: "responder"
        case .rosterEntry: "roster"
        }
    }
}

extension ObjectWriter {
    /// A duration in seconds, with what is below one.
    fileprivate mutating func seconds(_ name: StaticString, _ span: Milliseconds) {
        fraction(name, span.count * 10)
    }
}
