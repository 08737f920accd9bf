import RollcallCore

/// One case of the rules' tests: series as scrapes bring them, and what fires then. Its time is in steps,
/// one scrape and one evaluation each.
struct RuleCase {
    /// The value of a series from some step on.
    enum Value {
        case number(Int)
        /// It grows by so much a step.
        case rising(Int, by: Int)
        /// The scrape failed, or is without the series.
        case gone
        /// Nothing was scraped yet.
        case absent
    }

    /// An alert as it fires.
    struct Firing: Equatable {
        let labels: [(name: String, value: String)]
        let annotations: [(name: String, value: String)]

        static func == (one: Firing, other: Firing) -> Bool { one.text == other.text }

        /// An alert of `rule` about what `labels` say, with its description and the view of its page.
        init(
            _ rule: AlertRule, _ labels: [(String, String)], _ description: String,
            page: String = "", summary: String? = nil
        ) {
            let own = Set(rule.annotations.map(\.name))
            var all = labels.map { (name: $0.0, value: $0.1) }
            if rule.isSuspected { all.append(("suspected", "true")) }
            // A label of the settings wins over one of a target's.
            let names = Set(rule.added.map(\.name))
            all = all.filter { !names.contains($0.name) }
            all.append(("severity", "\(rule.severity.word)"))
            self.labels = all + rule.added
            var said: [(name: String, value: String)] = [
                ("summary", summary ?? rule.summary), ("description", description),
                ("runbook_url", rule.runbook),
            ]
            if !page.isEmpty { said.append(("page_url", page)) }
            annotations = said.filter { !own.contains($0.name) } + rule.annotations
        }

        /// The lines of it in a list.
        var text: String {
            let pairs = labels.map { "\(RuleText.yaml($0.name)): \(RuleText.yaml($0.value))" }
            return "          - exp_labels: {\(pairs.joined(separator: ", "))}\n"
                + "            exp_annotations:\n"
                + annotations.map {
                    RuleText.yaml($0.value, after: RuleText.yaml($0.name), indent: 14)
                }.joined()
        }
    }

    /// Steps of one case at most, which are a day: `promtool` takes its time.
    static let stepsMax = 5760

    let name: String
    /// The lines of the series and of the questions, with the name of Rollcall's job.
    private var inputs: [(_ job: String) -> String] = []
    private var questions: [(_ job: String) -> String] = []
    private var checks: [(step: Int, alert: String, firing: [Firing])] = []
    /// The last step of which anything is asked.
    private(set) var end = 0

    /// A case without anything; `name` says what it shows.
    init(_ name: String) { self.name = name }

    // MARK: - What happens

    /// So many steps that an evaluation comes at or after the end of `span`.
    static func steps(_ span: Milliseconds) -> Int {
        let interval = RuleSettings.interval.count
        return Int((span.count + interval - 1) / interval)
    }

    /// Adds a comment before the next series.
    mutating func comment(_ text: String) {
        inputs.append { _ in RuleText.comment(text, indent: 6) }
    }

    /// Adds a series with its labels beside job and instance; each value holds from its step on, the last
    /// one to the end, `last`. Without `job` it is Rollcall's own.
    mutating func series(
        _ name: String, of labels: [(String, String)] = [], instance: String = "a",
        job: String? = nil, _ values: [(from: Int, Value)], last: Int
    ) {
        inputs.append { own in
            Self.input(
                name, [("job", job ?? own), ("instance", instance)] + labels, values, last: last)
        }
    }

