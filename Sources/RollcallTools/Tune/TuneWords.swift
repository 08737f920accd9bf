import RollcallCore
import RollcallSupport

/// The meaning of a result, in sentences.
struct TuneWords {
    let result: TuneResult

    private var heals: String { ConsoleStyle.span(result.healsWithin) }

    // MARK: - Definitions

    /// The definitions of the numbers, one sentence each.
    var definitions: [(name: String, meaning: String)] {
        [
            ("a day", "24 hours of time that was watched; what was not is left out."),
            (
                "DEGRADED, OFFLINE",
                "How often somebody's status became that, whoever saw it first."
            ),
            (
                "false alarm",
                "An OFFLINE that healed by itself: the person was heard again within \(heals)."
            ),
            (
                "share",
                "False alarms among the times OFFLINE whose end is known; the others went on for "
                    + "longer, or ended with the duty."
            ),
            (
                "long gap",
                "No contact for more than \(heals), found by the present settings: the same "
                    + "gaps for every setting."
            ),
            (
                "delay",
                "From the last contact to OFFLINE in a long gap, on average; of one that was "
                    + "missed, up to its end."
            ),
            ("missed", "Long gaps that never became OFFLINE."),
            (
                "p50, p90, p99, longest",
                "The delay that so many of a setting's own OFFLINE did not exceed, false alarms "
                    + "left out."
            ),
            (
                "pages",
                "Alerts that began to fire; a short one was over within \(heals), a missed one "
                    + "lasted longer under the present settings and never fires."
            ),
            (
                "believed reachable",
                "Person-hours out of contact beyond the present degraded threshold that were shown as "
                    + "neither DEGRADED nor OFFLINE."
            ),
            (
                "back after",
                "The usual time from the last contact to the next one, of those who were OFFLINE "
                    + "and were heard again; told from 20 of them on. By phone, OFFLINE counts the "
                    + "times whose end is known."
            ),
            (
                "cost",
                "In units of one false alarm, a day: \(TuneCosts.text(result.weights)). A page "
                    + "counts if it is short, and for each minute by which it comes later than now."
            ),
        ]
    }

    // MARK: - Phones

    /// The word of the name by which phones are told apart, for people.
    var phoneWord: String {
        "\(result.phoneName.word)".split(separator: "_").joined(separator: " ")
    }

    /// The rows of the phones of one setting: the name, and times OFFLINE a day whose end is known,
    /// false alarms a day, their share, and the usual time to return.
    func phones(_ outcome: TuneOutcome) -> [[String]] {
        outcome.counts.phonesByName.map { name, phone in
            let text = name.map {
                $0.isEmpty ? "not told" : ConsoleText.safe(String(decoding: $0, as: UTF8.self))
            }
            return [
                text ?? "all others", TuneNumber.short(outcome.daily(phone.evaluated)),
                TuneNumber.short(outcome.daily(phone.healed)),
                TuneNumber.share(phone.healed, phone.evaluated),
                TuneNumber.seconds(phone.usualReturn),
            ]
        }
    }

    static let phoneHeadings = ["OFFLINE", "false", "share", "back after"]

    // MARK: - What was seen

    /// Sentences on what the history is, and what of it nobody saw.
    var history: [String] {
        let hidden = result.unobserved
        let share = result.span.count > 0 ? Double(hidden.count) / Double(result.span.count) : 0
        let present = result.outcomes[0]
        var lines = [
            "\(result.events) events over \(ConsoleStyle.span(result.span)), of which "
                + "\(ConsoleStyle.span(result.observed)) were watched; "
                + (hidden.count == 0
                    ? "nothing was unobserved."
                    : "\(ConsoleStyle.span(hidden)) (\(TuneNumber.fixed(share * 100, 1)) %) were "
                        + "not and count nowhere.")
        ]
        if present.counts.unseen + present.stats.unseen > 0 {
            lines.append(
                "Left out because we could not see for a part of them: \(present.counts.unseen) "
                    + "times OFFLINE, \(present.stats.unseen) gaps.")
        }
        if present.counts.censored > 0 {
            lines.append(
                "\(present.counts.censored) times OFFLINE began less than \(heals) before the end: "
                    + "what became of them is not known.")
        }
        if !result.isFixed, result.policyChanges > 0 {
            lines.append(
                "The settings changed meanwhile (\(result.policyChanges) times): present means as they "
                    + "were at each time.")
        }
        return lines
    }

