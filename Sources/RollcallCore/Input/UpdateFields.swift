/// Fields of an update, as they are found in a body. Source: I12.
struct UpdateFields: OptionSet {
    let rawValue: UInt8

    static let sequence = Self(rawValue: 1)
    static let capturedAt = Self(rawValue: 2)
    static let fix = Self(rawValue: 4)

    init(rawValue: UInt8) { self.rawValue = rawValue }

    /// The field of this name; nil if there is none.
    init?(_ name: ShortWord) {
        if name == "sequence" {
            self = .sequence
        } else if name == "captured_at" {
            self = .capturedAt
        } else if name == "fix" {
            self = .fix
        } else {
            return nil
        }
    }

    /// The name of one.
    var name: StaticString {
        switch self {
        case .sequence: "sequence"
        case .capturedAt: "captured_at"
        default: "fix"
        }
    }
}
