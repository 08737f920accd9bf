/// The people whom the server declared worse within 60 s although we heard them: it may be the one
/// that is blind (L7).
struct DeclaredWorse: Sendable {
    private static let countMin = 20

    private var people = RecentPeople()

    mutating func add(_ number: Int, now: ObservedTime) { people.add(number, now: now) }

    /// Takes an erased person out.
    mutating func forget(_ number: Int) { people.remove([number]) }

    mutating func isMass(active: Int, now: ObservedTime) -> Bool {
        people.expire(now)
        return people.count >= Self.countMin && people.count * 2 >= active
    }

    mutating func clampInstants(to now: ObservedTime) { people.clampInstants(to: now) }

    mutating func code(_ archive: inout Archive) { people.code(&archive) }
}
