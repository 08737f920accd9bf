/// The names of a phone by which what happened to it can be counted. Source: P6.
package enum PhoneName: CaseIterable, Sendable {
    case manufacturer, model, appVersion, osVersion

    /// The word of a query, and of a member.
    package var word: StaticString {
        switch self {
        case .manufacturer: "manufacturer"
        case .model: "model"
        case .appVersion: "app_version"
        case .osVersion: "os_version"
        }
    }

    /// Returns the name as the phone told it; empty if it did not.
    package func text(in facts: GapFacts) -> [UInt8] {
        switch self {
        case .manufacturer: facts.manufacturer
        case .model: facts.model
        case .appVersion: facts.appVersion
        case .osVersion: facts.osVersion
        }
    }
}
