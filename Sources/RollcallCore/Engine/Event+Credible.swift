/// The limits of what an event from a file may say: the edges let nothing else through, so whatever
/// is beyond was damaged, or made up, and the engine's arithmetic need not reckon with it.
extension Event {
    /// Spans and steps of the wall: a century.
    private static let spanMax: Int64 = 3_155_760_000_000
    /// Writes refused between two turns.
    private static let refusedMax = 1_000_000_000

    /// False for a heartbeat, a skew, or a count of refused writes, that nobody can have told.
    package var isCredible: Bool {
        switch self {
        case .heartbeat(_, let every): (0...Self.spanMax).contains(every.count)
        case .skew(_, let skew): skew.count.magnitude <= UInt64(SourceSkews.skewMax)
        case .refused(let count): (0...Self.refusedMax).contains(count)
        case .reign(let reign):
            reign.number > 0 && (0...Self.spanMax).contains(reign.unobserved.count)
        case .membership(let change): change.isCredible
        case .cells(let map): map.isCredible
        case .split(let split): split.isCredible
        case .summaries(let list): list.allSatisfy(\.isCredible)
        case .masses(let list): list.allSatisfy(\.isCredible)
        case .items, .roster, .erase, .clock, .store, .policy, .silence, .take, .drill, .outcome,
            .pushed,
            .wake, .ask, .peersElsewhere, .fleetCell, .turn, .start, .done, .action, .subscription,
            .stop:
            true
        }
    }
}
