/// A change of who is a member of a watch on several machines, or of what its entries may hold. It is
/// an event of the log, so that all members know the same at the same turn. Source: S10, S17.
package enum MembershipChange: Equatable, Sendable {
    /// A member follows, is alive, and nobody has closed the list: the leader lists it.
    case found([UInt8])
    /// Somebody names a member. From then on nobody is listed who was not named.
    case added([UInt8])
    /// Somebody takes a member out. From then on nobody is listed who was not named.
    case removed([UInt8])
    /// All members that are alive read entries of this level.
    case level(Int64)

    /// The member that it is about; empty for none.
    package var member: [UInt8] {
        switch self {
        case .found(let name), .added(let name), .removed(let name): name
        case .level: []
        }
    }
}

/// The reason why a change of the list of members was not taken.
package enum MembershipFault: Equatable, Sendable {
    /// It is a member already.
    case known
    /// There is no such member.
    case unknown
    /// `Membership.membersMax` are members.
    case full
    /// It is the only one.
    case last
    /// A member that is alive does not read such entries.
    case early
}

/// The members of a watch on several machines, as its log names them. Who is not among them only
/// follows. Source: S17.
///
///     open ── the leader lists whoever is alive ──┐
///       └── somebody adds or removes one ──► closed: named ones only
package struct Membership: Equatable, Sendable {
    /// Members of one watch at most.
    package static let membersMax = 16
    /// Bytes of a member's name at most.
    package static let nameBytesMax = 64
    /// The level that every version reads: turns and reigns.
    package static let firstLevel: Int64 = 1
    /// From this level on entries may change the list.
    package static let levelOfNames: Int64 = 2

    /// In the order of their bytes.
    package private(set) var names: [[UInt8]] = []
    /// True once somebody has added or removed one.
    package private(set) var isClosed = false
    /// The level of what entries may hold, as far as all members read it. It never goes back (S10).
    package private(set) var level = firstLevel

    /// Nobody is listed, and the list is open.
    package init() {}

    /// True if `name` may come to lead.
    package func mayLead(_ name: [UInt8]) -> Bool { !isClosed || names.contains(name) }

    /// The members that must hold what is let go of, if `noted` have said what they hold: those that
    /// are listed, and the others as well while the list is open.
    package func counted(noted: [[UInt8]]) -> [[UInt8]] {
        isClosed ? names : names + noted.filter { !names.contains($0) }
    }

    /// Returns why a change would not be taken; nil if it would be.
    package func fault(of change: MembershipChange) -> MembershipFault? {
        if case .level(let level) = change { return level > self.level ? nil : .known }
        guard level >= Self.levelOfNames else { return .early }
        let isThere = names.contains(change.member)
        let isFull = names.count >= Self.membersMax
        switch change {
        case .found: return isThere || isClosed ? .known : isFull ? .full : nil
        // To name one that is listed closes the list.
        case .added: return isThere ? isClosed ? .known : nil : isFull ? .full : nil
        case .removed: return !isThere ? .unknown : names.count == 1 ? .last : nil
        case .level: return nil
        }
    }

    /// Takes a change; returns why not.
    mutating func take(_ change: MembershipChange) -> MembershipFault? {
        if let fault = fault(of: change) { return fault }
        switch change {
        case .found(let name): insert(name)
        case .added(let name):
            insert(name)
            isClosed = true
        case .removed(let name):
            names.removeAll { $0 == name }
            isClosed = true
        case .level(let level): self.level = level
        }
        return nil
    }

    private mutating func insert(_ name: [UInt8]) {
        guard !names.contains(name) else { return }
        let place = names.firstIndex { name.lexicographicallyPrecedes($0) } ?? names.count
        names.insert(name, at: place)
    }

    mutating func code(_ archive: inout Archive) {
        archive.code(&names)
        archive.code(&isClosed)
        archive.code(&level)
        if archive.isReading, level < Self.firstLevel { level = Self.firstLevel }
    }
}

extension MembershipChange {
    /// As the journal keeps it.
    package var journalBytes: [UInt8] {
        var copy = self
        return Archive.bytes { copy.code(&$0) }
    }

    /// The change of some bytes; nil if they make no sense.
    package init?(journalBytes: [UInt8]) {
        self = .level(0)
        if !Archive.reads(part: journalBytes, { code(&$0) }) { return nil }
    }

    private mutating func code(_ archive: inout Archive) {
        var (kind, name, level) = (Int64(0), member, Int64(0))
        switch self {
        case .found: kind = 1
        case .added: kind = 2
        case .removed: kind = 3
        case .level(let new): (kind, level) = (4, new)
        }
        archive.code(&kind)
        archive.code(&name)
        archive.code(&level)
        guard archive.isReading else { return }
        switch kind {
        case 1: self = .found(name)
        case 2: self = .added(name)
        case 3: self = .removed(name)
        case 4: self = .level(level)
        default: archive.refuse()
        }
    }

    /// False for what nobody can have said: it was damaged, or made up.
    package var isCredible: Bool {
        switch self {
        case .found(let name), .added(let name), .removed(let name):
            (1...Membership.nameBytesMax).contains(name.count)
                && name.allSatisfy { (0x21...0x7E).contains($0) && $0 != UInt8(ascii: "/") }
        case .level(let level): (Membership.firstLevel...1_000_000).contains(level)
        }
    }

    /// The word for it in a replay.
    package var word: StaticString {
        switch self {
        case .found: "found"
        case .added: "added"
        case .removed: "removed"
        case .level: "level"
        }
    }
}
