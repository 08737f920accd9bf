import RollcallTools

/// The tables and figures of a truth campaign, as text.
struct TruthReport {
    /// What the contract wants of first suspicions and of verdicts, in hundredths of a percent.
    static let suspicionsMin = 9000
    static let verdictsMin = 9500

    /// What we want of first suspicions with `gaps.learn`, of all of them.
    static let learnedMin = 7500

    /// What we want of each cause by itself, where at least `causeLeast` could be known: a rule that is
    /// never applied to a rare cause hardly moves the sums.
    static let causeMin = 6000
    static let causeLeast = 10

    private static let suspicionWords = [
        "permission_denied", "location_services_off", "no_network", "battery_empty", "low_power",
        "mass_gap", "app_suspended", "app_terminated", "never_heard", "unexplained",
    ]
    private static let verdictWords = [
        "reinstalled", "permission_denied", "location_services_off", "network", "app_stopped",
        "duty_ended", "unexplained",
    ]

    let aggregates: TruthAggregates
    /// Fleets that the engine had learned from.
    let fleetsLearned: Int

    /// True if both targets are met and nothing happened that must not.
    var isGood: Bool {
        let suspicions = aggregates.suspicions.all
        let verdicts = aggregates.verdicts.all
        // A table without rows proves nothing.
        return aggregates.faults.isEmpty && weak.isEmpty && suspicions.right > 0
            && verdicts.right > 0
            && suspicions.rightPart >= Self.suspicionsMin
            && verdicts.rightPart >= Self.verdictsMin && isLearningWorthIt
    }

    /// True if odds say more than the bare suspicion, and what is learned is right more often (P7).
    private var isLearningWorthIt: Bool {
        aggregates.odds.count > 0 && aggregates.odds.ofOdds < aggregates.odds.ofSuspicion
            && aggregates.learned.rightOfAll >= Self.learnedMin
            && aggregates.learned.rightOfAll > aggregates.suspicions.all.rightOfAll
    }

    /// The causes that are too seldom recognised, in words.
    private var weak: [String] {
        let tables = [("suspicion", aggregates.suspicions), ("verdict", aggregates.verdicts)]
        return tables.flatMap { name, table in
            FleetCause.allCases.compactMap { cause in
                guard let grades = table.grades[cause],
                    grades.right + grades.wrong >= Self.causeLeast,
                    grades.rightPart < Self.causeMin
                else { return nil }
                return "\(cause.rawValue): \(name) right in only \(percent(grades.rightPart))"
            }
        }
    }

    /// Everything there is to say.
    func text() -> String {
        var text = "first suspicion of silences that reached OFFLINE, by true cause\n"
        text += table(aggregates.suspicions, Self.suspicionWords)
        text += "\nverdict, by true cause\n" + table(aggregates.verdicts, Self.verdictWords)
        text += "\nwrong suspicions: \(listed(aggregates.suspicions.wrong))\n"
        text += "wrong verdicts: \(listed(aggregates.verdicts.wrong))\n\n"
        let short = aggregates.withoutGap.values.reduce(0, +)
        let told = aggregates.withoutGap.filter(\.key.isReportedAbsence).values.reduce(0, +)
        text +=
            "\(aggregates.lines) lines, \(aggregates.episodes) silences, \(aggregates.gaps) gaps\n"
        text += "silences without a gap: \(short), of which \(told) were told beforehand "
        text += "and \(short - told) were too short\n"
        text += "further gaps of a silence: \(aggregates.furtherGaps)\n"
        text += "gaps without OFFLINE: \(aggregates.mereLateness) in silences and "
        text += "\(aggregates.withoutEpisode) by late reports\n"
        for fault in aggregates.faults.prefix(10) + weak { text += "FAULT \(fault)\n" }
        text += figure("first suspicion", aggregates.suspicions.all, Self.suspicionsMin)
        text += figure("suspicion at OFFLINE", aggregates.atOffline, nil)
        text += figure("verdict", aggregates.verdicts.all, Self.verdictsMin)
        return text + learning()
    }

    /// What the odds were worth, and the suspicions that are learned.
    private func learning() -> String {
        let odds = aggregates.odds
        var text = "odds after \(fleetsLearned) other fleets: Brier score \(score(odds.ofOdds)), "
        text += "of the bare suspicion \(score(odds.ofSuspicion)), over \(odds.count) verdicts\n"
        let learned = aggregates.learned
        let isMet = learned.rightOfAll >= Self.learnedMin ? "yes" : "NO"
        text += figure("first suspicion with gaps.learn", learned, nil)
        text += figure("suspicion at OFFLINE with gaps.learn", aggregates.learnedAtOffline, nil)
        text += "first suspicion of all: \(percent(aggregates.suspicions.all.rightOfAll)), with "
        text += "gaps.learn \(percent(learned.rightOfAll)) "
        return text + "(at least \(percent(Self.learnedMin)): \(isMet))\n"
    }

    private func score(_ score: Double) -> String {
        let thousandths = Int((score * 1000).rounded())
        let digits = String(thousandths % 1000)
        return "\(thousandths / 1000)." + String(repeating: "0", count: 3 - digits.count) + digits
    }

    private func figure(_ name: String, _ grades: TruthAggregates.Grades, _ least: Int?) -> String {
        var text = "\(name): right in \(percent(grades.rightPart))"
        text += " of the \(grades.right + grades.wrong) that could be known"
        if let least {
            text += " (at least \(percent(least)): \(grades.rightPart >= least ? "yes" : "NO"))"
        }
        return text + ", in \(percent(grades.rightOfAll)) of all\n"
    }

    private func percent(_ hundredths: Int) -> String {
        "\(hundredths / 100).\(hundredths / 10 % 10) %"
    }

    private func listed(_ wrong: [String: Int]) -> String {
        let sorted = wrong.sorted { ($1.value, $0.key) < ($0.value, $1.key) }
        return sorted.isEmpty
            ? "none" : sorted.map { "\($0.value) \($0.key)" }.joined(separator: "; ")
    }

    // MARK: - Tables

    /// Rows are causes; the last columns tell what the words were worth.
    private func table(_ table: TruthAggregates.Table, _ words: [String]) -> String {
        let strange = Set(table.counts.values.flatMap(\.keys)).subtracting(words).sorted()
        let columns = words + strange
        var rows = [[""] + columns + ["right", "unknowable", "wrong"]]
        for cause in FleetCause.allCases {
            guard let counts = table.counts[cause], let grades = table.grades[cause] else {
                continue
            }
            rows.append(
                [cause.rawValue]
                    + columns.map { word in counts[word].map { String($0) } ?? "." }
                    + [grades.right, grades.unknowable, grades.wrong].map { String($0) })
        }
        let widths = rows[0].indices.map { column in
            rows.map { $0[column].count }.max() ?? 0
        }
        return rows.map { row in
            var line = row[0] + String(repeating: " ", count: widths[0] - row[0].count)
            for (cell, width) in zip(row.dropFirst(), widths.dropFirst()) {
                line += "  " + String(repeating: " ", count: width - cell.count) + cell
            }
            return line + "\n"
        }.joined()
    }
}
