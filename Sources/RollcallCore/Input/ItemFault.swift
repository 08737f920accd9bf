/// The reason why an item or a part of it was not taken: the label `reason` of two metrics.
package enum ItemFault: UInt8, CaseIterable, Sendable {
    case malformed = 0
    case missing = 1
    case outOfRange = 2
    case duplicateKey = 3
    case unknownValue = 4
    /// The engine holds no more responders.
    case responderLimit = 5
    /// The person was erased and has not been named again (F17).
    case erased = 6

    /// There is no room for one more region, circle or version.
    case nameLimit = 7
    /// A name that looks like a place on earth.
    case coordinate = 8
    /// A member that nobody knows (P3).
    case unknownField = 9
    /// Nobody enrolled them, and what came by an input enrols nobody there (M3).
    case unknownResponder = 10

    /// The label's value.
    package var word: StaticString {
        switch self {
        case .malformed: "malformed"
        case .missing: "missing"
        case .outOfRange: "out_of_range"
        case .duplicateKey: "duplicate_key"
        case .unknownValue: "unknown_value"
        case .responderLimit: "responder_limit"
        case .erased: "erased"
        case .nameLimit: "name_limit"
        case .coordinate: "coordinate"
        case .unknownField: "unknown_field"
        case .unknownResponder: "unknown_responder"
        }
    }
}

/// One thing that was not taken, for the answer. It repeats nothing of the body but the names of
/// unknown fields, cut.
package struct ItemNote: Equatable, Sendable {
    /// The item's place in the body, from 0.
    package var index: Int
    /// The field, as a JSON pointer from the item on.
    package var pointer: String
    package var fault: ItemFault
    /// The fault, for people.
    package var detail: String

    /// Makes a note about the item at `index`.
    package init(index: Int, pointer: String, fault: ItemFault, detail: String) {
        self.index = index
        self.pointer = pointer
        self.fault = fault
        self.detail = detail
    }
}
