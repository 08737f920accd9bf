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
        guard case .mapping(let members) = object(said[...], configuration, at: 0) else {
            return []
        }
        return Array(SettingValue.mapping(members + role(policy)).json.utf8)
    }

    /// The settings that give a watch this part in a fleet. Which cells there are decides nothing: they have names
    /// that nobody has.
    private static func role(_ policy: Policy) -> [(key: String, value: SettingValue)] {
        let value: SettingValue
        switch policy.role {
        case .whole: return []
        case .cell:
            let name = policy.cell.isEmpty ? Array("cell".utf8) : policy.cell
            value = .mapping([("cell", .text(name))])
        case .fleet:
            let cell = SettingValue.mapping([("url", .word("http://cell.invalid"))])
            value = .mapping([("cells", .mapping([("cell", cell)]))])
        }
        return [("cluster", value)]
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
