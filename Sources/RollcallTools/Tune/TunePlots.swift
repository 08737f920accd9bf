import RollcallCore
import RollcallSupport

/// Plots of a result as SVG that stands in a page: colours are the page's.
struct TunePlots {
    private static let width = 400.0

    let result: TuneResult

    // MARK: - False alarms against delay

    /// A setting as a point.
    private struct Point {
        let place: Int
        let x: Double
        let y: Double
    }

    /// A range of values with round ends, and the steps between.
    private struct Scale {
        let low: Double
        let high: Double
        let step: Double

        init(_ values: [Double]) {
            let least = values.min() ?? 0
            let most = max(values.max() ?? 0, least)
            let span = max(most - least, max(most.magnitude * 0.05, 0.5))
            var step = 1.0
            while span / step > 5 { step *= step.significandDecimalStep }
            while span / step < 2 { step /= 2 }
            self.step = step
            low = max(0, ((least - span * 0.08) / step).rounded(.down) * step)
            high = ((most + span * 0.08) / step).rounded(.up) * step
        }

        var ticks: [Double] {
            (0...20).map { low + Double($0) * step }.filter { $0 <= high + step / 1000 }
        }

        func share(_ value: Double) -> Double { (value - low) / (high - low) }
    }

    /// Every setting by its delay and its false alarms; those that change neither are left out.
    var tradeOff: String {
        let all = result.outcomes.indices.map { place in
            let outcome = result.outcomes[place]
            return Point(
                place: place, x: Double(outcome.meanDelay?.count ?? 0) / 1000,
                y: outcome.daily(outcome.counts.all.healed))
        }
        let points = all.filter { $0.place == 0 || $0.x != all[0].x || $0.y != all[0].y }
        let (left, right, top, bottom) = (46.0, 382.0, 14.0, 262.0)
        let (across, down) = (Scale(points.map(\.x)), Scale(points.map(\.y)))
        func x(_ value: Double) -> Double { left + across.share(value) * (right - left) }
        func y(_ value: Double) -> Double { bottom - down.share(value) * (bottom - top) }
        var svg = Self.begin(
            height: 300, "False alarms a day against the mean delay of long gaps")
        for tick in across.ticks {
            svg += Self.line(x(tick), top, x(tick), bottom, "grid")
            svg += Self.text(
                x(tick), bottom + 15, TuneNumber.axis(tick, across.step) + "s", "middle")
        }
        for tick in down.ticks {
            svg += Self.line(left, y(tick), right, y(tick), "grid")
            svg += Self.text(left - 5, y(tick) + 4, TuneNumber.axis(tick, down.step), "end")
        }
        svg += Self.text((left + right) / 2, 294, "mean delay of long gaps", "middle", "name")
        svg += "<text class=\"name\" text-anchor=\"middle\" transform=\"translate(11 "
        svg += "\(Self.n((top + bottom) / 2))) rotate(-90)\">false alarms a day</text>"
        let taken = Set(advised)
        // The present one last, so that nothing hides it.
        for point in points.reversed() {
            let kind = point.place == 0 ? "now" : taken.contains(point.place) ? "take" : "dot"
            svg += "<g class=\"\(kind)\"><title>\(Self.escaped(title(point.place)))</title>"
            svg += "<circle cx=\"\(Self.n(x(point.x)))\" cy=\"\(Self.n(y(point.y)))\" r=\"9\"/>"
            svg += Self.text(x(point.x), y(point.y) + 3.5, "\(point.place)", "middle", "mark")
            svg += "</g>"
        }
        return svg + "</svg>"
    }

    /// The places of what is advised.
    var advised: [Int] {
        result.advice.compactMap { if case .take(let place, _) = $0 { place } else { nil } }
    }

    private func title(_ place: Int) -> String {
        let outcome = result.outcomes[place]
        return result.sweep.candidates[place].text + ": "
            + TuneNumber.short(outcome.daily(outcome.counts.all.healed)) + " false alarms a day, "
            + TuneNumber.seconds(outcome.meanDelay) + " mean delay"
    }

    // MARK: - An axis

    /// A bar that is drawn of a setting on an axis.
    private struct Bar {
        let name: String
        let color: String
        let value: (TuneOutcome) -> Double
        let text: (TuneOutcome) -> String
    }

