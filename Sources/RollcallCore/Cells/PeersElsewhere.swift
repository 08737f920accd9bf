/// Names of circles, and of regions for those who have no circle. Source: K3.
package struct PeerGroups: Equatable, Sendable {
    package var circles: [[UInt8]] = []
    package var regions: [[UInt8]] = []

    package init() {}

    package var count: Int { circles.count + regions.count }
    package var isEmpty: Bool { count == 0 }
}

/// The word of the other cells on whether anybody is active there in circles and regions: the company that
/// people of this cell have. Source: K3.
package enum PeersElsewhere: Equatable, Sendable {
    /// By names, as it came: groups in which somebody is active, and those in which nobody is.
    case groups(active: PeerGroups, nobody: PeerGroups)
    /// By the numbers of those who asked, as the journal keeps it: no name is in it.
    case people(accompanied: [Int], alone: [Int])

    /// The call in numbers as the journal keeps it.
    package var journalBytes: [UInt8] {
        guard case .people(var accompanied, var alone) = self else { return [] }
        return Archive.bytes { archive in
            archive.code(&accompanied)
            archive.code(&alone)
        }
    }

    /// The call that `journalBytes` were made of; nil if they are damaged.
    package init?(journalBytes: [UInt8]) {
        var (accompanied, alone): ([Int], [Int]) = ([], [])
        let isWhole = Archive.reads(part: journalBytes) { archive in
            archive.code(&accompanied)
            archive.code(&alone)
        }
        guard isWhole else { return nil }
        self = .people(accompanied: accompanied, alone: alone)
    }
}
