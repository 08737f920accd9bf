import RollcallCore
import Synchronization

/// The clocks of sources, by what the requests of a minute say. Source: D10.
///
/// Whoever says when it sent a request is measured for the engine, which decides. Of who does not say
/// it, no more can be known than by how much its `received_at` lag, and nothing is decided by that.
package final class SourceClocks: Sendable {
    /// A source whose times began to lag, or lag no more.
    package struct Change: Equatable, Sendable {
        /// The source, as bytes.
        package var source: [UInt8]
        /// The smallest lag of its `received_at` in the minute.
        package var lag: Milliseconds
        package var isLate: Bool
    }

    /// The verdict of a minute that is over.
    package struct Verdict: Equatable, Sendable {
        /// By source, in the order of their names: the smallest arrival − `sent_at`.
        package var skews: [Measure] = []
        /// By source, in the order of their names.
        package var changes: [Change] = []
    }

    /// A span that was measured of a source.
    package struct Measure: Equatable, Sendable {
        /// The source, as bytes.
        package var source: [UInt8]
        package var span: Milliseconds
    }

    /// Beyond this lag a source is warned of.
    package static let lateBeyond = Milliseconds.seconds(5)
    /// Once it is warned of, it lags no more from here on.
    fileprivate static let punctualFrom = Milliseconds.seconds(4)
    private static let minute: Int64 = 60_000

    fileprivate struct Minute: Sendable {
        /// Requests that said when they were sent.
        var requests = 0
        var skew = Int64.max
        var lag: Int64?

        mutating func note(sentAt: Timestamp?, receivedAt: Timestamp?, arrival: Timestamp) {
            if let sentAt {
                requests += 1
                skew = min(skew, (arrival - sentAt).count)
            }
            if let receivedAt {
                let span = (arrival - receivedAt).count
                lag = min(lag ?? span, span)
            }
        }
    }

    fileprivate struct Lag: Sendable {
        var span: Milliseconds
        /// The instant at which it was measured, by the machine's clock.
        var at: Int64
        var isLate: Bool
    }

    fileprivate struct State: Sendable {
        /// The instant at which the minute began, by the machine's clock; nil before the first.
        var began: Int64?
        var minutes: [[UInt8]: Minute] = [:]
        var lags: [[UInt8]: Lag] = [:]
    }

    private let state = Mutex(State())

    /// Nothing is known yet.
    package init() {}

    /// Notes a request of `source` that arrived at a time of our wall. `receivedAt` is the newest of
    /// its batches. Of a source beyond `Feed.sourcesMax` nothing is noted.
    package func note(
        _ source: [UInt8], sentAt: Timestamp?, receivedAt: Timestamp?, arrival: Timestamp
    ) {
        guard sentAt != nil || receivedAt != nil else { return }
        state.withLock { state in
            guard let known = state.minutes.index(forKey: source) else {
                guard state.minutes.count < Feed.sourcesMax else { return }
                var minute = Minute()
                minute.note(sentAt: sentAt, receivedAt: receivedAt, arrival: arrival)
                return state.minutes[source] = minute
            }
            state.minutes.values[known].note(
                sentAt: sentAt, receivedAt: receivedAt, arrival: arrival)
        }
    }

    /// Forgets what was noted in this minute: our own wall stepped in its course.
    package func discard() { state.withLock { $0.minutes = [:] } }

    /// Returns what the minute says that is over at `elapsed` of the machine's clock; nil before
    /// its end.
    package func takeMinute(at elapsed: Int64) -> Verdict? {
        state.withLock { state in
            guard let began = state.began else {
                state.began = elapsed
                return nil
            }
            guard elapsed - began >= Self.minute else { return nil }
            state.began = elapsed
            var verdict = Verdict()
            for (source, minute) in state.minutes.sorted(by: {
                $0.key.lexicographicallyPrecedes($1.key)
            }) {
                if minute.requests >= SourceSkews.requestsMin {
                    let most = SourceSkews.skewMax
                    let skew = Milliseconds(min(max(minute.skew, -most), most))
                    verdict.skews.append(Measure(source: source, span: skew))
                }
                if minute.requests > 0 {
                    // Its skew says more.
                    state.lags[source] = nil
                } else if let lag = minute.lag {
                    let change = state.note(source, Milliseconds(lag), at: elapsed)
                    if let change { verdict.changes.append(change) }
                }
            }
            state.minutes = [:]
            state.lags = state.lags.filter { elapsed - $0.value.at < SourceSkews.keptFor.count }
            return verdict
        }
    }

    /// The lags of the times of sources that do not say when they send, in the order of their
    /// names: of the last minute that each of them sent some in.
    package var lags: [Measure] {
        state.withLock { state in
            state.lags.map { Measure(source: $0.key, span: $0.value.span) }
        }.sorted { $0.source.lexicographicallyPrecedes($1.source) }
    }

    /// Appends its family.
    func append(to page: inout Exposition) {
        page.family(
            "rollcall_source_lag_seconds", .gauge,
            "Smallest lag of received_at in a minute; of sources that do not send sent_at.")
        for lag in lags { page.sample(["source": .bytes(lag.source)], Quantity(lag.span)) }
    }
}

extension SourceClocks.State {
    /// Notes the lag of a minute; returns what is to be told of it.
    fileprivate mutating func note(
        _ source: [UInt8], _ lag: Milliseconds, at elapsed: Int64
    ) -> SourceClocks.Change? {
        guard lags[source] != nil || lags.count < Feed.sourcesMax else { return nil }
        let wasLate = lags[source]?.isLate ?? false
        let isLate = lag > (wasLate ? SourceClocks.punctualFrom : SourceClocks.lateBeyond)
        lags[source] = SourceClocks.Lag(span: lag, at: elapsed, isLate: isLate)
        if isLate == wasLate { return nil }
        return SourceClocks.Change(source: source, lag: lag, isLate: isLate)
    }
}
