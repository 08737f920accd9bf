/// The place of a subscriber: behind which event they are told next. Source: E2.
package struct SubscriptionMark: Equatable, Sendable {
    /// The subscription's name in the settings.
    package var name: [UInt8]
    /// The number of the last event that they took, or that was not for them; below 0 to forget them.
    package var number: Int64

    /// The subscription `name` stands behind event `number`.
    package init(name: [UInt8], number: Int64) {
        self.name = name
        self.number = number
    }

    /// The mark as the journal keeps it.
    package var journalBytes: [UInt8] {
        var copy = self
        return Archive.bytes { copy.code(&$0) }
    }

    /// The mark that `journalBytes` were made of; nil if they are damaged.
    package init?(journalBytes: [UInt8]) {
        self.init(name: [], number: 0)
        if !Archive.reads(part: journalBytes, { code(&$0) }) { return nil }
    }

    mutating func code(_ archive: inout Archive) {
        archive.code(&name)
        archive.code(&number)
    }
}

/// The places of all subscribers. They are state of the watch, so that a restart and the next leader
/// go on where the last one was. Source: E2.
package struct Subscriptions: Equatable, Sendable {
    /// Marks at most: as many as the settings may name, and some that they do not name any more.
    static let countMax = 64

    /// By name.
    private(set) var marks: [SubscriptionMark] = []

    var isEmpty: Bool { marks.isEmpty }

    /// Returns behind which event the subscription of a name stands; nil if it never began.
    package func number(of name: [UInt8]) -> Int64? { marks.first { $0.name == name }?.number }

    /// The names of all.
    package var names: [[UInt8]] { marks.map(\.name) }

    /// Takes a mark: what is behind it is told. No subscription goes back. False if there is no room.
    @discardableResult
    mutating func take(_ mark: SubscriptionMark) -> Bool {
        let place = marks.firstIndex { !$0.name.lexicographicallyPrecedes(mark.name) }
        if let place, marks[place].name == mark.name {
            if mark.number < 0 {
                marks.remove(at: place)
            } else {
                marks[place].number = max(marks[place].number, mark.number)
            }
        } else if mark.number >= 0, marks.count < Self.countMax {
            marks.insert(mark, at: place ?? marks.count)
        } else {
            return mark.number < 0
        }
        return true
    }

    mutating func code(_ archive: inout Archive) {
        archive.code(&marks, empty: SubscriptionMark(name: [], number: 0)) { $1.code(&$0) }
    }
}
