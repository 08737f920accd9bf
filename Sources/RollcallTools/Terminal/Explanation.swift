import RollcallBasis
import RollcallCore
import RollcallSupport

/// A person's time told line by line, as `rollcall explain` does it.
package struct Explanation {
    /// Events that are fetched at most; the newest.
    package static let eventsMax = 10_000

    /// The question that was asked on the command line.
    package struct Question: Sendable {
        private let id: String
        private let since: Timestamp
        private let now: Timestamp
        private let form: OutputForm

        /// A question about what happened to `id` since a time, or within a span that ends `now`.
        /// - Throws: `QuestionError` if the id has not 1 to 128 bytes, `since` is no time and no
        ///   span, or ids are asked for.
        package init(
            id: String, since: String, form: OutputForm, now: Timestamp
        ) throws(QuestionError) {
            guard !id.isEmpty, id.utf8.count <= 128 else {
                throw .wrongOption("ID: 1 to 128 bytes expected")
            }
            if form == .ids {
                throw .wrongOption("-o ids: what happened has no ids; take json, table or csv")
            }
            self.id = id
            self.since = try GapQuestion.instant("--since", since, now) ?? now
            self.form = form
            self.now = now
        }

        /// Asks, and returns what is to be printed.
        /// - Throws: `QuestionError` if there is no answer, or one that is refused or strange.
        package func answer(
            from server: ServerQuestions, style: ConsoleStyle
        ) throws(QuestionError) -> Printout {
            let id = ServerQuestions.escaped(id)
            let person = try person(Resource.responder.path(id), server)
            let (events, isWhole, _) = try server.pages(
                Resource.timeline.path(id), [("since", RFC3339.string(since))], list: "events",
                count: Explanation.eventsMax)
            let oldestFirst = Array(events.reversed())
            let lack = Printout.lack(
                isWhole, events.count, of: "events", limit: nil, advice: "--since asks for less")
            if form == .csv {
                return RecordColumns.story.printout(oldestFirst, form, style, lack: lack)
            }
            let dark = try dark(server)
            if form == .json {
                let document = JSONTree.object([
                    JSONTree.Member(name: "status", value: person),
                    JSONTree.Member(name: "events", value: .list(oldestFirst)),
                    JSONTree.Member(name: "truncated", value: .boolean(!isWhole)),
                    JSONTree.Member(name: "dark", value: dark ?? .null),
                ])
                return Printout(document.printed, lack: lack)
            }
            let explanation = Explanation(
                person: person, events: oldestFirst, isWhole: isWhole, dark: dark,
                watch: try server.ask(Resource.status.path), since: since, now: now, style: style)
            return Printout(explanation.text)
        }

        private func person(
            _ path: String, _ server: ServerQuestions
        ) throws(QuestionError) -> JSONTree {
            do throws(QuestionError) {
                return try server.ask(path)
            } catch .refused(_, 404, _, _) {
                throw .nobody(server: server.server, id: id)
            } catch {
                throw error
            }
        }

        /// Asks for the dark time; nil from a server that does not count it.
        /// - Throws: `QuestionError` if there is no answer, or one that is refused or strange.
        private func dark(_ server: ServerQuestions) throws(QuestionError) -> JSONTree? {
            let day = { (at: Timestamp) in String(RFC3339.string(at).prefix(10)) }
            // More days than that are not summed up in one answer.
            let first = max(since, now - Milliseconds.seconds(365 * 86_400))
            do throws(QuestionError) {
                return try server.ask(
                    Resource.dark.path,
                    [
                        ("responder", id), ("by", "day"), ("since", day(first)),
                        ("until", day(now)),
                    ])
            } catch .tooOld {
                return nil
            } catch {
                throw error
            }
        }
    }

    let person: JSONTree
    let events: [JSONTree]
    let isWhole: Bool
    let dark: JSONTree?
    let watch: JSONTree
    let since: Timestamp
    let now: Timestamp
    let style: ConsoleStyle

    /// The whole page.
    var text: String {
        let id = person["responder_id"]?.shown ?? GapListing.missing
        let span = "\(style.moment(since)) to \(style.moment(now)) \(style.zone(now))"
        var lines = [style.bold("\(id) from \(span)")]
        if !isWhole {
            lines.append("The newest \(Self.eventsMax) events; what was before is left out.")
        }
        lines.append("")
        lines += story
        lines.append("")
        lines += paragraph("Dark", darkness)
        lines += paragraph("Now", standing)
        return lines.joined(separator: "\n") + "\n"
    }

    /// A word at the margin, and text beside it.
    private func paragraph(_ word: String, _ text: String) -> [String] {
        let margin = 10
        return ConsoleText.wrapped(text, style.columns - margin).enumerated().map { place, line in
            let head = ConsoleText.fitted(place == 0 ? word : "", margin)
            return (place == 0 ? style.bold(head) : head) + line
        }
    }

    // MARK: - What happened

    private var story: [String] {
        var lines: [String] = []
        var day = ""
        let parts = ExplanationStory(events, style).parts
        if parts.isEmpty { return ["Nothing is known of this time."] }
        for part in parts {
            let today = part.at.map { style.day($0) } ?? day
            if today != day {
                lines.append(style.bold(today))
                day = today
            }
            let time = ConsoleText.fitted(part.at.map { style.time($0) } ?? "", 10)
            let texts = ConsoleText.wrapped(part.text, style.columns - 10)
            for (place, text) in texts.enumerated() {
                let margin = place == 0 ? style.dim(time) : String(repeating: " ", count: 10)
                lines.append(margin + text)
            }
        }
        return lines
    }

    // MARK: - How it stands

    /// The server's clock: ages are told by it, whatever this machine's says (D7).
    private var asOf: Timestamp { person["as_of"]?.instant ?? now }

    private var darkness: String {
        guard let dark else { return "This server does not count dark time." }
        let days = (dark["rows"]?.elements ?? []).map { row in
            let contact = row["contact_seconds"]?.seconds.map { ConsoleStyle.span($0) } ?? "?"
            let location = row["location_seconds"]?.seconds.map { ConsoleStyle.span($0) } ?? "?"
            let name = row["day"]?.shown.map { "\($0): " } ?? ""
            if row["contact_seconds"]?.number == 0, row["location_seconds"]?.number == 0 {
                return "\(name)never."
            }
            return "\(name)out of contact for \(contact), without a location for \(location)."
        }
        // What still goes on is in no day's row: it is booked when it ends, or once an hour.
        let open = person["dark_seconds"]?.seconds.flatMap { $0.count > 0 ? $0 : nil }
        let span = open.map { ConsoleStyle.span($0) }
        if days.isEmpty {
            return span.map { "Out of contact longer than allowed for \($0) so far." }
                ?? "Never out of contact longer than allowed, as far as we saw."
        }
        let rest = span.map { " Out of contact again or still, for \($0) more so far." } ?? ""
        return days.joined(separator: " ") + rest
            + " Days are UTC; only time on duty that we watched counts."
    }

    private var standing: String {
        var sentences = [status, reach]
        let duty = person["duty_state"]?.shown ?? "No duty state"
        let region = person["region"]?.shown.map { " in region \($0)" } ?? ""
        let platform = person["platform"]?.shown.map { $0 == "unknown" ? "" : ", \($0)" } ?? ""
        sentences.append("\(duty)\(region)\(platform).")
        let contact = ago("last_contact_at")
        sentences.append("Last contact \(contact), last location \(ago("last_location_at")).")
        if let until = person["promised_until"]?.instant {
            sentences.append("The phone promised to report by \(style.time(until, beside: asOf)).")
        }
        if let gap = person["gap"] {
            let suspected = gap["suspected"]?.shown ?? "nothing that this rollcall knows"
            let outlook = OutlookWording.sentences(gap).map { " \($0)" } ?? ""
            sentences.append("Suspected: \(suspected).\(outlook)")
        }
        if watch["watching"] == .boolean(false) {
            let since = watch["not_watching_since"]?.instant.map {
                " since \(style.time($0, beside: asOf))"
            }
            sentences.append(
                "We are not watching\(since ?? ""): this is the last that was known.")
        }
        return sentences.joined(separator: " ")
    }

    private var status: String {
        let word = person["status"]?.shown ?? "No status"
        let reason = person["not_expected"]?.shown.map { " (\($0))" } ?? ""
        let since = person["since"]?.instant.map { " since \(style.time($0, beside: asOf))" } ?? ""
        return "\(word)\(reason)\(since)."
    }

    private var reach: String {
        let reachable = person["reachable"]?.shown ?? "unknown"
        let confirmed: String
        switch person["confirmed"] {
        case .boolean(true)?: confirmed = "yes"
        case .boolean(false)?:
            confirmed = "no, we were not watching and have not heard from them since"
        default: confirmed = "not told"
        }
        return "Reachable: \(reachable). Confirmed: \(confirmed)."
    }

    private func ago(_ name: String) -> String {
        guard let at = person[name]?.instant else { return "never" }
        let span = ConsoleStyle.span(max(Milliseconds(0), asOf - at))
        return "\(style.time(at, beside: asOf)) (\(span) ago)"
    }
}
