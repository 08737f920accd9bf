import RollcallCore

/// A setting as a report of a bug has it: numbers and words of ours as they are, and of what is
/// somebody's own (names, addresses, paths, texts) no more than that it is there. Source: V19.
package struct ReportedSetting: Sendable, Equatable {
    /// Words that settings may have as values, beside numbers with their units.
    private static let words: Set<String> = [
        "true", "false", "adopt", "observe", "fleet", "region", "critical", "warning", "info",
        "none",
        "disabled", "dry_run", "live", "default", "cumulative", "delta", "gzip",
    ]

    package let key: String
    package let value: String
    package let isDefault: Bool

    /// The one of `configuration`.
    package init(_ setting: Setting, _ configuration: Configuration) {
        key = setting.key
        let text = setting.value(configuration)
        isDefault = text == setting.value(Configuration()) && !setting.hides(configuration)
        value = Self.shown(setting, configuration, text)
    }

    private static func shown(
        _ setting: Setting, _ configuration: Configuration, _ text: String
    ) -> String {
        if text == "\"\"" || text.isEmpty {
            return setting.hides(configuration) ? "(set)" : "(not set)"
        }
        if text.hasPrefix("[") {
            let count = setting.count(configuration)
            guard setting.key == "receivers" else { return "(\(count))" }
            let kinds = configuration.policy.receivers.map { "\($0.kind.word)" }
            return "(\(count): \(kinds.joined(separator: ", ")))"
        }
        if text == "{}" { return "(none)" }
        return isPlain(text) ? text : "(set)"
    }

    /// True for a number, with or without a unit, and for a word of ours.
    static func isPlain(_ text: String) -> Bool {
        if words.contains(text) { return true }
        guard let first = text.utf8.first, (0x30...0x39).contains(first), text.utf8.count <= 16
        else { return false }
        return text.utf8.allSatisfy { byte in
            (0x30...0x39).contains(byte) || "./smhdKMGTiB".utf8.contains(byte)
        }
    }
}

extension Setting {
    /// Returns the number of elements of a list.
    func count(_ configuration: Configuration) -> Int {
        guard case .list(let values) = shownValue(configuration) else { return 0 }
        return values.count
    }

    /// True if it has something that is never shown.
    func hides(_ configuration: Configuration) -> Bool {
        hidden?.isOther(configuration, Configuration()) ?? false
    }
}
