/// The words about an answer that people are shown, whoever gave it.
enum AnswerWords {
    /// Letters of a secret at least: shorter ones are none, and would blot out words.
    static let secretMin = 8

    /// Returns where the answer came from, its status and its reason.
    static func answered(_ place: String, _ status: Int, _ words: String? = nil) -> String {
        let isRedirect = (300...399).contains(status)
        let more = isRedirect ? "redirects are not followed" : words
        return "\(place): answered \(status)" + (more.map { ": \($0)" } ?? "")
    }

    /// Returns `text` on one line.
    static func oneLine(_ text: String) -> String {
        let plain = text.unicodeScalars.map { $0.value < 0x20 || $0.value == 0x7F ? " " : $0 }
        return String(String.UnicodeScalarView(plain))
    }
}
