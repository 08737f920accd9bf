import RollcallCore

/// The outlook of an open gap in words. Source: P7.
package enum OutlookWording {
    /// Returns a sentence each on the usual time and on the odds of a gap as the server tells of it;
    /// nil if it says neither.
    package static func sentences(_ gap: JSONTree) -> String? {
        let all = [usualReturn(gap["usual_return"]), odds(gap["odds"])].compactMap(\.self)
        return all.isEmpty ? nil : all.joined(separator: " ")
    }

    private static func usualReturn(_ usual: JSONTree?) -> String? {
        guard let median = usual?["median_seconds"]?.seconds, let gaps = usual?["gaps"]?.whole
        else { return nil }
        let whose = usual?["of"]?.text == "responder" ? "their own" : "like phones'"
        return "Half of \(whose) \(gaps) such gaps were over after \(ConsoleStyle.span(median))."
    }

    private static func odds(_ odds: JSONTree?) -> String? {
        guard let gaps = odds?["gaps"]?.whole, let verdicts = odds?["verdicts"]?.members,
            !verdicts.isEmpty
        else { return nil }
        let place =
            switch odds?["of"]?.text {
            case "manufacturer": " on like phones"
            case "platform": " on this platform"
            default: ""
            }
        let shares = verdicts.enumerated().compactMap { order, verdict in
            verdict.value.whole.map {
                "\($0) \(order == 0 ? "were " : "")\(ConsoleText.safe(verdict.name))"
            }
        }
        return "Of \(gaps) such gaps\(place) \(shares.joined(separator: ", "))."
    }
}
