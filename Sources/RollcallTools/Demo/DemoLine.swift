import Glibc
import RollcallSupport

/// A line of what the demo tells.
struct DemoLine: Equatable, Sendable {
    /// The voice that speaks.
    enum Voice: String, CaseIterable, Sendable {
        /// The script: what really happened to a phone. Rollcall is not told.
        case truth
        /// An answer of the server's API.
        case rollcall
        /// A message that the pager got.
        case page
        /// A message that the chat got.
        case chat
        /// A push that a phone would get.
        case push
        /// A command that shows it.
        case `try`
        /// The demo about itself.
        case demo
    }

    /// Columns before the text: the time, the voice, and what stands between.
    static let indent = 17
    /// Columns of a terminal below which lines are left to it.
    private static let columnsMin = 50

    let voice: Voice
    let text: String

    init(_ voice: Voice, _ text: String) {
        self.voice = voice
        self.text = text
    }

    /// The line, or some, as printed `seconds` after the beginning. Where lines are not cut, which is
    /// where no terminal is, it is one.
    func printed(seconds: Int64, _ style: ConsoleStyle) -> String {
        let time = "\(seconds / 60):\(seconds % 60 < 10 ? "0" : "")\(seconds % 60)"
        let head =
            ConsoleText.fitted(time, 5, isRight: true) + "  "
            + ConsoleText.fitted(voice.rawValue, Self.indent - 9) + "  "
        // A command is to be copied.
        let isWrapped = style.isCut && style.columns >= Self.columnsMin && voice != .try
        let lines = isWrapped ? ConsoleText.wrapped(text, style.columns - Self.indent) : [text]
        let margin = "\n" + String(repeating: " ", count: Self.indent)
        return style.tinted(head + lines.joined(separator: margin), voice) + "\n"
    }
}

extension ConsoleStyle {
    /// Returns the style that standard output asks for, with its own width however narrow: the
    /// story is no table.
    static func ofDemo() -> ConsoleStyle {
        var style = ofStandardOutput(isLocal: false)
        var size = winsize()
        if style.isCut, ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 {
            style.columns = Int(size.ws_col)
        }
        return style
    }

    /// A line in the colour of who speaks.
    fileprivate func tinted(_ text: String, _ voice: DemoLine.Voice) -> String {
        guard isColoured else { return text }
        let code =
            switch voice {
            case .truth: "36"
            case .rollcall: "1"
            case .page: "1;31"
            case .chat: "33"
            case .push: "35"
            case .try, .demo: "2"
            }
        return "\u{1B}[\(code)m\(text)\u{1B}[0m"
    }
}
