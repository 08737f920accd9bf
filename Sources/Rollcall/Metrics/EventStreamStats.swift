import RollcallCore
import Synchronization

/// The counts of streams of events. Any thread counts. Source: E3.
final class EventStreamStats: Sendable {
    /// Streams that are open now.
    let open = Atomic(0)
    /// Streams that were ended because they took nothing.
    let cut = Atomic(0)

    init() {}

    /// Appends the families.
    func append(to page: inout Exposition) {
        page.family("rollcall_event_streams", .gauge, "Streams of events that are open.")
        page.sample(Quantity(open.load(ordering: .relaxed)))
        page.family(
            "rollcall_event_streams_cut", .counter,
            "Streams of events that were ended because their readers took nothing.")
        page.sample(Quantity(cut.load(ordering: .relaxed)))
    }
}
