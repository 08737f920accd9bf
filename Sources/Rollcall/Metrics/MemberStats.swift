import RollcallCore
import RollcallSupport

/// The families of a member of a watch on several machines. On one machine there are none (S16).
package struct MemberStats {
    private let board: MemberBoard
    /// True while this member may say that it watches (S6).
    let isPermitted: Bool

    /// The stats of a member that holds its permit, or not.
    init(_ board: MemberBoard, isPermitted: Bool) {
        self.board = board
        self.isPermitted = isPermitted
    }

    /// Appends the families.
    func append(to page: inout Exposition) {
        let standing = board.standing
        page.family(
            "rollcall_member_leading", .gauge, "1 at the member that takes writes, 0 at the others."
        )
        page.sample(Quantity(board.isLeading()))
        page.family(
            "rollcall_member_confirmed", .gauge,
            "1 if this member held all of the log at most cluster.silence ago.")
        page.sample(Quantity(board.isConfirmed()))
        page.family("rollcall_member_reign", .gauge, "Leaders that the watch has had.")
        page.sample(Quantity(standing.place.reign))
        page.family(
            "rollcall_member_position", .gauge, "The last entry of the log that is held here.")
        page.sample(Quantity(standing.place.position))
        page.family(
            "rollcall_member_lag_entries", .gauge, "Entries of the log that are not held here yet.")
        page.sample(Quantity(standing.lag))
        page.family(
            "rollcall_member_lost", .gauge,
            "1 if the log is not the one that this member followed: nobody leads from it.")
        page.sample(Quantity(standing.role == .lost))
        page.family(
            "rollcall_member_single_copy", .gauge,
            "1 at the leader while the log has let go of what no second member is known to hold.")
        page.sample(Quantity(standing.isSingleCopy))
        page.family(
            "rollcall_member_divergent", .gauge,
            "1 if the state here is not that of the others: this member never leads.")
        page.sample(Quantity(standing.isDivergent))
        page.family(
            "rollcall_member_state_differences", .counter,
            "Times that the state here was found to be another than the leader's.")
        page.sample(Quantity(standing.differences))
        page.family(
            "rollcall_member_noted_position", .gauge,
            "The last entry that a member said it holds durably.")
        for note in standing.notes {
            page.sample(["member": .bytes(note.member)], Quantity(note.position))
        }
        page.family(
            "rollcall_member_noted_timestamp_seconds", .gauge,
            "When a member last said what it holds, by its own clock, or 0.")
        for note in standing.notes {
            page.sample(["member": .bytes(note.member)], Quantity(note.wall))
        }
        // Who is listed and never said anything is missing, too.
        for name in standing.membership.names
        where !standing.notes.contains(where: { $0.member == name }) {
            page.sample(["member": .bytes(name)], 0)
        }
        board.passedOn.append(to: &page)
    }
}
