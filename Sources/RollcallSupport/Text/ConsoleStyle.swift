import Glibc
import RollcallCore

/// The style of print for whoever reads: a terminal's width and colours, and the zone of times.
package struct ConsoleStyle: Sendable {
    /// The columns that a page is written for where there is no terminal.
    package static let columnsStandard = 80
    /// The narrowest that a page is written for: below it, lines are broken by the terminal.
    package static let columnsMin = 40

    /// Columns of a line.
    package var columns = columnsStandard
    /// True if a table's cells may be cut so that its lines fit.
    package var isCut = false
    /// True if a terminal shows what is printed.
    package var isTerminal = false
    /// True if headings may be bold, times dim, and what wants attention red.
    package var isColoured = false
    /// Times in the machine's own zone instead of UTC.
    package var isLocal = false

    /// Plain, for 80 columns, in UTC.
    package init() {}

    /// Returns the style that standard output asks for.
    package static func ofStandardOutput(isLocal: Bool) -> ConsoleStyle {
        func variable(_ name: String) -> String? { getenv(name).map { String(cString: $0) } }
        let isTerminal = isatty(STDOUT_FILENO) == 1
        return ConsoleStyle(
            size: isTerminal ? Self.size(of: STDOUT_FILENO)?.columns : nil, isTerminal: isTerminal,
            isLocal: isLocal, variable)
    }

    /// The style for a terminal of so many columns, nil if it does not say, or for what is none. A width in
    /// `COLUMNS` is what somebody wants, and wins. `NO_COLOR` set to anything but nothing means no
    /// colours (no-color.org); so does `CLICOLOR` of 0, and `CLICOLOR_FORCE` of anything else colours
    /// what is no terminal too (bixense.com/clicolors).
    package init(
        size: Int?, isTerminal: Bool, isLocal: Bool = false, _ variable: (String) -> String?
    ) {
        let wanted = variable("COLUMNS").flatMap { Int($0) }.flatMap { $0 > 0 ? $0 : nil }
        if let width = wanted ?? size { columns = min(max(Self.columnsMin, width), 10_000) }
        self.isLocal = isLocal
        self.isTerminal = isTerminal
        isCut = isTerminal
        let isPlain = !(variable("NO_COLOR") ?? "").isEmpty
        let isDumb = variable("TERM").map { $0 == "dumb" || $0.isEmpty } ?? true
        let isForced = variable("CLICOLOR_FORCE").map { !$0.isEmpty && $0 != "0" } ?? false
        let isUsual = isTerminal && !isDumb && variable("CLICOLOR") != "0"
        isColoured = !isPlain && (isForced || isUsual)
    }

    /// Returns the columns and rows of the terminal behind a descriptor; nil if it does not say.
    package static func size(of descriptor: CInt) -> (columns: Int, rows: Int)? {
        var size = winsize()
        guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return nil }
        return (Int(size.ws_col), Int(size.ws_row))
    }

    /// Returns a heading as a coloured terminal shows it; elsewhere the text.
    package func bold(_ text: String) -> String { isColoured ? "\u{1B}[1m\(text)\u{1B}[0m" : text }
    /// Returns what the eye may pass over, dim where there are colours.
    package func dim(_ text: String) -> String { isColoured ? "\u{1B}[2m\(text)\u{1B}[0m" : text }
    /// For what wants attention; its words say so too.
    package func loud(_ text: String) -> String {
        isColoured ? "\u{1B}[1;31m\(text)\u{1B}[0m" : text
    }

    // MARK: - Times

    /// The parts of a time in the style's zone.
    private func parts(_ at: Timestamp) -> tm {
        var seconds = time_t(at.milliseconds / 1000)
        var parts = tm()
        if isLocal { localtime_r(&seconds, &parts) } else { gmtime_r(&seconds, &parts) }
        return parts
    }

    private func text(_ at: Timestamp, _ format: String) -> String {
        var parts = parts(at)
        return withUnsafeTemporaryAllocation(of: CChar.self, capacity: 64) { buffer in
            let count = strftime(buffer.baseAddress, buffer.count, format, &parts)
            return String(
                decoding: UnsafeRawBufferPointer(
                    rebasing: UnsafeRawBufferPointer(buffer)[..<count]), as: UTF8.self)
        }
    }

    /// `2026-11-21`.
    package func day(_ at: Timestamp) -> String { text(at, "%Y-%m-%d") }
    /// `03:00:05`.
    package func time(_ at: Timestamp) -> String { text(at, "%H:%M:%S") }
    /// `03:00`.
    package func minute(_ at: Timestamp) -> String { text(at, "%H:%M") }
    /// `2026-11-21 03:00:05`.
    package func moment(_ at: Timestamp) -> String { "\(day(at)) \(time(at))" }
    /// `UTC`, or the local zone's name at that time.
    package func zone(_ at: Timestamp) -> String { isLocal ? text(at, "%Z") : "UTC" }

    /// `03:00:05`, with the day before it if it is not that of `beside`.
    package func time(_ at: Timestamp, beside: Timestamp) -> String {
        day(at) == day(beside) ? time(at) : moment(at)
    }

    // MARK: - Spans

    /// A span in its two greatest units, cut: `8m 30s`, `2h 5m`, `3d 4h`; `0.4s` below a second.
    package static func span(_ span: Milliseconds, between: String = " ") -> String {
        let count = max(0, span.count)
        if count > 0, count < 1000 { return "0.\(max(1, count / 100))s" }
        let units: [(String, Int64)] = [
            ("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000),
        ]
        let place = units.firstIndex { count >= $0.1 } ?? units.count - 1
        let (name, size) = units[place]
        let first = "\(count / size)\(name)"
        guard place + 1 < units.count else { return first }
        let (nextName, nextSize) = units[place + 1]
        let next = count % size / nextSize
        return next == 0 ? first : "\(first)\(between)\(next)\(nextName)"
    }
}
