import RollcallCore
import RollcallSupport

/// The texts of nudges, by why somebody is silent. Source: N6.
package struct NudgeTexts: Equatable, Sendable {
    /// A title and a body; nil where nothing is said.
    package struct Text: Equatable, Sendable {
        package var title: String?
        package var body: String?

        /// A text without words.
        package init(title: String? = nil, body: String? = nil) {
            self.title = title
            self.body = body
        }
    }

    /// A word in a title or a body that stands for a fact.
    enum Placeholder: String, CaseIterable {
        case stale, platform
        case responderID = "responder_id"

        /// As it is written.
        var text: String { "{\(rawValue)}" }
    }

    /// Bytes of a title at most, filled in or not.
    static let titleBytesMax = 200
    /// Bytes of a body at most, filled in or not.
    static let bodyBytesMax = 1000

    /// The texts that the settings say, by cause.
    package var written: [GapCause: Text] = [:]
    /// The text that they say of all other causes; before our own words, which may be in another
    /// language.
    package var fallback = Text()

    package init() {}

    /// The title and the body of a nudge.
    func filled(
        _ facts: NudgeFacts, responderID: [UInt8], platform: Platform
    ) -> (title: String, body: String) {
        let own = Self.standard(facts.cause)
        let text = written[facts.cause] ?? Text()
        func fill(_ template: String, _ bytesMax: Int) -> String {
            let filled = Self.filled(template) { placeholder in
                switch placeholder {
                case .stale: Self.words(facts.stale)
                case .platform: "\(platform.word)"
                case .responderID: String(decoding: responderID, as: UTF8.self)
                }
            }
            return NotificationWords.clipped(Self.plain(filled), bytesMax: bytesMax)
        }
        return (
            fill(text.title ?? fallback.title ?? own.title, Self.titleBytesMax),
            fill(text.body ?? fallback.body ?? own.body, Self.bodyBytesMax)
        )
    }

    /// Our own words.
    private static func standard(_ cause: GapCause) -> (title: String, body: String) {
        let since = "Your location has not been updated for {stale}."
        let open = "Open the app to resume sharing"
        return switch cause {
        case .permissionDenied:
            (
                "Location permission is off",
                "The app may not see where you are. Allow it to, always, and open it again."
            )
        case .locationServicesOff:
            (
                "Location services are off",
                "No app on this phone can see where you are. Switch them on, then open the app."
            )
        case .noNetwork:
            (
                "Your location does not get through",
                "\(since) Open the app where you have a network."
            )
        case .batteryEmpty:
            ("Charge your phone and open the app", "\(since) The battery was almost empty.")
        case .lowPower:
            (open, "\(since) Low power mode may stop it: switch it off if you can.")
        case .appSuspended: (open, "\(since) The phone put the app to sleep.")
        case .appTerminated: (open, "\(since) The app seems to have been closed.")
        case .neverHeard:
            ("Open the app to start sharing", "Nothing came from your phone for {stale}.")
        case .massGap, .unexplained: (open, since)
        }
    }

    // MARK: - Placeholders

    /// The first thing in `template` that looks like a placeholder and is none; nil if all are.
    static func unknownPlaceholder(in template: String) -> String? {
        var rest = template[...]
        while let start = rest.firstIndex(of: "{") {
            let end = rest[start...].firstIndex(of: "}") ?? rest.index(before: rest.endIndex)
            let found = rest[start...end]
            guard Placeholder.allCases.contains(where: { $0.text == found }) else {
                return String(found)
            }
            rest = rest[end...].dropFirst()
        }
        return nil
    }

    /// `template` with each placeholder replaced once: what stands in for one is not looked at.
    private static func filled(_ template: String, _ value: (Placeholder) -> String) -> String {
        var text = ""
        var rest = template[...]
        while let start = rest.firstIndex(of: "{") {
            text += rest[..<start]
            rest = rest[start...]
            if let placeholder = Placeholder.allCases.first(where: { rest.hasPrefix($0.text) }) {
                text += value(placeholder)
                rest = rest.dropFirst(placeholder.text.count)
            } else {
                text.append(rest.removeFirst())
            }
        }
        return text + rest
    }

    /// Returns the text with blanks in place of line ends and control characters: what came from
    /// outside could hold anything; phones show a line's end as they like.
    private static func plain(_ text: String) -> String {
        let breaks: Set<Unicode.GeneralCategory> = [.control, .lineSeparator, .paragraphSeparator]
        let scalars = text.unicodeScalars.map { scalar in
            breaks.contains(scalar.properties.generalCategory) ? " " : scalar
        }
        return String(String.UnicodeScalarView(scalars))
    }

    /// A span for people, in whole units: "3 hours", "2 days".
    static func words(_ span: Milliseconds) -> String {
        let seconds = max(0, span.count / 1000)
        let units: [(name: String, seconds: Int64, from: Int64)] = [
            ("day", 86_400, 2 * 86_400), ("hour", 3600, 3600), ("minute", 60, 60),
        ]
        let unit = units.first { seconds >= $0.from }
        let count = seconds / (unit?.seconds ?? 1)
        return "\(count) \(unit?.name ?? "second")\(count == 1 ? "" : "s")"
    }
}
