import Glibc
import RollcallBasis
import RollcallCore
import RollcallSupport

/// `rollcall watch`: how everything stands, drawn anew as it changes, until somebody ends it. Source: V10.
package struct WatchRun {
    /// Between two changes at least, without a wish.
    package static let intervalStandard = "2s"
    private static let intervals = Milliseconds.seconds(1)...Milliseconds.seconds(600)

    private let address: ServerAddress
    private let interval: Milliseconds
    private let isLocal: Bool

    /// A page about the server at `address`, which changes no more often than each `interval`.
    /// - Throws: `QuestionError` if that is no span from 1 s to 10 min, or standard output is no
    ///   terminal that can be drawn on.
    package init(
        _ address: ServerAddress, interval: String, isLocal: Bool
    ) throws(QuestionError) {
        guard let span = SettingText.duration(interval), Self.intervals.contains(span) else {
            throw .wrongOption(
                "--interval: 1s to 10m expected (\(ConsoleText.safe(interval)))")
        }
        let isDumb = getenv("TERM").map { ["", "dumb"].contains(String(cString: $0)) } ?? true
        guard isatty(STDOUT_FILENO) == 1, !isDumb else {
            throw .wrongOption(
                "watch draws on a terminal, and standard output is none that it could draw on: take "
                    + "rollcall status for one page, rollcall events --follow for a line each")
        }
        self.address = address
        self.interval = span
        self.isLocal = isLocal
    }

    /// Draws until a key or a signal ends it. Signals end the process; the terminal is given back as it
    /// was in any case.
    /// - Throws: `QuestionError` if there never was an answer, or the terminal takes nothing more.
    package func run() throws(QuestionError) {
        guard let wake = WakeSignal() else { throw .notPrinted(errno) }
        let news = Mailbox<WatchFacts>()
        let (address, interval) = (address, interval)
        // Made here too, so that what is wrong with libcurl is said.
        _ = try ServerQuestions(address)
        let isStarted = WatchScreen.withoutSignals {
            DetachedThread.start {
                guard let server = try? ServerQuestions(address) else { return }
                var asker = WatchAsker(server, interval: interval, clock: { Self.now }) { facts in
                    news.put(facts)
                    wake.raise()
                }
                asker.run()
            }
        }
        guard isStarted else { throw .notPrinted(EAGAIN) }
        var facts = try Self.first(news)
        var isReading = isatty(STDIN_FILENO) == 1
        var frame = WatchFrame(style: .ofStandardOutput(isLocal: isLocal))
        WatchScreen.enter()
        defer { WatchScreen.leave() }
        while true {
            facts = news.takeAll(waiting: 0).last ?? facts
            if WatchScreen.takeStale() { frame.forget(ConsoleStyle.size(of: STDOUT_FILENO)) }
            let page = WatchPage(
                facts: facts, now: Self.now, columns: frame.columns, rows: frame.rows,
                isLocal: isLocal)
            let failure = StandardOutput.write(frame.change(to: page.lines), to: STDOUT_FILENO)
            if failure != 0 { throw .notPrinted(failure) }
            // Ages grow by the second.
            let pause = 1000 - Self.now.milliseconds % 1000
            wake.wait(
                for: POLLIN, of: isReading ? STDIN_FILENO : -1, milliseconds: max(1, pause))
            wake.lower()
            guard isReading else { continue }
            switch Self.key() {
            case .quit: return
            case .draw: WatchScreen.makeStale()
            case .end: isReading = false
            case nil: break
            }
        }
    }

    private static var now: RunningTime {
        RunningTime(milliseconds: ClockReading.now().elapsed)
    }

    /// Waits for the first answer.
    /// - Throws: `QuestionError` if there is none.
    private static func first(_ news: Mailbox<WatchFacts>) throws(QuestionError) -> WatchFacts {
        while true {
            guard let facts = news.takeAll(waiting: 1000).last else { continue }
            if facts.status != nil { return facts }
            if let fault = facts.fault { throw fault }
        }
    }

    private enum Key { case quit, draw, end }

    /// Reads what was pressed, if anything was.
    private static func key() -> Key? {
        var polled = pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0)
        guard poll(&polled, 1, 0) > 0 else { return nil }
        var bytes = [UInt8](repeating: 0, count: 64)
        let count = read(STDIN_FILENO, &bytes, bytes.count)
        guard count > 0 else { return count < 0 && errno == EINTR ? nil : .end }
        for key in Self.pressed(bytes.prefix(count)) {
            switch key {
            case UInt8(ascii: "q"), UInt8(ascii: "Q"): return .quit
            // Ctrl-L.
            case 0x0C: return .draw
            default: break
            }
        }
        return nil
    }

    /// Returns the keys that stand for themselves: an arrow is several bytes, none of which is meant
    /// by itself (ECMA-48: CSI and SS3).
    static func pressed(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
        enum Place { case plain, escape, sequence, last }
        var place = Place.plain
        var keys: [UInt8] = []
        for byte in bytes {
            switch (place, byte) {
            case (_, 0x1B): place = .escape
            case (.escape, UInt8(ascii: "[")): place = .sequence
            case (.escape, UInt8(ascii: "O")): place = .last
            case (.sequence, 0x20...0x3F): break
            case (.plain, _): keys.append(byte)
            default: place = .plain
            }
        }
        return keys
    }
}

/// The lines that stand on a terminal, and what must be sent to make them others: those that differ.
struct WatchFrame {
    private let style: ConsoleStyle
    private(set) var columns: Int
    private(set) var rows = 24
    private var shown: [WatchPage.Line] = []
    private var isForgotten = true

    /// An empty frame.
    init(style: ConsoleStyle) {
        self.style = style
        columns = style.columns
    }

    /// Forgets what stands there: the terminal has this size now, if it says one.
    mutating func forget(_ size: (columns: Int, rows: Int)?) {
        if let size { (columns, rows) = (size.columns, max(1, size.rows)) }
        (shown, isForgotten) = ([], true)
    }

    /// Returns the bytes that make the lines those of `lines`; none if they are. Each line is written
    /// over and cleared behind its end, so that nothing flickers (ECMA-48: CUP, EL, ED).
    mutating func change(to lines: [WatchPage.Line]) -> [UInt8] {
        var text = isForgotten ? "\u{1B}[0m\u{1B}[2J" : ""
        for (place, line) in lines.enumerated()
        where place >= shown.count ? isForgotten || !line.text.isEmpty : shown[place] != line {
            text += "\u{1B}[\(place + 1);1H\(line.shown(style))\u{1B}[K"
        }
        if lines.count < shown.count { text += "\u{1B}[\(lines.count + 1);1H\u{1B}[J" }
        (shown, isForgotten) = (lines, false)
        guard !text.isEmpty else { return [] }
        // Where the cursor waits it hides nothing.
        let foot = lines.last.map { ConsoleText.columns($0.text) } ?? 0
        text += "\u{1B}[\(max(1, lines.count));\(min(columns, foot + 2))H"
        return Array(text.utf8)
    }
}
