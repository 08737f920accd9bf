import RollcallCore
import Testing

@testable import Rollcall
@testable import RollcallBasis

/// The batches in which a subscriber is told. Source: E2.
@Suite struct SubscriptionBatchTests {
    private static let now = Timestamp(milliseconds: 1_795_219_200_000)

    private static func event(_ number: Int64, _ at: Timestamp) -> EventPage.Event {
        EventPage.Event(
            number: number, kind: .status, at: at, responder: [], region: [], body: Array("{}".utf8)
        )
    }

    @Test func `E2: what is too old behind a full batch is counted once, with the next one`() {
        let old = Self.now + Milliseconds(-90_000_000)
        let oldest = Self.now + Milliseconds(-86_400_000)
        // The wall was set back in between: what comes later was decided before.
        let events =
            (1...100).map { Self.event($0, Self.now) } + (101...103).map { Self.event($0, old) }
            + [Self.event(104, Self.now)]
        let page = EventPage(events: events, through: 110, isEnd: true)
        let settings = SubscriptionSettings()
        var first = SubscriptionBatch(behind: 0, epoch: 1)
        first.take(page, for: settings, from: oldest)
        #expect((first.count, first.skipped, first.through) == (100, 0, 100))
        let rest = EventPage(events: Array(events.dropFirst(100)), through: 110, isEnd: true)
        var second = SubscriptionBatch(behind: first.through, epoch: 1)
        second.take(rest, for: settings, from: oldest)
        #expect((second.count, second.skipped, second.through) == (1, 3, 110))
    }
}