    private static func input(
        _ name: String, _ pairs: [(String, String)], _ values: [(from: Int, Value)], last: Int
    ) -> String {
        let selected = pairs.map { "\($0.0)=\(RuleText.promQL($0.1))" }.joined(separator: ", ")
        let text = "\(name){\(selected)}"
        // What PromQL quotes, YAML must leave alone.
        let isPlain = text.utf8.allSatisfy {
            $0 < 0x80 && Unicode.Scalar($0).properties.isAlphabetic
                || "_{}=\", 0123456789-/.".utf8.contains($0)
        }
        let head = "      - series: \(isPlain ? text : RuleText.yaml(text))\n"
        var parts: [String] = []
        for (place, value) in values.enumerated() {
            let next = place + 1 < values.count ? values[place + 1].from : last + 1
            let count = next - value.from
            if count > 0 { parts.append(Self.text(value.1, count)) }
        }
        return head + "        values: \(parts.joined(separator: " "))\n"
    }

    private static func text(_ value: Value, _ count: Int) -> String {
        switch value {
        case .number(let number): count == 1 ? "\(number)" : "\(number)x\(count - 1)"
        case .rising(let start, let step): "\(start)+\(step)x\(count - 1)"
        case .gone: count == 1 ? "stale" : "stale _x\(count - 1)"
        case .absent: count == 1 ? "_" : "_x\(count)"
        }
    }

    // MARK: - What is asked

    /// Asks which alerts of a name fire at a step; before the beginning nothing is asked.
    mutating func at(_ step: Int, _ alert: String, _ firing: [Firing] = []) {
        guard step >= 0, !checks.contains(where: { $0.step == step && $0.alert == alert }) else {
            return
        }
        checks.append((step, alert, firing))
        end = max(end, step)
    }

    /// Asks what a recording rule says at a step.
    mutating func at(
        _ step: Int, record: String,
        _ samples: [(labels: [(String, String)], instance: String, value: String)]
    ) {
        questions.append { job in
            var text = "      - expr: \(record)\n        eval_time: \(Self.time(step))\n"
            text += samples.isEmpty ? "" : "        exp_samples:\n"
            for sample in samples {
                let pairs = [("job", job), ("instance", sample.instance)] + sample.labels
                let selected = pairs.map { "\($0.0)=\(RuleText.promQL($0.1))" }.joined(
                    separator: ", ")
                text += "          - labels: \(record){\(selected)}\n"
                text += "            value: \(sample.value)\n"
            }
            return text
        }
        end = max(end, step)
    }

    // MARK: - As text

    /// The time of a step: `2m45s`.
    static func time(_ step: Int) -> String {
        let seconds = step * Int(RuleSettings.interval.count / 1000)
        let parts = [(seconds / 3600, "h"), (seconds / 60 % 60, "m"), (seconds % 60, "s")]
        let text = parts.filter { $0.0 > 0 }.map { "\($0.0)\($0.1)" }.joined()
        return text.isEmpty ? "0s" : text
    }

    /// The case at a place in the list of tests. What fires twice is written once.
    func text(at place: Int, job: String) -> String {
        var text =
            "\n  - name: \(RuleText.yaml(name))\n    interval: 15s\n    input_series:\n"
            + inputs.map { $0(job) }.joined()
        if !questions.isEmpty {
            text += "    promql_expr_test:\n" + questions.map { $0(job) }.joined()
        }
        if !checks.isEmpty { text += "    alert_rule_test:\n" }
        var anchors: [String: Int] = [:]
        let lists = checks.map { $0.firing.map(\.text).joined() }
        for (check, list) in zip(checks, lists) {
            let head = "eval_time: \(Self.time(check.step))"
            if let anchor = anchors[list] {
                text +=
                    "      - {\(head), alertname: \(check.alert), exp_alerts: *fires\(place)-\(anchor)}\n"
            } else if check.firing.isEmpty {
                text += "      - {\(head), alertname: \(check.alert)}\n"
            } else {
                let isAgain = lists.count(where: { $0 == list }) > 1
                if isAgain { anchors[list] = anchors.count + 1 }
                let anchor = anchors[list].map { " &fires\(place)-\($0)" } ?? ""
                text += "      - \(head)\n        alertname: \(check.alert)\n"
                text += "        exp_alerts:\(anchor)\n" + list
            }
        }
        return text
    }
}
