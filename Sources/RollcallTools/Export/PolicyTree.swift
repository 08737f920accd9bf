import RollcallBasis
import RollcallCore

/// Settings that decide as the tree of a `policy` line, which `Configuration(yaml:)` reads back to
/// what decides the same. Source: F5.
///
/// Who is told is not in it: names and matchers decide nothing that a replay prints, and where
/// receivers are nobody journals.
enum PolicyTree {
    /// The tree as JSON, which YAML reads as well.
    static func text(_ policy: Policy) -> [UInt8] {
        let configuration = Configuration(policy: policy)
        let said = Setting.all.filter { $0.replayed(configuration) != nil }
        return Array(object(said[...], configuration, at: 0).json.utf8)
    }

    private static func object(
        _ settings: ArraySlice<Setting>, _ configuration: Configuration, at depth: Int
    ) -> SettingValue {
        .mapping(
            Setting.groups(settings, at: depth).map { name, group in
                let isSetting = group.first?.parts.count == depth + 1
                let value = isSetting ? group.first?.replayed(configuration) : nil
                return (name, value ?? object(group, configuration, at: depth + 1))
            })
    }
}
