import Glibc
import RollcallCore
import RollcallSupport

/// The progress of a long job, on standard error: one line that is written over on a terminal, else
/// a line now and then. Nothing for a job that is done before the first is due.
package struct ProgressLine {
    /// Between two drawings on a terminal, and elsewhere.
    static let pauses = (terminal: Milliseconds(200), log: Milliseconds(10_000))

    /// All there is to do; nil if nobody knows before its end.
    private let total: Int64?
    private let unit: String
    private let isTerminal: Bool
    private let columns: Int
    private let write: (String) -> Void
    private let clock: () -> RunningTime
    private let start: RunningTime
    private var drawn: RunningTime
    private var isDrawn = false
    private var last = (done: Int64(0), note: "")
    private var shown: Int64 = -1

    /// A line for `total` of a unit in the plural: `batches`; `bytes` are shown as kB, MB or GB.
    package init(total: Int64?, unit: String) {
        var size = winsize()
        let hasSize = ioctl(STDERR_FILENO, UInt(TIOCGWINSZ), &size) == 0 && size.ws_col > 0
        self.init(
            total: total, unit: unit, isTerminal: isatty(STDERR_FILENO) == 1,
            columns: hasSize ? Int(size.ws_col) : ConsoleStyle.columnsStandard,
            clock: { RunningTime(milliseconds: ClockReading.now().elapsed) },
            write: { text in
                Array(text.utf8).withUnsafeBytes {
                    _ = Glibc.write(STDERR_FILENO, $0.baseAddress, $0.count)
                }
            })
    }

    /// A line that is drawn by `write` at the times of `clock`.
    init(
        total: Int64?, unit: String, isTerminal: Bool, columns: Int,
        clock: @escaping () -> RunningTime, write: @escaping (String) -> Void
    ) {
        self.total = total
        self.unit = unit
        self.isTerminal = isTerminal
        self.columns = columns
        self.clock = clock
        self.write = write
        start = clock()
        drawn = start
    }

    /// Tells how much is done; draws if it is time. It looks at the clock each time: call it once
    /// for some thousand.
    package mutating func update(done: Int64, note: String = "") {
        last = (done, note)
        let now = clock()
        guard now - drawn >= (isTerminal ? Self.pauses.terminal : Self.pauses.log) else { return }
        drawn = now
        draw(now)
    }

    /// Takes the line away on a terminal; elsewhere says the last state if any was said.
    package mutating func finish() {
        guard isDrawn else { return }
        if isTerminal {
            write("\r\u{1B}[K")
        } else if shown != last.done {
            draw(clock())
        }
        isDrawn = false
    }

    private mutating func draw(_ now: RunningTime) {
        let text = Self.text(
            done: last.done, total: total, unit: unit, note: last.note, after: now - start)
        (isDrawn, shown) = (true, last.done)
        // One column stays free: a full line makes some terminals begin the next.
        write(isTerminal ? "\r\u{1B}[K" + Self.cut(text, columns - 1) : text + "\n")
    }

    // MARK: - Text

    /// `42 %, 1.2 of 2.8 GB, 310 MB/s, 5s left, note`.
    static func text(
        done: Int64, total: Int64?, unit: String, note: String, after span: Milliseconds
    ) -> String {
        var parts: [String] = []
        let total = total.map { max($0, 0) } ?? 0
        if total > 0 { parts.append("\(min(100, Int(Double(done) / Double(total) * 100))) %") }
        let scale = Self.scale(max(done, total), unit)
        let whole = total > 0 ? " of \(amount(total, scale))" : ""
        parts.append("\(amount(done, scale))\(whole) \(scale.name)")
        if span.count >= 1000, done > 0 {
            let perSecond = Double(done) / Double(span.count) * 1000
            let rate = Self.scale(Int64(perSecond), unit)
            parts.append("\(amount(Int64(perSecond), rate)) \(rate.name)/s")
            if total > done {
                let left = Double(total - done) / perSecond
                let milliseconds = Int64(min(left.rounded(.up), 1e9)) * 1000
                parts.append("\(ConsoleStyle.span(Milliseconds(milliseconds))) left")
            }
        }
        if !note.isEmpty { parts.append(note) }
        return parts.joined(separator: ", ")
    }

    private typealias Scale = (size: Int64, name: String)

    private static func scale(_ count: Int64, _ unit: String) -> Scale {
        if unit == "bytes" {
            if count >= 1_000_000_000 { return (1_000_000_000, "GB") }
            return count >= 1_000_000 ? (1_000_000, "MB") : (1000, "kB")
        }
        if count >= 10_000_000 { return (1_000_000, "million \(unit)") }
        return (1, unit)
    }

    /// One digit behind the point for what is scaled.
    private static func amount(_ count: Int64, _ scale: Scale) -> String {
        guard scale.size > 1 else { return "\(count)" }
        let tenths = count / (scale.size / 10)
        return "\(tenths / 10).\(tenths % 10)"
    }

    private static func cut(_ text: String, _ width: Int) -> String {
        ConsoleText.columns(text) > width ? ConsoleText.fitted(text, max(2, width)) : text
    }
}
