/// The tables of names, which have slices of their own. The raw values are stored.
package enum NameTableKind: UInt8, CaseIterable, Sendable {
    case regions = 0
    case circles = 1
    case versions = 2
}

extension NameTableKind {
    /// The fact that such a name is.
    var fact: FactSet {
        switch self {
        case .regions: .region
        case .circles: .circles
        case .versions: .versions
        }
    }

    /// The member of an item that tells such a name; of a version, what both begin with.
    package var field: StaticString {
        switch self {
        case .regions: "region"
        case .circles: "circles"
        case .versions: "app_version"
        }
    }

    /// The setting under `limits` that bounds how many there are.
    package var setting: StaticString {
        switch self {
        case .regions: "region_names"
        case .circles: "circle_names"
        case .versions: "version_names"
        }
    }

    /// The word in labels.
    package var word: StaticString {
        switch self {
        case .regions: "region"
        case .circles: "circle"
        case .versions: "version"
        }
    }
}
