import RollcallCore
import Yams

extension SettingKind where Value == NudgeRules.Mode? {
    /// A mode; none, as it is printed, if it follows from the sink.
    static var modeOrNone: SettingKind {
        let kind = SettingKind.word(NudgeRules.Mode.allCases.map { ("\($0.word)", $0) })
        return SettingKind(shown: kind.shown) { (tree, key, value) throws(ConfigurationError) in
            tree.dropEmpty(key)
            try tree.read(key, kind, &value)
        }
    }
}

extension SettingKind where Value == NudgeRules.Staleness {
    /// An age, or a mapping of ages; of those a variable gives the one for everybody.
    static func staleness(from least: Milliseconds) -> SettingKind {
        let one = SettingKind<Milliseconds>.duration(from: least)
        let ages: @Sendable (Value) -> SettingValue = { stale in
            .mapping(
                ([("default", stale.standard)] + stale.others).map { ($0.0, one.shown($0.1)) })
        }
        return SettingKind(
            shown: { $0.others.isEmpty ? one.shown($0.standard) : ages($0) }, replayed: ages
        ) { (tree, key, value) throws(ConfigurationError) in
            var read = value
            if tree.isMapping(key) {
                try tree.part(key) { (tree) throws(ConfigurationError) in
                    try tree.read("default", one, &read.standard)
                    for (name, path) in Value.parts {
                        let isGiven = tree.has(name)
                        var span = least
                        try tree.read(name, one, &span)
                        if isGiven { read[keyPath: path] = span }
                    }
                }
            }
            try tree.read(key, one, &read.standard)
            value = read
        }
    }
}

extension NudgeRules.Staleness {
    /// The ages that hold for some only, by the names of the settings.
    fileprivate static let parts:
        [(name: String, path: any WritableKeyPath<Self, Milliseconds?> & Sendable)] = [
            ("on_duty", \.onDuty), ("on_mission", \.onMission), ("ios", \.ios),
            ("android", \.android),
        ]

    /// Those of them that are set.
    var others: [(name: String, span: Milliseconds)] {
        Self.parts.compactMap { name, path in self[keyPath: path].map { (name, $0) } }
    }
}

// MARK: - The sink

extension PushSink {
    /// Bytes of a channel's name at most.
    static let channelBytesMax = 64

    /// Reads the settings that its kind needs.
    /// - Throws: `ConfigurationError` if one is wrong or missing.
    private init(
        _ kind: Kind, _ place: inout ConfigurationTree
    ) throws(ConfigurationError) {
        switch kind {
        case .webhook:
            self.init(kind, url: try place.url("url") ?? "")
            bearer = try place.visibleSecret("bearer_token")
            signingKeys = try place.signingKeys()
        case .expo:
            self.init(kind, url: try place.url("url", isNeeded: false) ?? Self.expoURL)
            bearer = try place.visibleSecret("access_token")
            try place.read("channel", .text, &channel)
            guard channel.utf8.count <= Self.channelBytesMax,
                channel.utf8.allSatisfy({ (0x21...0x7E) ~= $0 && $0 != 0x22 && $0 != 0x5C })
            else {
                throw place.fault(
                    "channel", "must be 1 to \(Self.channelBytesMax) visible characters", channel)
            }
        }
        if let path = try place.authorities("ca_file") { authorities = Authorities(extra: path) }
    }

    /// Returns where pushes go, as far as that may be shown.
    static func shown(_ configuration: Configuration) -> SettingValue {
        let sink = configuration.policy.nudges.sink
        if sink == .none { return .mapping([]) }
        return .mapping([("\(sink.word)", .plain("{\(configuration.pushSink?.place ?? "")}"))])
    }

