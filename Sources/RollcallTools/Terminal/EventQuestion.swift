import Glibc
import RollcallBasis
import RollcallCore
import RollcallSupport

/// A question for events, as `rollcall events` asks it. Source: E1.
package struct EventQuestion {
    /// Events that are shown without a `limit`.
    package static let limitStandard = 20
    /// Events that are shown at most.
    package static let limitMax = 100_000
    /// Seconds for which the server is to wait for an event.
    private static let wait = 20
    /// Seconds between two attempts to reach a server that was there.
    private static let pause: UInt32 = 2
    /// Numbers that are looked back over at first.
    private static let spanMin: Int64 = 1000

    /// The options on the command line; nil where nothing was said.
    package struct Options {
        package var follows = false
        package var after: String?
        package var kinds: String?
        package var region: String?
        package var responder: String?
        package var limit: Int?
        package var form = OutputForm.table

        package init() {}
    }

    private let options: Options
    private let filter: [(String, String)]
    private let limit: Int

    /// Reads the options.
    /// - Throws: `QuestionError` if one makes no sense.
    package init(_ options: Options) throws(QuestionError) {
        self.options = options
        limit = options.limit ?? Self.limitStandard
        guard (1...Self.limitMax).contains(limit) else {
            throw .wrongOption("--limit: 1 to \(Self.limitMax) expected (\(limit))")
        }
        filter = [
            ("kinds", options.kinds), ("region", options.region), ("responder", options.responder),
        ].compactMap { name, value in value.map { (name, $0) } }
    }

    /// Asks, and hands over what is to be printed, as it comes; returns what the list lacks. Following,
    /// it comes back only with an error; `complain` is told when the server is away, and when it is
    /// there again.
    /// - Throws: `QuestionError` if there is no answer, or one that is refused or strange; following,
    ///   if there never was one.
    package func run(
        from server: ServerQuestions, style: ConsoleStyle,
        print: (String) throws(QuestionError) -> Void, complain: (String) -> Void
    ) throws(QuestionError) -> String? {
        if options.form == .csv { try print(RecordColumns.events.head) }
        var next: String
        if let after = options.after, !isLimited {
            var isWhole = false
            (next, isWhole) = try handOver(behind: after, server) { (event) throws(QuestionError) in
                try print(line(event, style))
            }
            if !isWhole, !options.follows {
                return "the list is not whole: go on with --after \(ConsoleText.safe(next))"
            }
        } else {
            let events: [JSONTree]
            if let after = options.after {
                (events, next) = try everything(behind: after, server, most: limit)
            } else {
                (events, next) = try newest(server)
            }
            for event in events { try print(line(event, style)) }
        }
        guard options.follows else { return nil }
        var isAway = false
        var missing = server.missing
        if let sentence = missing.sentence { complain(sentence) }
        while true {
            do throws(QuestionError) {
                let page = try page(behind: next, server, wait: Self.wait)
                if isAway { complain("\(server.server) is there again") }
                isAway = false
                if page.missing != missing {
                    complain(page.missing.sentence ?? "all cells answer again")
                    missing = page.missing
                }
                next = page.next
                for event in page.events { try print(line(event, style)) }
            } catch {
                switch error {
                case .noAnswer, .refused(_, 503, _, _), .refused(_, 429, _, _): break
                default: throw error
                }
                if !isAway { complain("\(error); trying again") }
                isAway = true
                sleep(Self.pause)
            }
        }
    }

    /// True if it ends after so many: a page for people does, and what somebody gave a limit.
    private var isLimited: Bool { options.form == .table || options.limit != nil }

    // MARK: - Asking

    private func page(
        behind cursor: String, _ server: ServerQuestions, wait: Int = 0
    ) throws(QuestionError) -> (events: [JSONTree], next: String, missing: MissingCells) {
        var query = filter + [("after", cursor), ("limit", "\(ServerQuestions.pageMax)")]
        if wait > 0 { query.append(("wait", "\(wait)")) }
        let answer = try server.ask(Resource.events.path, query)
        guard case .list(let events)? = answer["events"], let next = answer["next"]?.text else {
            throw .strange(server: server.server, "no events in its answer")
        }
        var missing = MissingCells()
        missing.note(answer)
        return (events, next, missing)
    }

    /// Hands over what is behind a cursor, page by page; returns where it ended, and whether that was
    /// the end.
    /// - Throws: `QuestionError` if there is no answer, or one that is refused or strange.
    private func handOver(
        behind cursor: String, _ server: ServerQuestions,
        _ take: (JSONTree) throws(QuestionError) -> Void
    ) throws(QuestionError) -> (next: String, isWhole: Bool) {
        var next = cursor
        for _ in 0..<ServerQuestions.pagesMax {
            let page = try page(behind: next, server)
            for event in page.events { try take(event) }
            if page.next == next { return (next, true) }
            next = page.next
        }
        return (next, false)
    }

    /// Returns what is behind a cursor, the oldest first, `most` at most.
    /// - Throws: `QuestionError` if there is no answer, or one that is refused or strange.
    private func everything(
        behind cursor: String, _ server: ServerQuestions, most: Int = .max
    ) throws(QuestionError) -> (events: [JSONTree], next: String) {
        var found: [JSONTree] = []
        var next = cursor
        for _ in 0..<ServerQuestions.pagesMax where found.count < most {
            let page = try page(behind: next, server)
            found += page.events
            // At the end the cursor stands still.
            let isEnd = page.next == next
            next = page.next
            if isEnd { break }
        }
        guard found.count > most else { return (found, next) }
        found.removeLast(found.count - most)
        return (found, found.last?["cursor"]?.text ?? next)
    }

    /// Returns the newest events, the oldest of them first.
    /// - Throws: `QuestionError` if there is no answer, or one that is refused or strange.
    private func newest(
        _ server: ServerQuestions
    ) throws(QuestionError) -> (events: [JSONTree], next: String) {
        let head = try page(behind: "now", server).next
        let place = EventPlace(head)
        var span = max(Self.spanMin, Int64(limit) * 4)
        // What was found by a shorter look back.
        var found: (events: [JSONTree], next: String) = ([], head)
        var isCut = false
        while true {
            let start = place.back(by: span)
            do throws(QuestionError) {
                let (events, next) = try everything(behind: start.text, server)
                found = (Array(events.suffix(limit)), next)
                // A place that cannot be looked back from stays where it is.
                if events.count >= limit || start.isBeginning || isCut { return found }
                span *= 8
            } catch {
                guard case .refused(_, 410, let detail, _) = error else { throw error }
                // Retention has cut what is older: what there is begins behind the oldest. Of several cells
                // one says where, and the others need not go back so far.
                if place.isOfOne, let oldest = detail.split(separator: " ").last {
                    let (events, next) = try everything(behind: String(oldest), server)
                    return (events.suffix(limit), next)
                }
                if !found.events.isEmpty || span == 0 { return found }
                isCut = true
                span /= 8
            }
        }
    }

    // MARK: - Lines

    private func line(_ event: JSONTree, _ style: ConsoleStyle) -> String {
        switch options.form {
        case .table: EventLineText(event).text(style) + "\n"
        case .json: event.printed
        case .csv: RecordColumns.events.row(event, style)
        case .ids:
            RecordColumns.events.name(of: event).flatMap { RecordColumns.line($0, style) } ?? ""
        }
    }
}

