import RollcallCore
import RollcallSupport
import Yams

/// A setting of each receiver in the list, beside its name and where it is.
struct ReceiverField: Sendable {
    let key: String
    /// True for what only receivers of this kind have.
    private let kind: ReceiverKind?
    private let read:
        @Sendable (inout ConfigurationTree, inout Receiver) throws(ConfigurationError) -> Void
    /// The value as a file has it; nil where it says nothing.
    private let shown: @Sendable (Receiver) -> SettingValue?

    private init<Value>(
        _ key: String, _ kind: SettingKind<Value>,
        _ path: any WritableKeyPath<Receiver, Value> & Sendable, of only: ReceiverKind? = nil,
        isShown: @escaping @Sendable (Receiver) -> Bool = { _ in true }
    ) {
        self.key = key
        self.kind = only
        read = { (tree, receiver) throws(ConfigurationError) in
            try kind.read(&tree, key, &receiver[keyPath: path])
        }
        shown = { isShown($0) ? kind.shown($0[keyPath: path]) : nil }
    }

    /// The name of the setting that names who takes what a receiver does not.
    static let fallback = "fallback"
    private static let after = "fallback_after"
    /// The name of the setting that says which receiver is told only of what nobody has taken.
    static let escalation = "escalate_after"

    /// All of them, in the order in which they are shown.
    static let all = [
        ReceiverField("match", .matchers, \.match) { !$0.match.isEmpty },
        ReceiverField("send_resolved", .flag, \.sendsResolved) { !$0.sendsResolved },
        ReceiverField(
            "repeat_interval", .duration(from: .seconds(60), to: .seconds(30 * 86_400)),
            \.repeatInterval),
        // Told each minute, an Alertmanager survives a few that are lost.
        ReceiverField(
            "resolve_timeout", .duration(from: .seconds(4 * 60), to: .seconds(86_400)),
            \.resolveTimeout, of: .alertmanager),
        ReceiverField(fallback, .name, \.fallback) { !$0.fallback.isEmpty },
        // Less than it is tried for.
        ReceiverField(
            after, .duration(from: .seconds(5), to: .seconds(12 * 3600)), \.fallbackAfter
        ) { !$0.fallback.isEmpty },
        ReceiverField(
            escalation, .duration(from: .seconds(0), to: .seconds(86_400)), \.escalateAfter
        ) { $0.escalateAfter.count > 0 },
    ]

    /// Reads all of a receiver, what only its kind has last. Throws `ConfigurationError` if one is
    /// wrong, or it says when somebody else is told, but not who.
    static func read(
        _ receiver: inout Receiver, _ tree: inout ConfigurationTree
    ) throws(ConfigurationError) {
        for field in all where field.kind == nil { try field.read(&tree, &receiver) }
        if tree.isGiven(after), receiver.fallback.isEmpty, !tree.isWrong(fallback) {
            throw tree.fault(after, "says when, but fallback does not say who", "")
        }
        for field in all where field.kind == receiver.kind { try field.read(&tree, &receiver) }
    }

    // MARK: - As they may be shown

    /// The list as a file has it, without what is secret.
    static func list(_ configuration: Configuration) -> SettingValue {
        if configuration.policy.receivers == [.standard] { return .list([]) }
        return .list(
            configuration.policy.receivers.map { receiver in
                .mapping([("name", name(receiver))] + members(receiver, configuration))
            })
    }

    /// The receivers by their names.
    static func entries(_ configuration: Configuration) -> [(name: String, text: String)] {
        configuration.policy.receivers.map { receiver in
            (name(receiver).yaml, SettingValue.members(members(receiver, configuration)))
        }
    }

    private static func name(_ receiver: Receiver) -> SettingValue {
        .word(String(decoding: receiver.name, as: UTF8.self))
    }

    private static func members(
        _ receiver: Receiver, _ configuration: Configuration
    ) -> [(key: String, value: SettingValue)] {
        let places = configuration.address(of: receiver)?.destinations.joined(separator: " ") ?? ""
        let fields = all.filter { [nil, receiver.kind].contains($0.kind) }.compactMap { field in
            field.shown(receiver).map { (key: field.key, value: $0) }
        }
        return [("\(receiver.kind.word)", .plain("{\(places)}"))] + fields
    }
}

extension SettingKind where Value == [UInt8] {
    /// The name of another one.
    fileprivate static var name: SettingKind {
        let text = SettingKind<String>.text
        return SettingKind(shown: { text.shown(String(decoding: $0, as: UTF8.self)) }) {
            (tree, key, value) throws(ConfigurationError) in
            var name = ""
            try tree.read(key, text, &name)
            value = Array(name.utf8)
        }
    }
}

extension SettingKind where Value == [LabelMatcher] {
    /// Conditions: a mapping of names to values, a list of `name=value`, or that no alert is meant.
    fileprivate static var matchers: SettingKind {
        SettingKind(
            shown: { matchers in
                if matchers == [.never] { return .plain(MatcherText.none) }
                return .list(matchers.map { .text(Array(MatcherText.text($0).utf8)) })
            },
            read: { (tree, key, value) throws(ConfigurationError) in
                value = try tree.matchers(key)
            })
    }
}

extension ConfigurationTree {
    /// Reads conditions: a mapping of names to values, a list of `name=value`, or that no alert is
    /// meant. Throws `ConfigurationError` if they are not understood.
    fileprivate mutating func matchers(
        _ key: String
    ) throws(ConfigurationError) -> [LabelMatcher] {
        guard let node = takeFromFile(key), node.null == nil else { return [] }
        if node.string == MatcherText.none { return [.never] }
        var matchers: [LabelMatcher] = []
        do throws(MatcherText.Fault) {
            switch node {
            case .mapping(let mapping):
                for (name, value) in mapping {
                    let text = value.string ?? ""
                    let isEqual = !text.hasPrefix("!=")
                    matchers.append(
                        try MatcherText.matcher(
                            name: name.string ?? "", isEqual: isEqual,
                            value: isEqual ? text : String(text.dropFirst(2))))
                }
            case .sequence(let sequence):
                for element in sequence {
                    matchers.append(try MatcherText.matcher(element.string ?? ""))
                }
            default: throw MatcherText.Fault(reason: "must be a mapping, a list, or none")
            }
            guard matchers.count <= MatcherText.countMax else {
                throw MatcherText.Fault(reason: "must hold at most \(MatcherText.countMax)")
            }
        } catch {
            throw fault(key, error.reason, "")
        }
        return matchers
    }
}

extension ReceiverAddress {
    /// The places of it, as far as they may be shown: scheme, host and port.
    var destinations: [String] {
        let schemes = kind == .email ? Destination.mailSchemes : Destination.webSchemes
        return urls.compactMap { Destination(url: $0, schemes: schemes)?.text }
    }
}

extension Configuration {
    /// Returns how a receiver is reached; nil if nothing says.
    func address(of receiver: Receiver) -> ReceiverAddress? {
        receivers.first { $0.name.utf8.elementsEqual(receiver.name) }
    }
}
