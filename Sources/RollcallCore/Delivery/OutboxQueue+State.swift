/// The state of an address: what it is doing, and what is left for it. Source: A9.
extension OutboxQueue {
    /// The one thing that the address is being sent.
    enum Busy: Equatable, Sendable {
        case message(Int64)
        case refresh
    }

    /// An end that was told, for those who are told it again for a while.
    struct Ended: Equatable, Sendable {
        var member: NoticeMember
        var until: RunningTime
    }

    /// The messages to be sent, by notice: for what is rare.
    var open: [OutboxMessage] { waiting.inOrder }

    /// Messages that are not finished and not being sent.
    var waitingCount: Int { waiting.count - (busy == nil || busy == .refresh ? 0 : 1) }

    /// True once nothing is left of an address that is gone: what it took stays true, and is what it
    /// knows if it is named again.
    var isOver: Bool { isGone && busy == nil && waiting.isEmpty && known.isEmpty }
}