    /// Reads the section of the sink, of which only the file can say anything.
    /// - Throws: `ConfigurationError` if a setting is wrong, or libcurl is missing.
    static func read(
        _ nudges: inout ConfigurationTree, _ configuration: inout Configuration
    ) throws(ConfigurationError) {
        nudges.sources.askedForList(nudges.full("sink"))
        try nudges.part("sink") { (tree) throws(ConfigurationError) in
            guard let kind = try Self.kind(&tree) else { return }
            configuration.policy.nudges.sink = kind.rule
            let word = "\(kind.rule.word)"
            if tree.sources.opensSecrets, let missing = tree.sources.missingCurl() {
                throw ConfigurationError(
                    origin: tree.origin(of: word), message: "\(tree.full(word)): \(missing)",
                    key: tree.full(word))
            }
            try tree.part(word) { (place) throws(ConfigurationError) in
                let sink = try PushSink(kind, &place)
                if place.sources.opensSecrets { configuration.pushSink = sink }
            }
        }
    }

    /// Returns the kind of sink that is given; nil if the section is empty.
    /// - Throws: `ConfigurationError` if two kinds are given.
    private static func kind(
        _ tree: inout ConfigurationTree
    ) throws(ConfigurationError) -> PushSink.Kind? {
        let kinds: [PushSink.Kind] = [.webhook, .expo]
        let given = kinds.filter { tree.has("\($0.rule.word)") }
        if given.count == 1 { return given[0] }
        if given.isEmpty {
            // What was probably meant is a better answer.
            for kind in kinds { _ = tree.takeFromFile("\(kind.rule.word)") }
            return nil
        }
        throw ConfigurationError(
            origin: tree.origin(of: "expo"),
            message: "\(tree.path): only one of webhook, expo may be given", key: tree.path)
    }
}

// MARK: - The texts

extension SettingKind where Value == NudgeTexts {
    /// Texts by cause; only the file can give them.
    static var nudgeTexts: SettingKind {
        SettingKind(shown: { .mapping($0.shown) }) {
            (tree, key, value) throws(ConfigurationError) in
            tree.sources.askedForList(tree.full(key))
            var texts = value
            try tree.part(key) { (tree) throws(ConfigurationError) in
                texts.fallback = try NudgeTexts.text(NudgeTexts.fallbackName, &tree)
                for cause in GapCause.allCases {
                    let text = try NudgeTexts.text("\(cause.word)", &tree)
                    if text != NudgeTexts.Text() { texts.written[cause] = text }
                }
            }
            value = texts
        }
    }
}

extension NudgeTexts {
    /// The name of what stands for all causes that nothing is written of.
    static let fallbackName = "default"

    fileprivate static func text(
        _ name: String, _ texts: inout ConfigurationTree
    ) throws(ConfigurationError) -> Text {
        var text = Text()
        try texts.part(name) { (tree) throws(ConfigurationError) in
            text.title = try tree.template("title", bytesMax: titleBytesMax)
            text.body = try tree.template("body", bytesMax: bodyBytesMax)
        }
        return text
    }

    /// The texts as they are written, by the names of the settings.
    fileprivate var shown: [(key: String, value: SettingValue)] {
        var all = [(Self.fallbackName, fallback)]
        all += GapCause.allCases.map { ("\($0.word)", written[$0] ?? Text()) }
        return all.compactMap { name, text in
            let lines = [("title", text.title), ("body", text.body)].compactMap { key, line in
                line.map { (key: key, value: SettingValue.text(Array($0.utf8))) }
            }
            return lines.isEmpty ? nil : (name, .mapping(lines))
        }
    }
}

extension ConfigurationTree {
    /// Reads a text of a nudge; nil if nothing is said.
    /// - Throws: `ConfigurationError` if it has several lines, is too long, or has an unknown
    ///   placeholder.
    fileprivate mutating func template(
        _ key: String, bytesMax: Int
    ) throws(ConfigurationError) -> String? {
        guard let node = takeFromFile(key), node.null == nil else { return nil }
        guard let text = node.string, (1...bytesMax).contains(text.utf8.count),
            !text.unicodeScalars.contains(where: { $0.value < 0x20 || $0.value == 0x7F })
        else { throw fault(key, "must be one line of 1 to \(bytesMax) bytes", "") }
        if let unknown = NudgeTexts.unknownPlaceholder(in: text) {
            let known = NudgeTexts.Placeholder.allCases.map(\.text).joined(separator: ", ")
            throw fault(key, "may hold \(known) and no other braces", unknown)
        }
        return text
    }
}
