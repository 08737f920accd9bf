/// A change in whether somebody is known at all: they came, left the roster, or were erased. Source:
/// E1.
package struct PersonReport: Equatable, Sendable {
    /// The raw values are stored.
    package enum Change: UInt8, CaseIterable, Sendable {
        /// Somebody was named for the first time, or after an erasure.
        case enrolled = 0
        /// A roster does not name them any more (I7).
        case retired = 1
        /// All that was known of them is gone (F17).
        case erased = 2

        /// The word in answers.
        package var word: StaticString {
            switch self {
            case .enrolled: "enrolled"
            case .retired: "retired"
            case .erased: "erased"
            }
        }
    }

    package let change: Change
    /// Their number, or the hash of an erased id: both in one word, as decisions are many.
    private let who: UInt64

    /// Their number; nil of an erasure, which leads to nobody.
    package var number: Int? { change == .erased ? nil : Int(who) }
    /// The hash of an erased id (F17); nil of others.
    package var hash: UInt64? { change == .erased ? who : nil }

    /// Somebody of this number came, or left.
    package init(_ change: Change, number: Int) { (self.change, who) = (change, UInt64(number)) }

    /// Somebody whose id has this hash was erased.
    package init(erased hash: UInt64) { (change, who) = (.erased, hash) }
}
