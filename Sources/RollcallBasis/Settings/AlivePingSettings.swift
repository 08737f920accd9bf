import RollcallCore
import RollcallSupport

/// The place that we tell that the watch works, for those who notice if we do not. Source: V8.
package struct AlivePingSettings: Equatable, Sendable {
    /// The URL that is asked for; nil for nobody. Any part of it may be secret.
    package var url: String?
    package var every = Milliseconds.seconds(60)

    /// Nobody.
    package init() {}
}

extension SettingKind where Value == String? {
    /// A URL of which no more is shown than where it leads; or the file that holds it.
    static var hiddenURL: SettingKind {
        SettingKind(shown: { .word($0.flatMap { Destination(url: $0)?.text } ?? "") }) {
            (tree, key, value) throws(ConfigurationError) in
            tree.dropEmpty(key)
            tree.dropEmpty(key + "_file")
            value = try tree.url(key, isNeeded: false)
        }
    }
}

extension AlivePingSettings: CustomStringConvertible, CustomReflectable {
    package var description: String { "alive_ping" }
    package var customMirror: Mirror { Mirror(self, children: []) }
}
