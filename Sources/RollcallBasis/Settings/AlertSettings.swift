import RollcallCore
import RollcallSupport
import Yams

extension AlertRules.Rule {
    /// The annotation's name of the link to a runbook.
    private static let runbook = Array("runbook_url".utf8)
    /// Labels that Rollcall itself sets: an alert's identity and its severity.
    package static let ownLabels = ["alertname", "severity", "region", "source", "suspected"]
    /// Labels, and annotations, of one alert at most.
    static let labelsMax = 32
    /// Bytes of a value at most.
    static let valueBytesMax = 1024

    /// The link to what is to be done; empty without one. It is the last annotation.
    var runbookURL: [UInt8] {
        get { annotations.value(of: Self.runbook) }
        set {
            annotations = writtenAnnotations
            if !newValue.isEmpty { annotations.append(Label(Self.runbook, newValue)) }
        }
    }

    /// The annotations without that link.
    var writtenAnnotations: [Label] {
        get { annotations.filter { $0.name != Self.runbook } }
        set { annotations = newValue + annotations.filter { $0.name == Self.runbook } }
    }
}

extension SettingKind where Value == [Label] {
    /// A mapping of names that Rollcall does not know; none may be one of `taken`.
    static func pairs(taken: [String]) -> SettingKind {
        SettingKind(
            shown: { labels in
                .mapping(labels.map { (String(decoding: $0.name, as: UTF8.self), .text($0.value)) })
            },
            read: { (tree, key, value) throws(ConfigurationError) in
                value = try tree.pairs(key, taken: taken)
            })
    }
}

extension SettingKind where Value == [UInt8] {
    /// A link for people; empty is none.
    static var link: SettingKind {
        SettingKind(
            shown: { .word(String(decoding: $0, as: UTF8.self)) },
            replayed: { $0.isEmpty ? nil : .text($0) },
            read: { (tree, key, value) throws(ConfigurationError) in
                guard let node = tree.take(key), node.null == nil, node.string != "" else { return }
                guard let text = node.string, text.utf8.count <= AlertRules.Rule.valueBytesMax,
                    Destination(url: text) != nil
                else {
                    throw tree.fault(
                        key, "must be a link such as https://wiki.example.org/runbook",
                        node.string ?? "")
                }
                value = Array(text.utf8)
            })
    }
}

extension ConfigurationTree {
    /// Reads a mapping of names that Rollcall does not know; none may be one of `taken`.
    /// - Throws: `ConfigurationError` if it is no mapping, too large, or a name or a text in it is
    ///   wrong.
    fileprivate mutating func pairs(
        _ key: String, taken: [String]
    ) throws(ConfigurationError) -> [Label] {
        sources.askedForList(full(key))
        guard let node = takeFromFile(key), node.null == nil else { return [] }
        guard case .mapping(let mapping) = node else { throw fault(key, "must be a mapping", "") }
        var pairs: [Label] = []
        for (name, value) in mapping {
            let text = name.string ?? ""
            if sources.skipped.contains("\(full(key)).\(text)") { continue }
            func wrong(_ rule: String) -> ConfigurationError {
                ConfigurationError(
                    line: name.mark?.line ?? 0, message: "\(full(key)): \(text) \(rule)",
                    key: "\(full(key)).\(text)")
            }
            guard MatcherText.isName(text) else {
                throw wrong("must be a name of letters, digits and _, no digit first")
            }
            if taken.contains(text) {
                throw wrong(
                    text == "runbook_url"
                        ? "has a setting of its own beside \(key)" : "is set by Rollcall itself")
            }
            guard let content = value.string,
                (1...AlertRules.Rule.valueBytesMax).contains(content.utf8.count)
            else { throw wrong("must be a text of 1 to \(AlertRules.Rule.valueBytesMax) bytes") }
            pairs.append(Label(Array(text.utf8), Array(content.utf8)))
        }
        guard pairs.count <= AlertRules.Rule.labelsMax else {
            throw fault(
                key, "must hold at most \(AlertRules.Rule.labelsMax)", "\(pairs.count)")
        }
        return pairs.ordered()
    }
}