    /// Sentences on what no history can tell.
    static let limits = [
        "Nobody knows whether somebody needed the person during a gap, nor whether a page was of "
            + "use to who got it.",
        "What people did because of a page or a nudge stays as it was: other settings would have had "
            + "other consequences.",
        "Whether a nudge helped is not judged here, so their settings are counted and nothing is "
            + "advised.",
        "A gap that is shorter than the present degraded threshold is not in the yardstick.",
    ]

    // MARK: - Advice

    /// Returns what to do about an axis, and why.
    func sentence(_ axis: TuneAxis, _ advice: TuneAdvice) -> String {
        switch advice {
        case .take(let place, let saves):
            return
                "Take \(result.sweep.candidates[place].text): \(difference(place)); the cost falls "
                + "by \(percent(saves)), and nothing that is found now is missed."
        case .keep(let reason): return "Keep \(present(axis)): \(why(reason))."
        }
    }

    private func present(_ axis: TuneAxis) -> String {
        zip(axis.keys, axis.present).map { "\($0.0)=\($0.1)" }.joined(separator: " ")
    }

    private func why(_ reason: TuneKeep) -> String {
        switch reason {
        case .short(let observed):
            "the history is too short, \(ConsoleStyle.span(observed)) watched of at least "
                + ConsoleStyle.span(TuneAdvice.observedMin)
        case .few(let events):
            "too little happened, \(events) false alarms, long gaps and pages of at least "
                + "\(TuneAdvice.eventsMin)"
        case .best: "nothing that was tried costs less"
        case .small(let saves):
            saves == 0
                ? "nothing that was tried changes anything"
                : "the best other value would save \(percent(saves)) of the cost"
        case .refused(let place, let objection):
            "\(result.sweep.candidates[place].text) would cost less, but \(words(objection))"
        case .unjudged: "nothing that is counted tells which value is better"
        }
    }

    /// Returns why a setting is never advised.
    func words(_ objection: TuneObjection) -> String {
        switch objection {
        case .misfit: "does not fit settings that the history brings later"
        case .misses(let count):
            "misses \(count) long \(count == 1 ? "gap" : "gaps") more than now"
        case .missesNotifications(let count):
            "misses \(count) \(count == 1 ? "page" : "pages") that lasted"
        case .slow(let span):
            "somebody on duty could be silent for \(SettingText.of(span, between: " ")) before they "
                + "are OFFLINE; it should be no more than "
                + SettingText.of(TuneAdvice.onDutyMax, between: " ")
        case .rings(let times):
            "alerts would fire for \(TuneNumber.fixed(times, 1)) times as long, and who is always "
                + "paged is told nothing new"
        }
    }

    /// Returns what a setting brings and costs against the present one.
    func difference(_ place: Int) -> String {
        let (now, then) = (result.outcomes[0], result.outcomes[place])
        var parts: [String] = []
        let alarms = then.daily(then.counts.all.healed) - now.daily(now.counts.all.healed)
        parts.append(more(alarms, "false alarms a day"))
        let notifications =
            then.daily(then.counts.allNotifications.fired)
            - now.daily(now.counts.allNotifications.fired)
        if notifications != 0 { parts.append(more(notifications, "pages a day")) }
        if let later = then.meanLater, later.count != 0 {
            let span = TuneNumber.seconds(Milliseconds(abs(later.count)))
            parts.append("long gaps found \(span) \(later.count > 0 ? "later" : "sooner")")
        }
        return parts.joined(separator: ", ")
    }

    private func more(_ difference: Double, _ what: String) -> String {
        if difference == 0 { return "as many \(what)" }
        let number = TuneNumber.short(difference.magnitude)
        return "\(number) \(difference < 0 ? "fewer" : "more") \(what)"
    }

    private func percent(_ share: Double) -> String {
        share < 0.01 ? "less than 1 %" : "\(TuneNumber.fixed(share * 100, 0)) %"
    }

    /// The rule behind all advice.
    static let rule =
        "On each axis the value that costs least is advised, if it saves at least 5 % of the cost, "
        + "misses no long gap and no lasting page that the present one finds, lets alerts fire for "
        + "no more than 1.5 times as long, and nobody on duty can be silent for more than 180 s "
        + "before they are OFFLINE (or for longer than now)."

    /// A sentence on what to do with several changes; nil with less than two.
    var togetherNote: String? {
        let sets = result.changes.map { "--set \($0.key)=\($0.value)" }
        guard result.advice.filter({ if case .take = $0 { true } else { false } }).count > 1 else {
            return nil
        }
        return "Each was tried by itself. Try them together: rollcall tune FILE "
            + sets.joined(separator: " ") + " --grid"
    }
}
