import RollcallCore
import RollcallSupport
import Synchronization

/// The counts of the edges: requests, commits, lateness, and what of the input was not taken.
///
/// These begin at 0 with the process (V2). Any thread counts, under one short lock; a
/// request takes it once, when it is answered.
package final class EdgeStats: Sendable {
    /// The route of a request, a closed set: paths hold ids of people and whatever a stranger
    /// tries.
    package enum Route: Int, CaseIterable, Sendable {
        /// `/v1/batches`.
        case batches
        /// `/v1/in/NAME` and `/v1/inputs`.
        case inputs
        /// `/v1/transitions`.
        case transitions
        /// `/v1/responders` and what is below it, read or written.
        case responders
        /// `/v1/heartbeat`.
        case heartbeat
        /// `/v1/gaps`.
        case gaps
        /// `/v1/events`.
        case events
        /// `/v1/dark`.
        case dark
        /// `/v1/nudges`.
        case nudges
        /// `/v1/wakes`.
        case wakes
        /// `/v1/alerts` and what is below it.
        case alerts
        /// `/v1/incidents` and what is below it.
        case incidents
        /// `/v1/silences` and what is below it.
        case silences
        /// `/v1/drill` and what is below it.
        case drills
        /// `/v1/erasures` and what is below it.
        case erasures
        /// `/v1/status` and what is below it, and `/v1/regions`.
        case status
        /// `/metrics`.
        case metrics
        /// `/-/healthy` and `/-/ready`.
        case health
        /// `/-/reload`.
        case reload
        /// `/v1/session`.
        case session
        /// `/openapi.json`.
        case openAPI
        /// `/`, the page for people.
        case page
        /// Whatever else, also what there is not.
        case other

        /// The label's value.
        package var word: StaticString {
            switch self {
            case .batches: "batches"
            case .inputs: "inputs"
            case .transitions: "transitions"
            case .responders: "responders"
            case .heartbeat: "heartbeat"
            case .gaps: "gaps"
            case .events: "events"
            case .dark: "dark"
            case .nudges: "nudges"
            case .wakes: "wakes"
            case .alerts: "alerts"
            case .incidents: "incidents"
            case .silences: "silences"
            case .drills: "drills"
            case .erasures: "erasures"
            case .status: "status"
            case .metrics: "metrics"
            case .health: "health"
            case .reload: "reload"
            case .session: "session"
            case .openAPI: "openapi"
            case .page: "page"
            case .other: "other"
            }
        }

        /// The codes by which alerts tell good from bad: these series stand at 0 from the first
        /// scrape. Others appear when they happen.
        fileprivate var expectedCodes: [Int] {
            switch self {
            case .batches, .transitions, .heartbeat, .wakes:
                [200, 400, 401, 403, 408, 413, 415, 422, 429, 503]
            case .responders: [200, 202, 400, 401, 403, 404, 408, 409, 413, 415, 422, 429, 503]
            case .inputs: [200, 401, 403, 404, 405, 408, 413, 415, 429, 503]
            case .status, .metrics, .openAPI, .page: [200, 401, 403, 503]
            case .events: [200, 400, 401, 403, 410, 503]
            case .gaps, .dark: [200, 400, 401, 403, 404, 503]
            case .nudges: [200, 400, 401, 403, 404, 409, 422, 429, 503]
            case .alerts: [200, 400, 401, 403, 503]
            case .incidents, .silences: [200, 400, 401, 403, 404, 409, 422, 503]
            case .drills: [200, 202, 400, 401, 403, 404, 422, 503]
            case .erasures: [200, 401, 403, 404, 503]
            case .health: [200, 503]
            case .reload: [200, 401, 403, 422, 503]
            case .session: [200, 401, 403, 422, 429, 503]
            case .other: [404, 405]
            }
        }
    }

    private struct State: Sendable {
        var requests = [Int](repeating: 0, count: Route.allCases.count * codes.count)
        var durations = [Histogram](
            repeating: Histogram(bounds: durationBounds), count: Route.allCases.count)
        var commits = Histogram(bounds: durationBounds)
        var turns = Histogram(bounds: durationBounds)
        var chores = Histogram(bounds: durationBounds)
        var lateness = Histogram(bounds: latenessBounds)
        var latenessExemplars = Exemplars(of: Histogram(bounds: latenessBounds))
        var nativeLateness = NativeHistogram(beside: Histogram(bounds: latenessBounds))
        var input = InputStats()
        var keyed = KeyedStats()
        var delivery = DeliveryStats()
        var pings = [Int](repeating: 0, count: AlivePing.Outcome.allCases.count)
        var otlp = OTLPStats()
        var isReloadSuccessful = false
        var reloadSuccessAt: Timestamp?
    }

    private static let codes = 100...599
    /// In microseconds, around what the parts cost: 100 µs for an answer from memory, 5 s for the
    /// watchdog.
    private static let durationBounds: [Int64] = [
        100, 250, 500, 1000, 2500, 5000, 10_000, 20_000, 50_000, 100_000, 250_000, 500_000,
        1_000_000, 2_500_000, 5_000_000,
    ]
    /// In milliseconds, around what is promised: 100 ms, and 1 s when many fall silent at once.
    private static let latenessBounds: [Int64] = [
        1, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000,
    ]

    private let state = Mutex(State())
    /// The clocks of sources, by what requests say.
    package let clocks = SourceClocks()
    /// The inputs, and what came by them.
    package let inputs = InputBook()
    /// The subscriptions of inputs at brokers.
    package let mqtt = MQTTBook()
    /// The streams of events.
    let eventStreams = EventStreamStats()
    /// Those to whom events are sent.
    package let subscriptions = SubscriptionBook()

    /// The map of a fleet's cells, where there are any.
    package let cells: CellBoard

    /// Stats that are all 0, of a watch that has the part in a fleet that `cells` says.
    package init(cells: CellBoard = CellBoard()) { self.cells = cells }

    // MARK: - Counting

    /// Counts a request that was answered with `code` after `duration`, and what of its body was
    /// not taken. A code outside of 100 to 599 counts as the nearest one.
    package func answered(
        _ route: Route, code: Int, after duration: Duration, input: InputStats = InputStats()
    ) {
        let slot =
            min(max(code, Self.codes.lowerBound), Self.codes.upperBound)
            - Self.codes.lowerBound
        let microseconds = Self.microseconds(duration)
        state.withLock { state in
            state.requests[route.rawValue * Self.codes.count + slot] += 1
            state.durations[route.rawValue].observe(microseconds)
            if !input.isEmpty { state.input.add(input) }
        }
    }

    /// Counts what was not taken of something that is no request.
    package func read(_ input: InputStats) {
        if !input.isEmpty { state.withLock { $0.input.add(input) } }
    }

    /// Counts a commit of the store that took `duration`.
    package func committed(after duration: Duration) {
        let microseconds = Self.microseconds(duration)
        state.withLock { $0.commits.observe(microseconds) }
    }

    /// Counts a turn of the state writer that took `duration`, its commit included.
    package func turned(after duration: Duration) {
        let microseconds = Self.microseconds(duration)
        state.withLock { $0.turns.observe(microseconds) }
    }

    /// Counts a turn that chores of the store made longer by `duration` (J5).
    package func didChores(for duration: Duration) {
        let microseconds = Self.microseconds(duration)
        state.withLock { $0.chores.observe(microseconds) }
    }

    /// Counts deadlines of one instant that were decided by a turn and committed at `wall`, `lateness`
    /// after they passed.
    package func detected(
        late lateness: Milliseconds, times: Int = 1, turn: Int64, at wall: Timestamp
    ) {
        let exemplar = Exemplar(lateness.count, turn: turn, at: wall)
        state.withLock { state in
            state.lateness.observe(lateness.count, times: times)
            state.latenessExemplars.note(exemplar, in: state.lateness)
            state.nativeLateness.observe(lateness.count, times: times)
        }
    }

    /// Counts what became of names of requests.
    func keyed(_ outcome: KeyedStats.Outcome, _ times: Int = 1) {
        state.withLock { $0.keyed.count(outcome, times) }
    }

    /// Counts an attempt to deliver a message.
    package func attempted(_ receiver: [UInt8], _ kind: OutboxVerdict) {
        state.withLock { $0.delivery.attempted(receiver, kind) }
    }

    /// Counts a message that a receiver took so long after it was decided.
    package func notified(_ receiver: [UInt8], after span: Milliseconds) {
        state.withLock { $0.delivery.notified(receiver, after: span) }
    }

    /// Counts a ping that was due.
    package func pinged(_ outcome: AlivePing.Outcome) {
        state.withLock { $0.pings[outcome.rawValue] += 1 }
    }

    /// Returns how many pings came to `outcome`.
    package func pings(_ outcome: AlivePing.Outcome) -> Int {
        state.withLock { $0.pings[outcome.rawValue] }
    }

    /// Counts a request that pushed metrics, of which so many points were rejected.
    func exported(_ outcome: OTLPStats.Outcome, rejected: Int64, at now: Timestamp) {
        state.withLock { $0.otlp.count(outcome, rejected: Int(rejected), at: now) }
    }

    /// The counts of metrics that were pushed.
    var otlp: OTLPStats { state.withLock { $0.otlp } }

    /// Notes that the settings were read, at the start or since, or could not be taken.
    package func reloaded(isSuccessful: Bool, at time: Timestamp) {
        state.withLock { state in
            state.isReloadSuccessful = isSuccessful
            if isSuccessful { state.reloadSuccessAt = time }
        }
    }

    /// The instant at which the settings in force were read, and whether the last reading was
    /// taken.
    var settings: (loadedAt: Timestamp, isReloadSuccessful: Bool) {
        state.withLock { ($0.reloadSuccessAt ?? .distantPast, $0.isReloadSuccessful) }
    }

    /// Spans beyond some thousand years count as that.
    private static func microseconds(_ duration: Duration) -> Int64 {
        let (seconds, attoseconds) = duration.components
        let held = min(max(seconds, -100_000_000_000), 100_000_000_000)
        return held * 1_000_000 + attoseconds / 1_000_000_000_000
    }

    // MARK: - Exposition

    /// Appends all families of the edges, as they are at one instant. `receivers` are those that the
    /// settings know, `pending` is how many messages wait for each, `pushes` how many pushes do.
    package func append(
        to page: inout Exposition, receivers: [[UInt8]] = [], pending: [[UInt8]: Int] = [:],
        pushes: Int = 0
    ) {
        // Written from a copy: the lock is held for as long as some arrays take to be retained.
        let state = state.withLock { $0 }
        state.input.append(to: &page)
        clocks.append(to: &page)
        inputs.append(to: &page)
        mqtt.append(to: &page)
        cells.append(to: &page)
        Self.appendRequests(state, to: &page)
        state.keyed.append(to: &page)
        eventStreams.append(to: &page)
        subscriptions.append(to: &page, now: ClockReading.now().wall)
        page.family(
            "rollcall_commit_duration_seconds", .histogram, "Time that a commit of the store took.")
        page.histogram(state.commits, decimals: 6)
        page.family(
            "rollcall_turn_duration_seconds", .histogram,
            "Time that a turn of the keeper took, for which everybody waits.")
        page.histogram(state.turns, decimals: 6)
        page.family(
            "rollcall_chore_duration_seconds", .histogram,
            "Time that the store's chores added to a turn, their share of its commit included.")
        page.histogram(state.chores, decimals: 6)
        page.family(
            "rollcall_detection_lateness_seconds", .histogram,
            "Time from a deadline to the commit of its change.")
        page.histogram(
            state.lateness, exemplars: state.latenessExemplars, native: state.nativeLateness)
        state.delivery.append(to: &page, of: receivers, pending: pending)
        page.family(
            "rollcall_pushes_pending", .gauge, "Pushes to phones that the sink has not taken yet.")
        page.sample(Quantity(pushes))
        page.family("rollcall_alive_pings", .counter, "Pings to alive_ping.url that were due.")
        for outcome in AlivePing.Outcome.allCases {
            page.sample(
                ["outcome": .word(outcome.word)], Quantity(state.pings[outcome.rawValue]))
        }
        state.otlp.append(to: &page)
        page.family(
            "rollcall_config_last_reload_successful", .gauge,
            "1 if the settings could be taken when they were read last.")
        page.sample(state.isReloadSuccessful ? 1 : 0)
        page.family(
            "rollcall_config_last_reload_success_timestamp_seconds", .gauge,
            "When settings were read last that could be taken.")
        page.sample(state.reloadSuccessAt.map { Quantity($0) } ?? 0)
    }

    /// Appends the families of requests alone.
    func appendRequests(to page: inout Exposition) {
        Self.appendRequests(state.withLock { $0 }, to: &page)
    }

    private static func appendRequests(_ state: State, to page: inout Exposition) {
        page.family("rollcall_http_requests", .counter, "HTTP requests answered.")
        for route in Route.allCases {
            let expected = route.expectedCodes
            for code in codes {
                let count = state.requests[
                    route.rawValue * codes.count + code - codes.lowerBound]
                guard count > 0 || expected.contains(code) else { continue }
                page.sample(["route": .word(route.word), "code": .number(code)], Quantity(count))
            }
        }
        page.family(
            "rollcall_http_request_duration_seconds", .histogram,
            "Time that requests took to be answered.")
        for route in Route.allCases {
            page.histogram(
                ["route": .word(route.word)], state.durations[route.rawValue], decimals: 6)
        }
    }
}
