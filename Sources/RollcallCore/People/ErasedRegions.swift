/// The regions in which somebody who is erased is known to have been. Source: I11,
/// DELETE /v1/responders/{id}.
package struct ErasedRegions: Equatable, Sendable {
    /// Regions noted of one person; of somebody who was in more, any may have been theirs.
    package static let countMax = 256
    /// Nobody noted them.
    package static let any = Self(names: nil)

    /// Nil if any region may have been theirs.
    private var names: Set<[UInt8]>?

    private init(names: Set<[UInt8]>?) { self.names = names }

    /// Of somebody of whom none is known yet.
    package init() { names = [] }

    /// Reads what `journalBytes` wrote; any region if it is nothing, or unreadable.
    package init(journalBytes bytes: [UInt8]) {
        var archive = Archive(reading: bytes)
        var list: [[UInt8]] = []
        archive.code(&list)
        names = bytes.isEmpty || archive.isDamaged || !archive.isAtEnd ? nil : Set(list)
    }

    /// As it is stored; nothing if any region may have been theirs.
    package var journalBytes: [UInt8] {
        guard let names else { return [] }
        var list = names.sorted { $0.lexicographicallyPrecedes($1) }
        var archive = Archive()
        archive.code(&list)
        return archive.bytes
    }

    /// Notes a region; the empty name is none.
    package mutating func note(_ name: [UInt8]) {
        if !name.isEmpty { names?.insert(name) }
        if let names, names.count > Self.countMax { self = .any }
    }

    /// Notes the regions of somebody else, too.
    package mutating func join(_ others: Self) {
        guard let more = others.names else { return self = .any }
        names?.formUnion(more)
    }

    func contains(_ name: [UInt8]) -> Bool { names?.contains(name) ?? true }
}
