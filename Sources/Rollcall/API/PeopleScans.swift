import RollcallCore
import RollcallSupport
import Synchronization

/// A question for which everybody is looked at, some thousand of them in each turn of the state
/// writer. Source: V12.
protocol PeopleScan: Sendable {
    /// Begins a slice: what was remembered by the numbers of names holds no longer, as these may be
    /// given again between two turns.
    mutating func begin(_ engine: Engine)

    /// Takes the person of a number into account.
    mutating func look(at number: Int, _ engine: Engine)

    /// Ends a slice, of the same state as it began with.
    mutating func end(_ engine: Engine)

    /// True if a slice has enough of it, whatever the time.
    var isFull: Bool { get }

    /// Returns the answer, once everybody was looked at.
    mutating func answer(_ engine: Engine) -> HTTPResponse
}

extension PeopleScan {
    /// People who are looked at between two looks at the clock.
    private static var step: Int { 128 }

    /// Looks at people from number `first` on, until `end`; returns the number to go on from.
    mutating func look(
        from first: Int, _ engine: Engine, until end: ContinuousClock.Instant
    ) -> Int {
        begin(engine)
        var number = first
        let count = engine.roster.count
        while number < count {
            let stop = min(count, number + Self.step)
            while number < stop {
                look(at: number, engine)
                number += 1
            }
            if isFull || ContinuousClock.now >= end { break }
        }
        self.end(engine)
        return number
    }
}

/// The queue of the questions for which everybody is looked at: one at a time, a slice a turn, so that
/// all of them together hold the state writer up for no longer than one. Source: V12.
final class PeopleScans: Sendable {
    /// The limits of the work for questions about everybody.
    struct Limits: Sendable {
        /// The time that a slice of it holds the state writer up.
        var slice = Duration.milliseconds(3)
        /// The time in which a question is answered, or gets a 503: the listener's watchdog would come
        /// next.
        var time = Duration.seconds(4)
        /// Questions that wait at most; beyond it 503.
        var waiting = 16
    }

    /// A question that is not answered yet.
    private struct Waiting: Sendable {
        var scan: any PeopleScan
        /// The number of the person to go on from.
        var next = 0
        let until: ContinuousClock.Instant
        let isAwaited: @Sendable () -> Bool
        let answer: @Sendable (HTTPResponse) -> Void
    }

    private struct State: Sendable {
        var waiting: [Waiting] = []
        /// True while a slice is on its way through the state writer.
        var isRunning = false
    }

    private let writer: StateWriter
    private let limits: Limits
    private let state = Mutex(State())

    /// A queue of questions to `writer`.
    init(writer: StateWriter, limits: Limits = Limits()) {
        self.writer = writer
        self.limits = limits
    }

    /// Answers a question once, on the state writer's thread; at once with 503 if too many wait. One
    /// that nobody waits for any more (`isAwaited`) costs nothing more.
    func ask(
        _ scan: any PeopleScan, while isAwaited: @escaping @Sendable () -> Bool,
        _ answer: @escaping @Sendable (HTTPResponse) -> Void
    ) {
        let (isTaken, isFirst) = state.withLock { state in
            guard state.waiting.count < limits.waiting else { return (false, false) }
            state.waiting.append(
                Waiting(
                    scan: scan, until: ContinuousClock.now + limits.time, isAwaited: isAwaited,
                    answer: answer))
            defer { state.isRunning = true }
            return (true, !state.isRunning)
        }
        guard isTaken else {
            return answer(Router.unavailable("too many questions about everybody are waiting"))
        }
        if isFirst { goOn() }
    }

    private func goOn() {
        writer.ask { [self] view in
            if runSlice(view.engine) { goOn() }
        }
    }

    /// Works at the first question that somebody waits for; false if none is left.
    private func runSlice(_ engine: Engine) -> Bool {
        while var first = state.withLock({ $0.waiting.first }) {
            let began = ContinuousClock.now
            guard first.isAwaited(), began < first.until else {
                remove()
                first.answer(Router.unavailable("looking at everybody takes too long"))
                continue
            }
            let wasAtEnd = first.next >= engine.roster.count
            first.next = first.scan.look(from: first.next, engine, until: began + limits.slice)
            // To write the answer takes a slice of its own, unless this one was short.
            let isShort = ContinuousClock.now - began < limits.slice / 2
            if first.next >= engine.roster.count, wasAtEnd || isShort {
                remove()
                first.answer(first.scan.answer(engine))
            } else {
                state.withLock { $0.waiting[0] = first }
            }
            break
        }
        return state.withLock { state in
            state.isRunning = !state.waiting.isEmpty
            return state.isRunning
        }
    }

    private func remove() {
        _ = state.withLock { $0.waiting.removeFirst() }
    }
}
