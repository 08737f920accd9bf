import RollcallSupport

/// The sentence of how everything stands, as the server says it in `GET /v1/status`: the worst thing first,
/// how it is elsewhere, then since when and most likely why. Nothing in it can be obeyed by a terminal.
struct SentenceText: Equatable, Sendable {
    /// The gravity of what it says.
    enum Level: String, Sendable {
        /// Somebody must do something.
        case bad
        /// Some cannot be reached, or may soon not be.
        case late
        case good
        /// It cannot be known.
        case unknown

        /// True for what wants attention.
        var isLoud: Bool { self == .bad || self == .unknown }
    }

    /// The worst thing and how it is elsewhere, in one line.
    let claim: String
    /// Since when and most likely why; may be empty.
    let detail: String
    let level: Level

    /// The sentence of a status; nil from a server that is too old to say one.
    init?(_ status: JSONTree) {
        guard let sentence = status["sentence"],
            let headline = sentence["headline"]?.shown, !headline.isEmpty
        else { return nil }
        claim = [headline, sentence["rest"]?.shown ?? ""].filter { !$0.isEmpty }
            .joined(separator: " ")
        detail = sentence["detail"]?.shown ?? ""
        // A level of a later version is one that may be bad.
        level = sentence["level"]?.text.flatMap { Level(rawValue: $0) } ?? .unknown
    }

    /// The lines of it for people.
    func lines(_ style: ConsoleStyle) -> [String] {
        let claims = ConsoleText.wrapped(claim, style.columns).map {
            level.isLoud ? style.loud($0) : style.bold($0)
        }
        return claims + (detail.isEmpty ? [] : ConsoleText.wrapped(detail, style.columns))
    }
}
