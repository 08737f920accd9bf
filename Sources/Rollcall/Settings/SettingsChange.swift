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
    init(from running: Configuration, started: Configuration, to new: Configuration) {
        for setting in Setting.all {
            let old = setting.effect == .start ? started : running
            let difference = Difference(
                key: setting.key, from: setting.value(old), to: setting.value(new))
            guard difference.from != difference.to else { continue }
            if setting.key == Self.receivers {
                changed += Self.receivers(old, new)
                continue
            }
            switch setting.effect {
            case .reload: changed.append(difference)
            case .start: needsRestart.append(difference)
            }
        }
        hide("web.tokens", "tokens", new.doors.access != running.doors.access)
        if !changed.contains(where: { $0.key.hasPrefix(Self.receivers) }) {
            hide(Self.receivers, "addresses and secrets", new.receivers != running.receivers)
        }
        var (sink, old) = (new.pushSink, running.pushSink)
        // What it says has a setting of its own.
        sink?.texts = NudgeTexts()
        old?.texts = NudgeTexts()
        hide("nudges.sink", "an address and secrets", sink != old)
        hide("alive_ping.url", "an address", new.alivePing.url != running.alivePing.url)
    }

    private static let receivers = "receivers"

    /// Receivers that differ, by their names: the whole lists would hide what changed.
    private static func receivers(_ old: Configuration, _ new: Configuration) -> [Difference] {
        let (before, after) = (Setting.receiverEntries(old), Setting.receiverEntries(new))
        let names =
            before.map(\.name)
            + after.map(\.name).filter { name in
                !before.contains { $0.name == name }
            }
        let differences = names.map { name in
            Difference(
                key: "\(receivers).\(name)",
                from: before.first { $0.name == name }?.text ?? "none",
                to: after.first { $0.name == name }?.text ?? "none")
        }
        let found = differences.filter { $0.from != $0.to }
        return found.isEmpty
            ? [Difference(key: receivers, from: "their order", to: "another order")] : found
    }

    /// Names a change of what is not shown: that it changed is what a rotation wants to know.
    private mutating func hide(_ key: String, _ what: String, _ isOther: Bool) {
        guard isOther, !changed.contains(where: { $0.key == key }) else { return }
        changed.append(Difference(key: key, from: what, to: "others of the same name"))
    }
}
