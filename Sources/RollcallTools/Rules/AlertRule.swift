import RollcallCore

/// One alert of the rules file.
struct AlertRule {
    let name: String
    /// Comments, a paragraph each.
    var comments: [String] = []
    /// The lines of its expression.
    var expression: [String]
    var pendingFor = Milliseconds(0)
    var keepFiringFor = Milliseconds(0)
    var severity: Severity
    /// A label of its identity, which the expression does not have.
    var isSuspected = false
    /// True if the rule says that it has no label `source`. An empty one is none to Prometheus, but two rules
    /// that have all other labels in common are one rule to `promtool`.
    var isWithoutSource = false
    /// Labels of the settings.
    var added: [(name: String, value: String)] = []
    /// A template of one line.
    var summary: String
    /// One of several, which YAML folds; of one it stands as it is.
    var description: [String]
    /// Annotations of the settings.
    var annotations: [(name: String, value: String)] = []
    /// A view of Rollcall's page, with its address; empty for none.
    var page: String
    /// The address of its runbook.
    var runbook: String

    /// An alert about Rollcall that no setting changes.
    init(
        _ name: String, _ comment: String, _ expression: [String],
        pendingFor: Milliseconds = Milliseconds(0), severity: Severity = .critical,
        summary: String, description: [String], page: String
    ) {
        self.name = name
        comments = comment.isEmpty ? [] : [comment]
        self.expression = expression
        self.pendingFor = pendingFor
        self.severity = severity
        self.summary = summary
        self.description = description
        self.page = page
        runbook = "runbooks/\(name).md"
    }

    /// One of Rollcall's own, as its settings have it.
    init(
        _ name: AlertName, _ rule: AlertRules.Rule, severity: Severity? = nil, _ comments: [String],
        _ expression: [String], summary: String, description: [String], page: String
    ) {
        self.init(
            "\(name.word)", "", expression, pendingFor: rule.pendingFor,
            severity: severity ?? rule.severity, summary: summary, description: description,
            page: page)
        keepFiringFor = rule.keepFiringFor
        added = RuleSettings.added(rule)
        annotations = RuleSettings.texts(rule.annotations)
        self.comments = comments
        let left = RuleSettings.left(rule)
        if !left.isEmpty {
            self.comments.append(
                "Without the label \(left.joined(separator: ", ")) of the settings: here it says which "
                    + "Rollcall it is.")
        }
    }

    /// The end of the first half of an expression about what the fleet cell decides: a cell has a part of
    /// the people, and decides nothing about many. Source: K2.
    static let notOfCells = "  unless on (job, instance) rollcall_cell_role{role=\"cell\"}"

    /// The second half of an expression: what fired goes on firing, with the value -1, while `condition`
    /// holds. The series of ALERTS are `selected`.
    static func held(
        _ name: AlertName, _ rule: AlertRules.Rule, selected: String = "",
        without more: [String] = [], while condition: String = "instance:rollcall_not_watching:up"
    ) -> [String] {
        // To PromQL these two are numbers. An alert has one value of a label of the settings in any case.
        let added = RuleSettings.added(rule).map(\.name).filter {
            !["inf", "nan"].contains($0.lowercased())
        }
        let names = ["alertname", "alertstate", "severity"] + more + added
        return [
            "or", "  -max without (\(names.joined(separator: ", ")))",
            "    (ALERTS{alertname=\"\(name.word)\", alertstate=\"firing\"\(selected)})",
            "  and on (job, instance) \(condition)",
        ]
    }

    // MARK: - As text

    /// The rule in its group.
    var text: String {
        var text = RuleText.comments(comments, indent: 6) + "      - alert: \(name)\n"
        if expression.count == 1 {
            text += "        expr: \(expression[0])\n"
        } else {
            text += "        expr: |\n" + expression.map { "          \($0)\n" }.joined()
        }
        if pendingFor.count > 0 { text += "        for: \(RuleText.duration(pendingFor))\n" }
        if keepFiringFor.count > 0 {
            text += "        keep_firing_for: \(RuleText.duration(keepFiringFor))\n"
        }
        return text + labelLines + "        annotations:\n" + annotationLines
    }

    private var labelLines: String {
        let own =
            ["severity: \(severity.word)"] + (isSuspected ? ["suspected: \"true\""] : [])
            + (isWithoutSource ? ["source: \"\""] : [])
        if added.isEmpty { return "        labels: {\(own.joined(separator: ", "))}\n" }
        return "        labels:\n"
            + (own + added.map(Self.pair)).map { "          \($0)\n" }.joined()
    }

    private var annotationLines: String {
        let own = Set(annotations.map(\.name))
        var text = ""
        if !own.contains("summary") { text += "          summary: \(summary)\n" }
        if !own.contains("description") {
            text +=
                description.count == 1
                ? "          description: \(description[0])\n"
                : "          description: >-\n"
                    + RuleText.folded(description.joined(separator: " "), indent: 12)
        }
        if !own.contains("runbook_url") {
            text += "          runbook_url: \(RuleText.template(runbook))\n"
        }
        if !own.contains("page_url"), !page.isEmpty { text += "          page_url: \(page)\n" }
        for annotation in annotations { text += "          \(Self.pair(annotation))\n" }
        return text
    }

    /// A name with a text that is no template.
    private static func pair(_ pair: (name: String, value: String)) -> String {
        "\(RuleText.yaml(pair.name)): \(RuleText.yaml(RuleText.template(pair.value)))"
    }
}
