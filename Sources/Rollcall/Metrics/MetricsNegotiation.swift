import RollcallBasis
import RollcallCore
import RollcallSupport
import Synchronization

/// The choice of the language that a scraper wants.
///
/// OpenMetrics goes to those who ask for it by name, and protobuf where the settings offer it; text 0.0.4 to
/// everybody else: browsers, curl, `*/*`, no header, and headers that make no sense. Never 406: a scrape
/// in the wrong language says more than none. Source: V22; Prometheus' and OpenMetrics' own pages on
/// content negotiation.
package final class MetricsNegotiation: Sendable {
    /// A language that the page is told in.
    package enum Language: Hashable, Sendable {
        /// One that the page is written in.
        case written(Exposition.Format)
        /// Messages, made of the page in OpenMetrics.
        case protobuf

        /// The format in which the page is written for it.
        var format: Exposition.Format {
            switch self {
            case .written(let format): format
            case .protobuf: .openMetrics
            }
        }
    }

    /// The fields that the answer depends on, for its field `Vary`.
    package static let vary = "Accept, Accept-Encoding"

    private let offersNatives: Atomic<Bool>

    /// A choice by the settings of the start.
    package init(_ settings: MetricsSettings = MetricsSettings()) {
        offersNatives = Atomic(settings.offersNativeHistograms)
    }

    /// Chooses by other settings from the next request on.
    package func follow(_ settings: MetricsSettings) {
        offersNatives.store(settings.offersNativeHistograms, ordering: .relaxed)
    }

    /// The language for a field `Accept`; nil if there was none.
    ///
    /// The clause with the highest weight that names one of ours wins, the first of equals.
    /// Wildcards name none. `charset` and `escaping` change nothing: our names and pages are the
    /// same under all of them.
    package func language(accept: String?) -> Language {
        var best: (language: Language, weight: Int)?
        for clause in AcceptedType.all(accept) {
            guard clause.weight > 0, let language = language(of: clause) else { continue }
            if clause.weight > best?.weight ?? 0 { best = (language, clause.weight) }
        }
        return best?.language ?? .written(.text)
    }

    private func language(of clause: AcceptedType) -> Language? {
        switch (clause.type, clause.parameters["version"]) {
        case ("text/plain", nil), ("text/plain", "0.0.4"): return .written(.text)
        // "If no version is requested, the server MUST default to the oldest", which is 1.0.0;
        // the drafts before it (0.0.1) are not spoken.
        case ("application/openmetrics-text", nil), ("application/openmetrics-text", "1.0.0"):
            return .written(.openMetrics)
        case (MetricMessages.type, _):
            // Of its encodings only one is spoken, and none is the usual one.
            let isOurs =
                clause.parameters["proto"] == MetricMessages.proto
                && clause.parameters["encoding"] == MetricMessages.encoding
            return isOurs && offersNatives.load(ordering: .relaxed) ? .protobuf : nil
        default: return nil
        }
    }
}
