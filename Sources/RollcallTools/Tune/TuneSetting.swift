import RollcallBasis
import RollcallCore

/// The settings that decide something a replay can show.
enum TuneSetting {
    /// All of them.
    static let all = Setting.all.filter { $0.replay == .tried }

    /// The setting of this name.
    static func named(_ key: String) -> Setting? { all.first { $0.key == key } }
}

/// Settings as a file has them.
enum TuneText {
    /// A file in which these settings stand, by their names and values.
    static func yaml(_ settings: [(key: String, value: String)]) -> String {
        var text = ""
        var above: [Substring] = []
        for (key, value) in settings.sorted(by: { $0.key < $1.key }) {
            let parts = key.split(separator: ".")
            let sections = parts.dropLast()
            let shared = zip(above, sections).prefix { $0 == $1 }.count
            for depth in shared..<sections.count {
                text += String(repeating: "  ", count: depth) + sections[depth] + ":\n"
            }
            above = Array(sections)
            text += String(repeating: "  ", count: sections.count)
            text += "\(parts.last ?? ""): \(value)\n"
        }
        return text
    }

    /// The value of a setting in a policy, as a file has it.
    static func value(_ key: String, _ policy: Policy) -> String {
        TuneSetting.named(key)?.value(Configuration(policy: policy)) ?? ""
    }
}
