/// The times of one person that were adopted from the server; each is undone by later contact
/// (F20).
struct Adoption: Equatable, Sendable {
    /// Before every contact, so that nothing is undone that never was.
    static let never = ObservedTime(milliseconds: ObservedTime.distantPast.milliseconds - 1)

    var degradedAt = Self.never
    var offlineAt = Self.never

    /// Remembers the newest time that each status was declared for.
    mutating func note(_ status: Status, _ at: ObservedTime) {
        if status == .offline {
            offlineAt = max(offlineAt, at)
        } else {
            degradedAt = max(degradedAt, at)
        }
    }

    /// The worst status that was adopted and not undone.
    var worst: Status { best(.distantPast) }

    /// The best status that a contact at `instant` may give.
    func best(_ instant: ObservedTime) -> Status {
        instant <= offlineAt ? .offline : instant <= degradedAt ? .degraded : .online
    }
}

extension Adoption {
    mutating func code(_ archive: inout Archive) {
        archive.code(&degradedAt)
        archive.code(&offlineAt)
    }
}
