import RollcallCore
import RollcallSupport

/// Reads what the command line says beside settings: the costs of things, what heals, and how phones
/// are told apart.
package enum TuneCosts {
    private static let names:
        [(name: String, path: any WritableKeyPath<TuneWeights, Double> & Sendable)] = [
            ("false_alarm", \.falseAlarm), ("page", \.page), ("late_minute", \.lateMinute),
            ("missed", \.missed),
        ]
    private static let costMax = 1_000_000.0

    /// The usual ones.
    package static var standard: String { text(TuneWeights()) }

    /// `false_alarm=1,page=5,late_minute=1,missed=60`.
    static func text(_ weights: TuneWeights) -> String {
        names.map { "\($0.name)=\(TuneNumber.plain(weights[keyPath: $0.path]))" }
            .joined(separator: ",")
    }

    /// The weights as JSON.
    static func json(_ weights: TuneWeights) -> JSONTree {
        .object(names.map { .init(name: $0.name, value: .number(weights[keyPath: $0.path])) })
    }

    /// Reads costs; what is not named keeps its usual value. Throws `TuneError.usage` if a name is
    /// unknown, or a cost no number from 0 to 1000000.
    package static func weights(_ text: String) throws(TuneError) -> TuneWeights {
        var weights = TuneWeights()
        for part in text.split(separator: ",") {
            let halves = part.split(separator: "=", maxSplits: 1)
            guard halves.count == 2, let found = names.first(where: { $0.name == halves[0] })
            else {
                throw .usage("--costs \(part): one of \(standard) expected")
            }
            guard let cost = Double(halves[1]), cost >= 0, cost <= costMax else {
                throw .usage("--costs \(part): must be a number from 0 to 1000000")
            }
            weights[keyPath: found.path] = cost
        }
        return weights
    }

    /// Reads the span of `--heals-within`. Throws `TuneError.usage` if it is none from 1 s to 1 d.
    package static func span(_ text: String) throws(TuneError) -> Milliseconds {
        guard let span = SettingText.duration(text),
            (1000...86_400_000).contains(span.count)
        else {
            throw .usage("--heals-within \(text): must be a duration such as 5m, from 1s to 1d")
        }
        return span
    }

    /// The words that `--by` takes.
    package static let phoneNames = PhoneName.allCases.map { "\($0.word)" }.joined(separator: ", ")

    /// Reads the name of `--by`. Throws `TuneError.usage` if it is none.
    package static func phoneName(_ text: String) throws(TuneError) -> PhoneName {
        guard let name = PhoneName.allCases.first(where: { "\($0.word)" == text }) else {
            throw .usage("--by \(text): one of \(phoneNames) expected")
        }
        return name
    }
}

/// Numbers as people read them.
enum TuneNumber {
    /// A number with so many digits behind the point.
    static func fixed(_ value: Double, _ digits: Int) -> String {
        let scale = (0..<digits).reduce(1.0) { power, _ in power * 10 }
        let whole = Int64(exactly: (value.magnitude * scale).rounded()) ?? .max
        let sign = value < 0 && whole > 0 ? "−" : ""
        guard digits > 0 else { return "\(sign)\(whole)" }
        let unit = Int64(scale)
        let rest = "\(whole % unit)"
        return "\(sign)\(whole / unit)." + String(repeating: "0", count: digits - rest.count) + rest
    }

    /// As many digits as matter.
    static func short(_ value: Double) -> String {
        if value == 0 { return "0" }
        return fixed(value, value.magnitude < 10 ? 2 : value.magnitude < 1000 ? 1 : 0)
    }

    /// Without a fraction that is none.
    static func plain(_ value: Double) -> String {
        value == value.rounded() ? fixed(value, 0) : "\(value)"
    }

    /// Seconds with a digit; `–` for nothing.
    static func seconds(_ span: Milliseconds?) -> String {
        span.map { fixed(Double($0.count) / 1000, 1) + "s" } ?? GapListing.missing
    }

    /// A share; `–` of nothing.
    static func share(_ part: Int, _ all: Int) -> String {
        all == 0 ? GapListing.missing : GapCounts.percent(Int64(part), Int64(all))
    }
}

extension TuneOutcome {
    /// Times OFFLINE of which the end is known.
    var evaluated: Int { counts.all.healed + counts.all.real }

    /// From the last contact to OFFLINE in a long gap, on average; nil without any.
    var meanDelay: Milliseconds? {
        stats.long == 0
            ? nil : Milliseconds(stats.undetected.count / Int64(stats.long))
    }

    /// By how much later than under the present settings, on average; nil without any.
    var meanLater: Milliseconds? {
        stats.both == 0 ? nil : Milliseconds(stats.later.count / Int64(stats.both))
    }

    /// Hours a day in which the silent were believed reachable.
    var believedHours: Double {
        days > 0 ? Double(stats.believed.count) / 3_600_000 / days : 0
    }
}
