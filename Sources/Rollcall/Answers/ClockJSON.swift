import RollcallCore
import RollcallSupport

/// The sources whose clocks are off, or whose times lag, each with a plain sentence. Source: D10.
enum ClockJSON {
    /// A state beside those of the engine: nobody can tell whether it is the clock.
    static let late: StaticString = "late"

    /// The list, by what is known: first who says when it sends.
    static func list(_ engine: Engine, _ edge: EdgeStats) -> JSONTree {
        let skewed = engine.sight.feed.skews.sources.filter { $0.state != .right }.map(row)
        let late = edge.clocks.lags.filter { $0.span > SourceClocks.lateBeyond }.map(row)
        return .list(skewed + late)
    }

    private static func row(_ source: SourceSkews.Source) -> JSONTree {
        [
            "source": AlertJSON.text(source.name), "state": AlertJSON.word(source.state.word),
            "skew_seconds": seconds(source.measured),
            "correction_seconds": seconds(source.correction),
            "text": .text("source \(NotificationWords.text(source.name)): \(words(source))"),
        ]
    }

    private static func row(_ late: SourceClocks.Measure) -> JSONTree {
        [
            "source": AlertJSON.text(late.source), "state": AlertJSON.word(self.late),
            "lag_seconds": seconds(late.span),
            "text": .text(
                "times from \(NotificationWords.text(late.source)) arrive at least \(span(late.span)) late: "
                    + "either its clock is behind or it forwards late; send `sent_at` to tell them "
                    + "apart"),
        ]
    }

    private static func words(_ source: SourceSkews.Source) -> String {
        let skew = source.state == .corrected ? source.correction : source.measured
        let off = "\(span(skew)) \(skew.count > 0 ? "behind" : "ahead of")"
        return switch source.state {
        case .corrected: "its clock is \(off) ours; its times are corrected"
        case .tooFar: "its clock is \(off) ours, too far to correct its times: set the clock"
        case .unsure, .right, .unmeasured:
            "its clock seems to be \(off) ours; its times are corrected once two minutes agree"
        }
    }

    private static func seconds(_ span: Milliseconds) -> JSONTree {
        .number(Double(span.count) / 1000)
    }

    /// A span to be read: `2.4 s`, `31 s`, `12 min`, `5 h`.
    private static func span(_ span: Milliseconds) -> String {
        let count = Int64(clamping: span.count.magnitude)
        if count < 10_000 { return "\(Double(count / 100) / 10) s" }
        if count < 120_000 { return "\(count / 1000) s" }
        return count < 7_200_000 ? "\(count / 60_000) min" : "\(count / 3_600_000) h"
    }
}
