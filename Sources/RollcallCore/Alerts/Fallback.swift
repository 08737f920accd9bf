/// The reason why somebody is told whom the matchers do not name: a receiver that they name has not
/// taken it. Source: rule D3.
package struct Fallback: Equatable, Sendable {
    /// The receiver that has not taken it.
    package var receiver: [UInt8]
    /// For how long it had not when its fallback was given it, in running time.
    package var after: Milliseconds

    /// `receiver` had not taken it `after` it was decided, or after a start.
    package init(receiver: [UInt8] = [], after: Milliseconds = Milliseconds(0)) {
        self.receiver = receiver
        self.after = after
    }

    mutating func code(_ archive: inout Archive) {
        archive.code(&receiver)
        archive.code(&after)
    }
}

extension [NoticeMember] {
    /// Codes why somebody is told of some of them, behind the members themselves: most are told of by
    /// matchers.
    mutating func codeFallbacks(_ archive: inout Archive) {
        var fallbacks = enumerated().compactMap { place, member in
            member.fallback.map { (place: place, fallback: $0) }
        }
        archive.code(&fallbacks, empty: (place: 0, fallback: Fallback())) { archive, entry in
            archive.code(&entry.place)
            entry.fallback.code(&archive)
        }
        guard archive.isReading else { return }
        for (place, fallback) in fallbacks {
            guard indices.contains(place) else { return archive.refuse() }
            self[place].fallback = fallback
        }
    }
}
