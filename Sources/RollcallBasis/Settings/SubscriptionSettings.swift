import RollcallCore
import RollcallSupport
import Yams

/// A subscription: somebody to whom events are sent as they happen. Source: E2.
package struct SubscriptionSettings: Equatable, Sendable {
    /// Subscriptions at most.
    package static let countMax = 16

    /// Its name, by which its place among the events is kept.
    package var name = ""
    /// The address that the events go to; any part of it may be secret. Empty where secrets decide
    /// nothing.
    package var url = ""
    /// The keys that messages are signed with, as of a webhook; none for unsigned ones.
    package var signingKeys: [SigningKey] = []
    package var bearer: Secret?
    package var authorities = Authorities()
    /// The kinds that are sent; all if it is empty.
    package var kinds: [EventKind] = []
    /// The region that events must be about; empty for all.
    package var region: [UInt8] = []
    /// The age beyond which an event is skipped, and the subscriber is told how many were.
    package var lagMax = Milliseconds.seconds(86_400)

    /// A subscription without a name.
    init() {}

    /// True of one whose subscriber may have mended what it refused: it is tried again.
    package func isElsewhere(than other: SubscriptionSettings) -> Bool {
        url != other.url || signingKeys != other.signingKeys || bearer != other.bearer
            || authorities != other.authorities
    }
}

extension SubscriptionSettings: CustomStringConvertible, CustomReflectable {
    package var description: String { "subscription \(name)" }
    package var customMirror: Mirror { Mirror(self, children: []) }
}

extension SubscriptionSettings {
    /// As a file has it, without secrets.
    var shown: SettingValue { .mapping([("name", .word(name))] + members) }

    /// Returns the settings that stand behind the name.
    var members: [(key: String, value: SettingValue)] {
        var members: [(key: String, value: SettingValue)] = [
            ("url", .word(Destination(url: url)?.text ?? ""))
        ]
        if !kinds.isEmpty { members.append(("kinds", .list(kinds.map { .word("\($0.word)") }))) }
        if !region.isEmpty { members.append(("region", .text(region))) }
        members.append(("max_lag", .word(SettingText.of(lagMax))))
        return members
    }

    /// Says in words what is sent.
    var words: String {
        let what =
            kinds.isEmpty
            ? "All events" : "\(kinds.map { "\($0.word)" }.joined(separator: ", ")) events"
        let of = region.isEmpty ? "" : " of region \(String(decoding: region, as: UTF8.self))"
        let signed = signingKeys.isEmpty ? "unsigned" : "signed"
        return
            "\(what)\(of) are sent to \(name), \(signed), in order and at least once; what is older "
            + "than \(SettingText.of(lagMax)) is skipped, and told."
    }

    // MARK: - Reading

    /// Reads all at the top of a file.
    /// - Throws: `ConfigurationError` if one is wrong, or there are too many.
    static func list(
        _ top: inout ConfigurationTree
    ) throws(ConfigurationError) -> [SubscriptionSettings] {
        var found: [SubscriptionSettings] = []
        try top.sections("subscriptions") { (tree) throws(ConfigurationError) in
            let one = try read(&tree)
            if found.contains(where: { $0.name == one.name }) {
                throw tree.fault("name", "is another subscription's already", one.name)
            }
            if found.count == countMax {
                throw tree.fault(
                    "name", "is one too many: there may be \(countMax) subscriptions", one.name)
            }
            found.append(one)
        }
        return found
    }

    private static func read(
        _ tree: inout ConfigurationTree
    ) throws(ConfigurationError) -> SubscriptionSettings {
        var one = SubscriptionSettings()
        one.name = try tree.name(atMost: ReceiverSettings.nameMax)
        if tree.sources.opensSecrets, let missing = tree.sources.missingCurl() {
            throw tree.fault("url", "cannot be reached: \(missing)", "")
        }
        one.url = try tree.url("url") ?? ""
        one.bearer = try tree.visibleSecret("bearer_token")
        one.signingKeys = try tree.signingKeys()
        if let path = try tree.authorities("ca_file") { one.authorities = Authorities(extra: path) }
        var kinds: [[UInt8]] = []
        try tree.read("kinds", .names, &kinds)
        for kind in kinds {
            let text = String(decoding: kind, as: UTF8.self)
            let words = EventKind.allCases.map { "\($0.word)" }
            guard let place = words.firstIndex(of: text) else {
                throw tree.fault(
                    "kinds",
                    "must hold some of \(words.joined(separator: ", "))"
                        + Spelling.hint(for: text, among: words), text)
            }
            one.kinds.append(EventKind.allCases[place])
        }
        var region = ""
        try tree.read("region", .text, &region)
        one.region = Array(region.utf8)
        try tree.read(
            "max_lag", .duration(from: .seconds(60), to: .seconds(30 * 86_400)), &one.lagMax)
        return one
    }
}
