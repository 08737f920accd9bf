/// The counts of the engine since its store began; they go on over restarts (V2).
package struct Counters: Equatable, Sendable {
    /// From × to, index from × 4 + to.
    package var transitions = [Int](repeating: 0, count: 16)
    /// The transitions that the server told, from × to.
    package var serverTransitions = [Int](repeating: 0, count: 16)
    /// The model's status × the server's.
    package var disagreements = [Int](repeating: 0, count: 16)
    package var batches = 0
    /// By `UpdateOutcome`.
    package var updates = [Int](repeating: 0, count: 3)
    /// Updates captured more than 2 s after they were received (I6).
    package var skewedUpdates = 0
    /// Installs that followed another one of the same person (I3).
    package var installsReset = 0
    package var delay = Counters.delays
    /// The delay by duty state × platform, index duty × 4 + platform.
    package var delayBy = [Histogram](
        repeating: Histogram(bounds: Histogram.delayBounds), count: 16)
    /// Between locations, by duty state.
    package var interval = [Histogram](
        repeating: Histogram(bounds: Histogram.intervalBounds), count: 4)
    package var queueDepth = Histogram(bounds: Histogram.queueBounds)
    package var gaps = GapCounters()
    package var notifications = NotificationCounters()
    package var nudges = NudgeCounters()
    var dark = DarkTotals()
    /// Wall time of the last batch, from anyone.
    package var lastBatchAt: Timestamp?

    package init() {}

    /// The delay before anything was observed.
    static var delays: Histogram { Histogram(bounds: Histogram.delayBounds) }
}
