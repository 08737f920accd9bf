import RollcallCore

/// One setting: its name, the place where its value is kept, and all that is known of it.
///
/// The table of these is the one description of all settings. The reading of files and variables,
/// the default file, the words of `check`, what a reload tells, and the lines of a replay are made
/// of it.
package struct Setting: Sendable {
    /// The event with which another value takes effect.
    package enum Effect: Sendable {
        /// With the next reload.
        case reload
        /// With the next start.
        case start
    }

    /// The use that a replay makes of a setting.
    package enum Replay {
        /// Nothing: it decides nothing that is journaled.
        case unknown
        /// It stands in `policy` lines.
        case known
        /// It does, and what another value would have decided can be shown.
        case tried
    }

    /// The name in the file: `storage.path`.
    package let key: String
    /// The meaning of it, in a few words.
    package let summary: String
    package let effect: Effect
    package let replay: Replay
    /// The name's parts: the sections, and its own name in the last of them.
    package let parts: [String]
    /// Of a list: its elements, which a reload tells one by one.
    private(set) var elements: (@Sendable (Configuration) -> [(name: String, text: String)])?
    /// The part of it that is never shown, and whether two configurations differ in that.
    private(set) var hidden:
        (what: String, isOther: @Sendable (Configuration, Configuration) -> Bool)?

    private let reading: Reading
    private let shown: @Sendable (Configuration) -> SettingValue
    private let named: @Sendable (Configuration) -> SettingValue?
    private let copying: @Sendable (_ from: Configuration, _ to: inout Configuration) -> Void

    /// Reads a setting, and perhaps others that belong to it, of a section.
    typealias Reading =
        @Sendable (inout ConfigurationTree, inout Configuration) throws(ConfigurationError) -> Void

    /// A setting of the value at `path`.
    init<Value>(
        _ key: String, _ kind: SettingKind<Value>,
        _ path: any WritableKeyPath<Configuration, Value> & Sendable, _ summary: String,
        _ effect: Effect = .reload, replay: Replay = .unknown
    ) {
        let parts = key.split(separator: ".").map(String.init)
        let name = parts.last ?? ""
        self.key = key
        self.summary = summary
        self.effect = effect
        self.replay = replay
        self.parts = parts
        reading = { (tree, configuration) throws(ConfigurationError) in
            try kind.read(&tree, name, &configuration[keyPath: path])
        }
        shown = { kind.shown($0[keyPath: path]) }
        named = { kind.replayed($0[keyPath: path]) }
        copying = { $1[keyPath: path] = $0[keyPath: path] }
    }

    /// A setting whose value is kept in several places, with a reader of its own, if it has not been
    /// read with another one.
    init(
        _ key: String, _ summary: String, replay: Replay = .unknown,
        shown: @escaping @Sendable (Configuration) -> SettingValue, read: @escaping Reading
    ) {
        self.key = key
        self.summary = summary
        self.replay = replay
        self.shown = shown
        effect = .reload
        parts = key.split(separator: ".").map(String.init)
        reading = read
        named = shown
        copying = { _, _ in }
    }

    /// The value as it stands in a file; never a secret.
    package func value(_ configuration: Configuration) -> String { shown(configuration).yaml }

    /// The value as it is written; never a secret.
    func shownValue(_ configuration: Configuration) -> SettingValue { shown(configuration) }

    /// The value as it stands in a `policy` line; nil if it does not.
    package func replayed(_ configuration: Configuration) -> SettingValue? {
        replay == .unknown ? nil : named(configuration)
    }

    /// Takes this setting, and nothing else, over from another configuration.
    package func copy(from other: Configuration, to configuration: inout Configuration) {
        copying(other, &configuration)
    }

    /// The setting whose elements a reload tells one by one.
    func listing(
        _ elements: @escaping @Sendable (Configuration) -> [(name: String, text: String)]
    ) -> Setting {
        var setting = self
        setting.elements = elements
        return setting
    }

    /// The setting that holds what is never shown; a reload tells that it is another, no more.
    func hiding<Part: Equatable & Sendable>(
        _ what: String, _ part: @escaping @Sendable (Configuration) -> Part
    ) -> Setting {
        var setting = self
        setting.hidden = (what, { part($0) != part($1) })
        return setting
    }

    // MARK: - The shape of a file

    /// The settings by the part of their names at `depth`, in their order.
    package static func groups(
        _ settings: ArraySlice<Setting>, at depth: Int
    ) -> [(name: String, settings: ArraySlice<Setting>)] {
        var groups: [(name: String, settings: ArraySlice<Setting>)] = []
        var rest = settings
        while let name = rest.first?.parts[depth] {
            let group = rest.prefix { $0.parts[depth] == name }
            groups.append((name, group))
            rest = rest[group.endIndex...]
        }
        return groups
    }

    /// Reads settings of a section at `depth`, and the sections in it, and checks what must hold
    /// between them.
    /// - Throws: `ConfigurationError` if something is wrong: the first of it.
    static func read(
        _ tree: inout ConfigurationTree, _ configuration: inout Configuration,
        _ settings: ArraySlice<Setting> = all[...], at depth: Int = 0
    ) throws(ConfigurationError) {
        for (name, group) in groups(settings, at: depth) {
            if let setting = group.first, setting.parts.count == depth + 1 {
                try setting.reading(&tree, &configuration)
            } else {
                try tree.section(name) { (section) throws(ConfigurationError) in
                    try read(&section, &configuration, group, at: depth + 1)
                }
            }
        }
        for rule in SettingRule.all where rule.section == tree.path {
            try rule.check(tree, &configuration)
        }
    }
}