/// An event as a line for people.
struct EventLineText {
    private let event: JSONTree

    init(_ event: JSONTree) { self.event = event }

    /// The line, without anything that a terminal could obey.
    func text(_ style: ConsoleStyle) -> String {
        let at = event["at"]?.instant.map { style.moment($0) } ?? ""
        let kind = event["kind"]?.shown ?? ""
        let who = event["responder_id"]?.shown.map { id in
            event["region"]?.shown.map { "\(id) (\($0)) " } ?? "\(id) "
        }
        let padded = kind + String(repeating: " ", count: max(1, 9 - kind.count))
        return ConsoleText.safe("\(at)  \(padded)\(who ?? "")\(words(kind))")
    }

    private func words(_ kind: String) -> String {
        func word(_ name: String) -> String? {
            guard let value = event[name] else { return nil }
            return value.shown ?? String(value.printed.dropLast())
        }
        func list(_ names: String...) -> String {
            names.compactMap { name in word(name).map { "\(name) \($0)" } }.joined(separator: ", ")
        }
        switch kind {
        case "status":
            return "\(word("from") ?? "") → \(word("to") ?? "") by \(word("origin") ?? "")"
        case "gap", "verdict":
            let cause = word("verdict") ?? word("suspected") ?? ""
            return "\(word("state") ?? ""): \(cause)"
        case "alert":
            let labels = event["labels"]?.members.map { "\($0.name)=\($0.value.shown ?? "")" } ?? []
            let of = labels.isEmpty ? "" : " {\(labels.joined(separator: ", "))}"
            return "\(word("alertname") ?? "")\(of) \(word("state") ?? ""), "
                + "value \(word("value") ?? "")"
        case "action":
            let what = [word("action"), word("subject"), word("number")].compactMap(\.self)
            let by = word("by").map { " by \($0)" } ?? ""
            let why = word("comment").map { ": \($0)" } ?? ""
            return what.joined(separator: " ") + by + why
        case "person":
            return [word("change"), word("hash")].compactMap(\.self).joined(separator: " ")
        case "nudge": return list("decision", "reason", "followed", "push")
        case "delivery": return list("receiver", "notice", "push", "outcome")
        case "blind": return list("state", "reason", "since")
        default: return ""
        }
    }
}
