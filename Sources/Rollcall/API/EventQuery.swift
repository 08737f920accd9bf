import RollcallBasis
import RollcallCore
import RollcallSupport

/// A place among the events: behind the one of this number. Numbers grow, over restarts and
/// fail-overs, for as long as their epoch is the same. Source: E1.
struct EventCursor: Equatable, Sendable {
    var epoch: UInt64
    /// 0 before the first.
    var number: Int64

    init(epoch: UInt64, number: Int64) { (self.epoch, self.number) = (epoch, number) }

    /// The cursor that a text stands for; nil if it is none.
    init?(_ text: some StringProtocol) {
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 2, let epoch = HexText.value(Array(parts[0].utf8)),
            let number = Int64(parts[1]), number >= 0
        else { return nil }
        (self.epoch, self.number) = (epoch, number)
    }

    /// The text in answers and parameters.
    var text: String { String(decoding: HexText.bytes(epoch), as: UTF8.self) + "-\(number)" }
}

/// The events that a question is about.
struct EventQuery: Sendable {
    /// The place at which the answer begins.
    enum Start: Equatable, Sendable {
        /// The oldest event for a page, the newest for a stream.
        case usual
        /// Behind the newest event.
        case now
        case behind(EventCursor)
    }

    /// Seconds that somebody may wait.
    static let waitMax = 60
    /// Events of a page without a limit.
    static let limitStandard = 100

    var start = Start.usual
    /// Those that are asked for; all of them if it is empty.
    var kinds: [EventKind] = []
    var region: [UInt8]?
    var responder: [UInt8]?
    var limit = limitStandard
    /// Seconds to wait for an event if there is none.
    var wait = 0
    /// True if a stream tells how the watch stands, too.
    var hasWatch = false

    static let parameters = Parameters(
        EventQuery(),
        [
            Parameter(
                "after",
                """
                The `next` of the answer before, or an event's `cursor`; `now` for what is decided \
                from now on. Without it a page begins with the oldest event that is kept, a stream \
                with what is decided from now on.
                """, ["type": "string"]
            ) { (query, value) throws(ParameterError) in
                query.start = try start(value, "after")
            },
            .words(
                "kinds", "Of these kinds", EventKind.allCases, \.word,
                max: EventKind.allCases.count, into: \.kinds),
            .text("region", "About this region, or about somebody in it.", into: \.region),
            .text("responder", "About this person.", OpenAPI.schema("Name"), into: \.responder),
            .limit(
                "Events in the answer at most; \(limitStandard) without it. A stream has none.",
                into: \.limit),
            Parameter(
                "wait", "Seconds to wait for an event if there is none, 0 to \(waitMax).",
                ["type": "integer", "minimum": 0, "maximum": .integer(Int64(waitMax))]
            ) { (query, value) throws(ParameterError) in
                guard let seconds = Int(value), (0...waitMax).contains(seconds) else {
                    throw ParameterError(detail: "wait: 0 to \(waitMax) seconds expected")
                }
                query.wait = seconds
            },
            .flag(
                "watch",
                """
                True for a stream that tells how the watch stands, too: `watch` is the answer of \
                `GET /v1/status`, and each `watch-change` behind it, within \
                \(WatchReport.every.count / 1000 + 1) s, a merge patch (RFC 7396) of what changed since. \
                400 without `Accept: text/event-stream`: a page has none of it.
                """, standard: false, into: \.hasWatch),
        ])

    /// Reads a place.
    /// - Throws: `ParameterError` if it is none.
    static func start(_ text: String, _ name: String) throws(ParameterError) -> Start {
        if text == "now" { return .now }
        guard let cursor = EventCursor(text) else {
            throw ParameterError(detail: "\(name): a cursor of an event, or now, expected")
        }
        return .behind(cursor)
    }

    /// True of an event that is asked for.
    func matches(_ event: EventPage.Event) -> Bool {
        (kinds.isEmpty || kinds.contains(event.kind)) && (region.map { $0 == event.region } ?? true)
            && (responder.map { $0 == event.responder } ?? true)
    }
}