    /// Two bars for each value of an axis, the present one first.
    func bars(_ axis: TuneAxis) -> String {
        let bars = Self.bars(of: axis)
        let places = [0] + axis.places
        let height = 22 + places.count * (bars.count * 15 + 12)
        var svg = Self.begin(height: Double(height), "What the values of \(axis.title) bring")
        var x = 92.0
        for bar in bars {
            svg +=
                "<rect class=\"\(bar.color)\" x=\"\(Self.n(x))\" y=\"2\" width=\"9\" height=\"9\"/>"
            svg += Self.text(x + 13, 11, bar.name, "start")
            x += 150
        }
        let most = bars.map { bar in places.map { bar.value(result.outcomes[$0]) }.max() ?? 0 }
        var y = 22.0
        let taken = Set(advised)
        for place in places {
            let values =
                place == 0 ? axis.present : result.sweep.candidates[place].changes.map(\.value)
            let label = values.joined(separator: " ")
            let mark = place == 0 ? "now" : taken.contains(place) ? "take" : ""
            svg += Self.text(
                86, y + Double(bars.count) * 7.5 + 3, label.count > 14 ? "\(place)" : label, "end",
                "value \(mark)")
            for (index, bar) in bars.enumerated() {
                let outcome = result.outcomes[place]
                let width = most[index] > 0 ? 225 * bar.value(outcome) / most[index] : 0
                svg += "<rect class=\"\(bar.color)\" x=\"92\" y=\"\(Self.n(y))\" "
                svg += "width=\"\(Self.n(max(width, 0.5)))\" height=\"12\" rx=\"2\"/>"
                svg += Self.text(92 + max(width, 0.5) + 4, y + 10, bar.text(outcome), "start")
                y += 15
            }
            y += 12
        }
        return svg + "</svg>"
    }

    private static func bars(of axis: TuneAxis) -> [Bar] {
        func daily(
            _ name: String, _ color: String, _ count: @escaping (TuneOutcome) -> Int
        ) -> Bar {
            Bar(
                name: name, color: color, value: { $0.daily(count($0)) },
                text: { TuneNumber.short($0.daily(count($0))) })
        }
        if axis.keys.allSatisfy({ $0.hasPrefix("nudges.") }) {
            return [daily("nudges a day", "one") { $0.counts.nudges }]
        }
        if axis.keys.allSatisfy({ $0.hasPrefix("alerts.") }) {
            return [
                daily("pages a day", "one") { $0.counts.allNotifications.fired },
                Bar(
                    name: "lasting pages missed", color: "two",
                    value: { Double($0.stats.missedNotifications) },
                    text: { "\($0.stats.missedNotifications)" }
                ),
            ]
        }
        if axis.keys.allSatisfy({ $0.hasSuffix(".degraded_after") }) {
            return [
                daily("DEGRADED a day", "one") { $0.counts.all.degraded },
                Bar(
                    name: "hours believed reachable", color: "two",
                    value: { $0.believedHours }, text: { TuneNumber.short($0.believedHours) }),
            ]
        }
        return [
            daily("false alarms a day", "one") { $0.counts.all.healed },
            Bar(
                name: "mean delay", color: "two", value: { Double($0.meanDelay?.count ?? 0) },
                text: { TuneNumber.seconds($0.meanDelay) }),
        ]
    }

    // MARK: - Pieces

    private static func begin(height: Double, _ label: String) -> String {
        "<svg viewBox=\"0 0 \(n(width)) \(n(height))\" role=\"img\" "
            + "aria-label=\"\(escaped(label))\">"
    }

    private static func line(
        _ x1: Double, _ y1: Double, _ x2: Double, _ y2: Double, _ kind: String
    ) -> String {
        "<line class=\"\(kind)\" x1=\"\(n(x1))\" y1=\"\(n(y1))\" x2=\"\(n(x2))\" y2=\"\(n(y2))\"/>"
    }

    private static func text(
        _ x: Double, _ y: Double, _ text: String, _ anchor: String, _ kind: String = "label"
    ) -> String {
        "<text class=\"\(kind)\" x=\"\(n(x))\" y=\"\(n(y))\" text-anchor=\"\(anchor)\">"
            + "\(escaped(text))</text>"
    }

    /// A coordinate.
    private static func n(_ value: Double) -> String {
        let text = TuneNumber.fixed(value.isFinite ? value : 0, 1)
        return text.first == "−" ? "-" + text.dropFirst() : text
    }

    /// Text that HTML shows as it is.
    static func escaped(_ text: String) -> String {
        var safe = ""
        for character in ConsoleText.safe(text) {
            switch character {
            case "&": safe += "&amp;"
            case "<": safe += "&lt;"
            case ">": safe += "&gt;"
            case "\"": safe += "&quot;"
            case "'": safe += "&#39;"
            default: safe.append(character)
            }
        }
        return safe
    }
}

extension Double {
    /// From 1 to 2 to 5 to 10: what a step of an axis is multiplied by to become the next.
    fileprivate var significandDecimalStep: Double {
        var leading = self
        while leading >= 10 { leading /= 10 }
        while leading < 1 { leading *= 10 }
        return leading.rounded() == 2 ? 2.5 : 2
    }
}

extension TuneNumber {
    /// A value on an axis of such steps.
    static func axis(_ value: Double, _ step: Double) -> String {
        fixed(value, step >= 1 ? 0 : step >= 0.1 ? 1 : 2)
    }
}
