import RollcallBasis
import RollcallCore
import RollcallSupport

/// The question of `rollcall` without a command: how everything stands, in a sentence, and what to type
/// next. Source: V6.
package struct NowQuestion: Sendable {
    /// A command that fits, and what it does.
    struct Step: Equatable, Sendable {
        let command: String
        let words: String
    }

    /// Alerts that one may take, in what is to be typed next, at most.
    private static let takesMax = 3

    /// Columns that the words need beside a command.
    private static let wordsMin = 36

    private let flags: [String]
    private let isJSON: Bool

    /// A question whose answer is for people, or for machines. `flags` are those that said which server
    /// is asked: the next command needs them too.
    package init(flags: [(name: String, value: String?)], isJSON: Bool) {
        self.flags = flags.flatMap { name, value in
            value.map { ["--\(name)", ShellText.quoted($0)] } ?? []
        }
        self.isJSON = isJSON
    }

    /// Asks, and returns what is to be printed.
    /// - Throws: `QuestionError` if there is no answer, or one that is refused or strange.
    package func answer(
        from server: ServerQuestions, style: ConsoleStyle
    ) throws(QuestionError) -> String {
        let status = try server.ask(Resource.status.path)
        let alerts = try server.ask(Resource.alerts.path)["alerts"]?.elements ?? []
        let offline = status["responders"]?["OFFLINE"]?.whole ?? 0
        var newest: String?
        var isFleetCell = false
        if offline > 0 {
            let gaps = try server.ask(
                Resource.gaps.path, [("state", "open"), ("limit", "1")])
            newest = gaps["gaps"]?.elements.first?["responder_id"]?.text
            isFleetCell = newest == nil && server.advice(onNobodyIn: gaps) != nil
        }
        let steps = steps(status, alerts, newest: newest, isFleetCell: isFleetCell)
        if isJSON {
            let document = JSONTree.object([
                .init(name: "sentence", value: status["sentence"] ?? .null),
                .init(
                    name: "next",
                    value: .list(
                        steps.map { ["command": .text($0.command), "does": .text($0.words)] })),
            ])
            return document.printed
        }
        let page = StatusPage(
            status: status, regions: [], silent: [], hasMoreOffline: false, alerts: [], unsure: 0,
            hasMoreUnsure: false, limit: StatusQuestion.limitStandard, style: style)
        return (page.opening + [""] + Self.lines(steps, style)).joined(separator: "\n") + "\n"
    }

    /// Returns what to type where no server answers.
    package static func advice(_ style: ConsoleStyle) -> String {
        lines(
            [
                Step(command: "rollcall serve", words: "starts one here"),
                Step(
                    command: "rollcall demo",
                    words: "shows in two minutes what it does, with simulated phones"),
                Step(
                    command: "rollcall --server URL",
                    words: "asks one elsewhere; ROLLCALL_SERVER says it once for all"),
                Step(command: "rollcall --help", words: "lists all commands"),
            ], style
        ).joined(separator: "\n")
    }

    /// Returns what to type next, the most urgent first.
    func steps(
        _ status: JSONTree, _ alerts: [JSONTree], newest: String?, isFleetCell: Bool = false
    ) -> [Step] {
        var steps: [Step] = []
        func add(_ words: [String], asks: Bool = true, _ does: String) {
            let all = ["rollcall", words[0]] + (asks ? flags : []) + words.dropFirst()
            steps.append(Step(command: all.joined(separator: " "), words: does))
        }
        let urgent = alerts.filter { alert in
            alert["severity"]?.text == "critical" && alert["state"]?.text == "firing"
                && alert["taken"] == nil
        }
        for alert in urgent.prefix(Self.takesMax) {
            guard let key = alert["key"]?.text ?? alert["incident"]?.whole.map({ "\($0)" }),
                let name = Self.argument(key)
            else { continue }
            add(["take"] + name, "says that you see to \(Self.name(alert))")
        }
        if let unreached = status["nobody_reached"] {
            let receiver = (status["receivers"]?.elements ?? []).first {
                $0["kind"]?.text != "log"
            }
            if unreached["reason"]?.text != "no_receiver",
                let name = receiver?["name"]?.text.flatMap(Self.argument)
            {
                add(["drill"] + name, "tries whether a message reaches \(name.last ?? "")")
            } else {
                add(["check", "FILE"], asks: false, "says who is to be reached by these settings")
            }
        }
        if status["watching"] == .boolean(false) {
            add(["events", "--kinds", "blind"], "shows since when it does not watch, and why")
        }
        if isFleetCell {
            add(
                ["cluster", "cells"],
                "names the cells: this is the fleet cell, which knows nobody who is silent")
        } else if status["responders"]?["OFFLINE"]?.whole ?? 0 > 0 {
            add(["gaps", "--state", "open"], "shows who is silent, since when and why")
            if let id = newest.flatMap(Self.argument) {
                add(["explain"] + id, "tells what happened to the last who fell silent")
            }
        }
        if !alerts.allSatisfy({ $0["alertname"]?.text == "Watchdog" }) {
            add(["status"], "shows all alerts, and who took them")
        } else if status["last_batch_at"] == nil {
            add(["demo"], asks: false, "shows in two minutes what it does, with simulated phones")
        }
        add(["watch"], "shows how everything stands, live")
        return steps
    }

    /// `HighOfflineRate in north`.
    private static func name(_ alert: JSONTree) -> String {
        let region = alert["labels"]?["region"]?.shown.map { " in \($0)" } ?? ""
        return (alert["alertname"]?.shown ?? GapListing.missing) + region
    }

    /// A name as the words of a command that hand it over; nil if it cannot be shown as it is.
    private static func argument(_ name: String) -> [String]? {
        guard ConsoleText.safe(name) == name, !name.isEmpty else { return nil }
        return name.hasPrefix("-") ? ["--", ShellText.quoted(name)] : [ShellText.quoted(name)]
    }

    private static func lines(_ steps: [Step], _ style: ConsoleStyle) -> [String] {
        let margin = 2 + (steps.map { ConsoleText.columns($0.command) }.max() ?? 0) + 2
        // Beside each other only where the words have room.
        guard style.columns - margin >= wordsMin else {
            return steps.flatMap { step in
                ["  " + style.bold(step.command)]
                    + ConsoleText.wrapped(step.words, style.columns - 6).map { "      " + $0 }
            }
        }
        return steps.flatMap { step in
            ConsoleText.wrapped(step.words, style.columns - margin).enumerated().map {
                place, line in
                let head = ConsoleText.fitted(place == 0 ? step.command : "", margin - 4)
                return "  " + (place == 0 ? style.bold(head) : head) + "  " + line
            }
        }
    }
}
