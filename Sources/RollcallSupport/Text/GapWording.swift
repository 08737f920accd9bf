import RollcallCore

/// The meaning of suspicions and verdicts, in words for whoever has to decide something by them.
///
/// A suspicion rests on what the phone said before it fell silent, a verdict on what its return
/// showed; each says what it proves and what not. Source: Contract/Gaps, `GapCause`, `GapVerdict`.
package struct GapWording {
    /// The evidence of the line: facts of a suspicion, or of a return.
    package let evidence: JSONTree
    package let style: ConsoleStyle
    /// The instant at which it was said: times of the same day need no date.
    package let at: Timestamp
    /// True if times say in which zone they are: where nothing else around them does.
    package var namesZone = false

    /// Whoever prints or pages hands over a line's evidence, and how its reader sees times.
    package init(
        evidence: JSONTree, style: ConsoleStyle, at: Timestamp, namesZone: Bool = false
    ) {
        self.evidence = evidence
        self.style = style
        self.at = at
        self.namesZone = namesZone
    }

    // MARK: - Suspicions

    /// Returns what is suspected and why, and what the phone had said last; `before` is what was
    /// suspected until then.
    package func suspicion(_ cause: String, before: String? = nil) -> String {
        let was = before.map { " (before: \($0))" } ?? ""
        return "Suspected: \(ConsoleText.safe(cause))\(was), because \(reason(cause)). \(lastKnown)"
    }

    /// A sentence on what the phone had said of itself.
    private var lastKnown: String {
        let facts = Self.known(evidence).map { "Last known: \($0)." }
        return facts ?? "The phone had said nothing of itself."
    }

    /// The reason of a cause that the verdicts here say is likelier than what the rules suspect (P7).
    package static let learned = "that is what such gaps mostly turned out to be here"

    /// Returns why this cause is suspected.
    package func reason(_ cause: String) -> String {
        if let rule = evidence["by_rule"]?.shown {
            return "\(Self.learned) (by the rules: \(rule))"
        }
        return switch cause {
        case "permission_denied": "the phone had said that the location permission is denied"
        case "location_services_off": "the phone had said that its location services are off"
        case "no_network": noNetwork
        case "battery_empty": "its battery was almost empty"
        case "low_power": "the phone was saving power"
        case "mass_gap": massGap
        case "app_suspended":
            "the app was in the background, where the phone's system may suspend it"
        case "app_terminated":
            "the app was in the foreground, where the phone's system does not suspend it: it may "
                + "have been ended, or have crashed"
        case "never_heard": "nothing came since they were expected"
        case "unexplained": "nothing that the phone had said explains it"
        default: "for a reason that this rollcall does not know"
        }
    }

    private var noNetwork: String {
        evidence["network_type"]?.text == "none"
            ? "the phone had said that it has no network"
            : "its queue was growing: it collected, and could not deliver"
    }

    /// Without a number: each member knows the one of the instant when they joined, and a group grows.
    private var massGap: String {
        guard let group = evidence["group"] else { return "many fell silent together" }
        if group["of"]?.text == "feed" {
            return "many fell silent together: the way from your backend to us is suspected, not "
                + "the phones"
        }
        let region = group["region"]?.shown.map { " in region \($0)" } ?? ""
        return "many\(region) fell silent within a minute"
    }

    /// Returns what the phone had said of itself, most telling first; nil if nothing is known.
    package static func known(_ facts: JSONTree) -> String? {
        var parts = phrases(facts)
        let depths = facts["queue_depths"]?.elements.compactMap(\.whole) ?? []
        if !depths.isEmpty {
            parts.append("last queue depths " + depths.map { "\($0)" }.joined(separator: " "))
        } else if let depth = facts["queue_depth"]?.whole {
            parts.append("queue depth \(depth)")
        }
        if let level = facts["battery_level"]?.number, (0...1).contains(level) {
            parts.append("battery \(Int((level * 100).rounded())) %")
        }
        return parts.isEmpty ? nil : parts.joined(separator: ", ")
    }

    /// Those of the facts that are words.
    package static func phrases(_ facts: JSONTree) -> [String] {
        var parts: [String] = []
        if let word = facts["duty_state"]?.shown { parts.append("duty \(word)") }
        if let word = facts["region"]?.shown { parts.append("region \(word)") }
        if facts["sharing"]?.text == "paused" { parts.append("sharing paused") }
        if let word = facts["permission_status"]?.shown { parts.append("permission \(word)") }
        switch facts["location_services"] {
        case .boolean(let isOn)?: parts.append("location services \(isOn ? "on" : "off")")
        default: break
        }
        if let word = facts["app_state"]?.shown {
            let isPlace = word == "background" || word == "foreground"
            parts.append(isPlace ? "app in the \(word)" : "app state \(word)")
        }
        switch facts["network_type"]?.shown {
        case "none"?: parts.append("no network")
        case let word?: parts.append("network \(word)")
        case nil: break
        }
        switch facts["power_mode"]?.shown {
        case "low_power"?: parts.append("saving power")
        case "normal"?, nil: break
        case let word?: parts.append("power mode \(word)")
        }
        return parts
    }

    // MARK: - Verdicts

    /// Returns what it was, and what that proves.
    package func outcome(_ verdict: String, suspected: String) -> String {
        let proof = proof(verdict)
        return "It was: \(ConsoleText.safe(verdict)) (suspected: \(ConsoleText.safe(suspected))). "
            + (proof.first?.uppercased() ?? "") + proof.dropFirst()
    }

    /// Returns what a reason to be blind means.
    package static func blindness(_ word: String?) -> String {
        switch word {
        case "heartbeat": "your backend's heartbeats stayed away"
        case "overload": "Rollcall refused half of the writes"
        case "stopped": "Rollcall was stopped"
        case "store": "the store took nothing"
        case "suspended": "Rollcall, or its machine, stood still"
        case let word?: ConsoleText.safe(word)
        case nil: "no reason told"
        }
    }

    /// Says that a part of the gap was not seen, and what follows (D5); nil if that is too short to
    /// be told.
    package static func blind(_ span: Milliseconds, isLeftOut: Bool) -> String? {
        guard span >= BlindReason.reportedFrom else { return nil }
        let text = "For \(ConsoleStyle.span(span)) of it we were not watching"
        return isLeftOut
            ? "\(text): it counts against nobody." : "\(text): too little to leave it out."
    }

    /// Returns what the return showed, what that proves and what not.
    package func proof(_ verdict: String) -> String {
        switch verdict {
        case "reinstalled":
            "a new install began since the gap opened, so the app's data were gone. It does not "
                + "say when, nor that the install before had stopped by itself."
        case "permission_denied":
            "the returning phone said that the location permission is denied. That holds now; "
                + "for the whole gap it is likely, not proved."
        case "location_services_off":
            "the returning phone said that its location services are off. That holds now; for "
                + "the whole gap it is likely, not proved."
        case "network": network
        case "app_stopped": appStopped
        case "duty_ended":
            "they were no longer expected before they returned. It says nothing about the phone."
        case "unexplained":
            "contact came, and nothing new that it could be judged by."
        default: "this rollcall does not know what that proves."
        }
    }

    private var network: String {
        var text = "locations were captured"
        if let count = evidence["captured_inside"]?.whole {
            text = count == 1 ? "1 location was captured" : "\(count) locations were captured"
        }
        if let first = evidence["first_captured_inside_at"]?.instant,
            let last = evidence["last_captured_inside_at"]?.instant
        {
            text +=
                first == last
                ? " at \(style.time(first, beside: at))"
                : " \(style.time(first, beside: at))–\(style.time(last, beside: at))"
            if namesZone { text += " \(style.zone(last))" }
        }
        return text + " while out of contact: the app ran, the network did not. This goes by the "
            + "phone's own clock; it does not say whose network failed, nor that the app ran all "
            + "the time."
    }

    private var appStopped: String {
        var text = "the updates since the return go on"
        if let count = evidence["updates"]?.whole {
            text =
                count == 1
                ? "the update since the return goes on" : "\(count) updates since the return go on"
        }
        return text + " where the phone had left off, and none was captured in between: the "
            + "system or the user stopped the app, or the phone was off. Which of them, it cannot "
            + "say; a backlog that comes more than two minutes after the return would refute it."
    }
}
