/// The differences between two readings of the settings.
package struct SettingsChange: Equatable, Sendable {
    /// One setting with other values; never a secret.
    package struct Difference: Equatable, Sendable, CustomStringConvertible {
        /// Bytes of a value in a line of the log at most: a list of regions may be long.
        private static let shownMax = 100

        package let key: String
        package let from: String
        package let to: String

        package var description: String {
            "\(key): \(Self.shown(from)) → \(Self.shown(to))"
        }

        private static func shown(_ value: String) -> String {
            value.count > shownMax ? value.prefix(shownMax) + "…" : value
        }
    }

    /// The differences that take effect at once.
    package var changed: [Difference] = []
    /// The differences that would take effect with a restart.
    package var needsRestart: [Difference] = []

    /// From what runs, begun with `started`, to `new`.
    package init(from running: Configuration, started: Configuration, to new: Configuration) {
        for setting in Setting.all {
            let old = setting.effect == .start ? started : running
            let difference = Difference(
                key: setting.key, from: setting.value(old), to: setting.value(new))
            guard difference.from != difference.to else { continue }
            switch setting.effect {
            case .reload: changed += Self.elements(of: setting, old, new) ?? [difference]
            case .start: needsRestart.append(difference)
            }
        }
        // Answers have always named them from the end of the alphabet.
        for setting in Setting.all.sorted(by: { $0.key > $1.key }) {
            if let hidden = setting.hidden, hidden.isOther(running, new) {
                hide(setting.key, hidden.what)
            }
        }
    }

    /// Elements of a list that differ, by their names: the whole lists would hide what changed. Nil
    /// for what is no list.
    private static func elements(
        of setting: Setting, _ old: Configuration, _ new: Configuration
    ) -> [Difference]? {
        guard let elements = setting.elements else { return nil }
        let (before, after) = (elements(old), elements(new))
        let names =
            before.map(\.name)
            + after.map(\.name).filter { name in
                !before.contains { $0.name == name }
            }
        let differences = names.map { name in
            Difference(
                key: "\(setting.key).\(name)",
                from: before.first { $0.name == name }?.text ?? "none",
                to: after.first { $0.name == name }?.text ?? "none")
        }
        let found = differences.filter { $0.from != $0.to }
        return found.isEmpty
            ? [Difference(key: setting.key, from: "their order", to: "another order")] : found
    }

    /// Names a change of what is not shown: that it changed is what a rotation wants to know.
    private mutating func hide(_ key: String, _ what: String) {
        guard !changed.contains(where: { $0.key == key || $0.key.hasPrefix("\(key).") })
        else { return }
        changed.append(Difference(key: key, from: what, to: "others of the same name"))
    }
}
