import RollcallCore
import Yams

/// The rules for who is nudged, when, and by whom that is carried: the settings under `nudges`.
/// Source: Contract/Nudges, §11, F34.
struct NudgeSettings {
    /// Below a second nothing is stale, and above a year it is forgotten.
    static let staleRange = Milliseconds.seconds(1)...ConfigurationTree.durationMax
    /// The intervals at which one person may be nudged.
    static let intervalRange = Milliseconds.seconds(1)...ConfigurationTree.durationMax
    /// No service keeps a push for longer than 28 days.
    static let lifeRange = Milliseconds.seconds(1)...Milliseconds.seconds(28 * 86_400)
    /// Expo takes 600 a second from one project.
    static let rateRange = 1...600

    /// The rules that decide.
    private(set) var rules = NudgeRules()
    /// The mode as it is written; nil if it follows from the sink.
    private(set) var mode: NudgeRules.Mode?
    /// The way to the sink; nil without one, and where secrets decide nothing.
    private(set) var sink: PushSink?
    private(set) var texts = NudgeTexts()

    /// Reads the section.
    /// - Throws: `ConfigurationError` if a setting is wrong, or nudges are live without a sink.
    init(_ nudges: inout ConfigurationTree) throws(ConfigurationError) {
        nudges.dropEmpty("mode")
        var word = ""
        try nudges.text("mode", &word, oneOf: NudgeRules.Mode.allCases.map { "\($0.word)" })
        mode = NudgeRules.Mode.allCases.first { "\($0.word)" == word }
        try nudges.staleness("stale_after", &rules.staleAfter)
        try nudges.duration("min_interval", in: Self.intervalRange, &rules.minInterval)
        try nudges.duration("ttl", in: Self.lifeRange, &rules.timeToLive)
        try nudges.rate("rate", in: Self.rateRange, &rules.ratePerSecond)
        let companies = NudgeRules.Company.allCases
        word = "\(rules.company.word)"
        try nudges.text("company", &word, oneOf: companies.map { "\($0.word)" })
        rules.company = companies.first { "\($0.word)" == word } ?? rules.company
        try readSink(&nudges)
        try texts.read(&nudges)
        sink?.texts = texts
        rules.mode = mode ?? (rules.sink == .none ? .dryRun : .live)
        // A replay sends nothing, and need not say how.
        if mode == .live, rules.sink == .none, nudges.sources.opensSecrets {
            throw nudges.fault(
                "mode", "needs nudges.sink, or must be dry_run or disabled: nobody carries a push",
                "live")
        }
    }

    // MARK: - The sink

    private mutating func readSink(
        _ nudges: inout ConfigurationTree
    ) throws(ConfigurationError) {
        nudges.sources.askedForList(nudges.full("sink"))
        var rules = rules
        var sink: PushSink?
        try nudges.part("sink") { (tree) throws(ConfigurationError) in
            guard let kind = try Self.kind(&tree) else { return }
            rules.sink = kind.rule
            let word = "\(kind.rule.word)"
            if tree.sources.opensSecrets, let missing = tree.sources.missingCurl() {
                throw ConfigurationError(
                    origin: tree.origin(of: word), message: "\(tree.full(word)): \(missing)",
                    key: tree.full(word))
            }
            try tree.part(word) { (place) throws(ConfigurationError) in
                let read = try PushSink(kind, &place)
                if place.sources.opensSecrets { sink = read }
            }
        }
        self.rules = rules
        self.sink = sink
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

extension PushSink {
    /// Bytes of a channel's name at most.
    static let channelBytesMax = 64

    /// Reads the settings that its kind needs.
    /// - Throws: `ConfigurationError` if one is wrong or missing.
    fileprivate init(
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
            try place.text("channel", &channel)
            guard channel.utf8.count <= Self.channelBytesMax,
                channel.utf8.allSatisfy({ (0x21...0x7E) ~= $0 && $0 != 0x22 && $0 != 0x5C })
            else {
                throw place.fault(
                    "channel", "must be 1 to \(Self.channelBytesMax) visible characters", channel)
            }
        }
        if let path = try place.authorities("ca_file") { authorities = Authorities(extra: path) }
    }
}

extension NudgeTexts {
    /// The name of what stands for all causes that nothing is written of.
    static let fallbackName = "default"

    /// Reads the texts. Only the file can give them.
    /// - Throws: `ConfigurationError` if a text is wrong.
    fileprivate mutating func read(
        _ nudges: inout ConfigurationTree
    ) throws(ConfigurationError) {
        nudges.sources.askedForList(nudges.full("texts"))
        var texts = self
        try nudges.part("texts") { (tree) throws(ConfigurationError) in
            texts.fallback = try Self.text(Self.fallbackName, &tree)
            for cause in GapCause.allCases {
                let text = try Self.text("\(cause.word)", &tree)
                if text != Text() { texts.written[cause] = text }
            }
        }
        self = texts
    }

    private static func text(
        _ name: String, _ texts: inout ConfigurationTree
    ) throws(ConfigurationError) -> Text {
        var text = Text()
        try texts.part(name) { (tree) throws(ConfigurationError) in
            text.title = try tree.template("title", bytesMax: titleBytesMax)
            text.body = try tree.template("body", bytesMax: bodyBytesMax)
        }
        return text
    }
}

extension ConfigurationTree {
    /// Reads an age, or a mapping of ages; of those a variable gives the one for everybody.
    /// - Throws: `ConfigurationError` if an age is none, or out of range.
    fileprivate mutating func staleness(
        _ key: String, _ value: inout NudgeRules.Staleness
    ) throws(ConfigurationError) {
        var read = value
        let range = NudgeSettings.staleRange
        if isMapping(key) {
            try part(key) { (tree) throws(ConfigurationError) in
                try tree.duration("default", in: range, &read.standard)
                read.onDuty = try tree.duration("on_duty", in: range)
                read.onMission = try tree.duration("on_mission", in: range)
                read.ios = try tree.duration("ios", in: range)
                read.android = try tree.duration("android", in: range)
            }
        }
        try duration(key, in: range, &read.standard)
        value = read
    }

    /// Reads a duration that may be left out; nil if it is.
    /// - Throws: `ConfigurationError` if it is none, or beyond `range`.
    private mutating func duration(
        _ key: String, in range: ClosedRange<Milliseconds>
    ) throws(ConfigurationError) -> Milliseconds? {
        guard has(key) else {
            _ = takeFromFile(key)
            return nil
        }
        var span = range.lowerBound
        try duration(key, in: range, &span)
        return span
    }

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
