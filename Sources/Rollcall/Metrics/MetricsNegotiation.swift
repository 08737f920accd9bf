import RollcallCore
import RollcallSupport

/// The choice of the text format that a scraper wants.
///
/// OpenMetrics goes to those who ask for it by name; text 0.0.4 to everybody else: browsers, curl,
/// `*/*`, no header, and headers that make no sense. Never 406: a scrape in the wrong language says
/// more than none. Source: Prometheus' and OpenMetrics' own pages on
/// content negotiation.
package enum MetricsNegotiation {
    /// The fields that the answer depends on, for its field `Vary`.
    package static let vary = "Accept, Accept-Encoding"

    /// The format for a field `Accept`; nil if there was none.
    ///
    /// The clause with the highest weight that names one of our formats wins, the first of equals.
    /// Wildcards name none. `charset` and `escaping` change nothing: our names and pages are the
    /// same under all of them.
    package static func format(accept: String?) -> Exposition.Format {
        var best: (format: Exposition.Format, weight: Int)?
        for clause in AcceptedType.all(accept) {
            guard clause.weight > 0, let format = format(of: clause) else { continue }
            if clause.weight > best?.weight ?? 0 { best = (format, clause.weight) }
        }
        return best?.format ?? .text
    }

    private static func format(of clause: AcceptedType) -> Exposition.Format? {
        switch (clause.type, clause.version) {
        case ("text/plain", nil), ("text/plain", "0.0.4"): .text
        // "If no version is requested, the server MUST default to the oldest", which is 1.0.0;
        // the drafts before it (0.0.1) are not spoken.
        case ("application/openmetrics-text", nil), ("application/openmetrics-text", "1.0.0"):
            .openMetrics
        default: nil
        }
    }
}
