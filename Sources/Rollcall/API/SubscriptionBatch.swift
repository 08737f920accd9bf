import RollcallBasis
import RollcallCore
import RollcallSupport

/// A batch of events as CloudEvents. Source: E2; CloudEvents 1.0.2, JSON format, "JSON Batch Format".
struct SubscriptionBatch {
    /// Events of one batch at most.
    static let eventsMax = 100

    /// The events in it.
    private(set) var count = 0
    /// The instant at which the first of them was decided; nil without any.
    private(set) var firstAt: Timestamp?
    /// The number up to which all is in it, or for others, or skipped.
    private(set) var through: Int64
    /// Events that were too old.
    private(set) var skipped = 0

    private let epoch: UInt64
    private let after: Int64
    private var bytes: [UInt8] = []
    /// True if some of what is skipped was cut.
    private var isCut = false
    /// The numbers of the first and the last event that is skipped.
    private var skippedRange: (first: Int64, last: Int64)?

    /// A batch of what is behind number `after`.
    init(behind after: Int64, epoch: UInt64) {
        (self.after, self.epoch) = (after, epoch)
        through = after
    }

    var isFull: Bool { count >= Self.eventsMax }

    /// Takes what a subscription asks for of a page that begins where the batch ends; what was decided
    /// before `oldest` is skipped.
    mutating func take(
        _ page: EventPage, for settings: SubscriptionSettings, from oldest: Timestamp
    ) {
        for event in page.events where Self.isFor(settings, event) {
            // The rest is looked at again, and what is too old of it counted then.
            guard !isFull else { return }
            if event.at < oldest {
                skipped += 1
                skippedRange = (skippedRange?.first ?? event.number, event.number)
            } else {
                append(event)
            }
            through = event.number
        }
        through = page.through
    }

    /// Goes on behind number `oldest`: what was before it is gone, and nobody knows how much it was.
    mutating func jump(to oldest: Int64) {
        skippedRange = (skippedRange?.first ?? after + 1, oldest)
        isCut = true
        through = oldest
    }

    private static func isFor(_ settings: SubscriptionSettings, _ event: EventPage.Event) -> Bool {
        (settings.kinds.isEmpty || settings.kinds.contains(event.kind))
            && (settings.region.isEmpty || settings.region == event.region)
    }

    private mutating func append(_ event: EventPage.Event) {
        if count > 0 { bytes.append(UInt8(ascii: ",")) }
        count += 1
        firstAt = firstAt ?? event.at
        let cursor = EventCursor(epoch: epoch, number: event.number).text
        begin("\(event.kind.word)", id: cursor, at: event.at)
        if !event.responder.isEmpty {
            bytes += Array(",\"subject\":".utf8)
            JSONWriter.string(event.responder, to: &bytes)
        }
        bytes += Array(",\"data\":".utf8)
        bytes += event.body
        bytes.append(UInt8(ascii: "}"))
    }

    private mutating func begin(_ kind: String, id: String, at: Timestamp) {
        let source = String(decoding: HexText.bytes(epoch), as: UTF8.self)
        bytes += Array(
            "{\"specversion\":\"1.0\",\"id\":\"\(id)\",\"source\":\"/rollcall/\(source)\"".utf8)
        bytes += Array(",\"type\":\"rollcall.\(kind)\",\"time\":\"".utf8)
        RFC3339.append(at, to: &bytes)
        bytes += Array("\",\"datacontenttype\":\"application/json\"".utf8)
    }

    /// Returns the body; nil if there is nothing to be told. What was skipped is told first.
    func body(now: Timestamp) -> [UInt8]? {
        guard count > 0 || skippedRange != nil else { return nil }
        var whole = [UInt8(ascii: "[")]
        if let skippedRange {
            var notice = SubscriptionBatch(behind: after, epoch: epoch)
            let first = EventCursor(epoch: epoch, number: skippedRange.first).text
            let last = EventCursor(epoch: epoch, number: skippedRange.last).text
            notice.begin("skipped", id: "skipped-\(skippedRange.first)-\(last)", at: now)
            let count = isCut ? "null" : "\(skipped)"
            notice.bytes += Array(
                ",\"data\":{\"events\":\(count),\"first\":\"\(first)\",\"last\":\"\(last)\"}}".utf8)
            whole += notice.bytes
            if self.count > 0 { whole.append(UInt8(ascii: ",")) }
        }
        whole += bytes
        whole.append(UInt8(ascii: "]"))
        return whole
    }

    /// The id of the message that carries `body`: whoever knows it has seen this body.
    func id(of body: [UInt8]) -> String {
        let hash = String(
            decoding: HexText.bytes(StableHash.of(body.span, 0..<body.count)), as: UTF8.self)
        return "evt_\(EventCursor(epoch: epoch, number: through).text)_\(hash)"
    }
}
