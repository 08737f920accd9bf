import RollcallSupport

/// The words before the story and after it.
enum DemoGreeting {
    /// Returns what this is, and what to look at beside it.
    static func text(_ names: DemoNames, isEndless: Bool) -> String {
        let regions = DemoCast.regions.map { "\($0.0) \($0.1)" }.joined(separator: ", ")
        let people = DemoCast.regions.reduce(0) { $0 + $1.1 }
        return """
            A real Rollcall with \(people) simulated phones (\(regions)), which report every 2 s.
            Late after 4 s, OFFLINE after 8 s, a nudge after 20 s: by default 90 s, 3 min, 4 h.

            Look at it, beside this terminal:
              \(names.server)/
              curl -s \(names.server)/metrics | grep ^responders_by_status
              \(names.filled("{rollcall} gaps"))
              \(names.filled("{rollcall} explain \(DemoScenes.swiped)"))
              \(names.filled("{rollcall} nudges"))
            Play a phone yourself:
              curl -s \(names.server)/v1/batches -d '{"responder_id":"me","region":"north"}'

            "truth" is what really happens to a phone; Rollcall is not told. "rollcall" is what its
            API answers; page, chat and push are what it sent.\
            \(isEndless ? " Two minutes of script, then more. Ctrl-C ends it." : "")


            """
    }

    /// Returns what was seen, and how to go on.
    static func farewell(
        _ outcome: DemoDirector.Outcome, _ aggregates: FleetAggregates, _ names: DemoNames,
        storagePath: String?
    ) -> String {
        let minutes = outcome.seconds / 60
        let seconds = outcome.seconds % 60
        var lines = [
            "",
            "\(minutes):\(seconds < 10 ? "0" : "")\(seconds). \(aggregates.batches) batches, "
                + "\(GapListing.count(outcome.gaps, "gap")), "
                + "\(GapListing.count(outcome.verdicts, "verdict")).",
        ]
        if aggregates.retried > 0 {
            lines.append("\(GapListing.count(aggregates.retried, "request")) had to be sent again.")
        }
        if outcome.missing.isEmpty {
            lines.append("Rollcall said all \(outcome.seen) things that the script waited for.")
        } else {
            let all = outcome.seen + outcome.missing.count
            lines.append(
                "Of \(all) things that the script waited for, Rollcall did not say in time:")
            lines += outcome.missing.map { "  \($0.words)" }
        }
        if !outcome.isScriptOver { lines.append("The script was not at its end yet.") }
        if let storagePath {
            let path = ConsoleText.safe(storagePath)
            lines.append(
                "What happened is in \(path): \(names.program) serve --storage.path \(path)")
        }
        lines += [
            "Now with phones of your own: \(names.program) serve, and the README's \"A first batch\".",
            "",
        ]
        return lines.joined(separator: "\n")
    }
}
