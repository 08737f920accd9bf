import RollcallCore
import RollcallSupport
import Synchronization

/// A question for which many people are looked at, some thousand of them in each turn of the state
/// writer. Source: V12.
protocol PeopleScan: Sendable {
    /// Returns the number of the person at whom it begins.
    mutating func start(_ engine: Engine) -> Int

    /// Begins a slice: what was remembered by the numbers of names holds no longer, as these may be
    /// given again between two turns.
    mutating func begin(_ engine: Engine)

    /// Takes the person of a number into account.
    mutating func look(at number: Int, _ engine: Engine)

    /// Ends a slice, of the same state as it began with.
    mutating func end(_ engine: Engine)

    /// True if a slice has enough of it, whatever the time.
    var isFull: Bool { get }

    /// True once nobody else need be looked at.
    var isDone: Bool { get }

    /// Returns the answer, once everybody was looked at, or it is done.
    mutating func answer(_ engine: Engine) -> HTTPResponse
}

extension PeopleScan {
    mutating func start(_: Engine) -> Int { 0 }

    var isDone: Bool { false }

    /// People who are looked at between two looks at the clock.
    private static var step: Int { 128 }

    /// Looks at people from number `first` on, until `end`; returns the number to go on from.
    mutating func look(
        from first: Int, _ engine: Engine, until end: ContinuousClock.Instant
    ) -> Int {
        begin(engine)
        var number = first
        let count = engine.roster.count
        while number < count, !isDone {
            let stop = min(count, number + Self.step)
            while number < stop, !isDone {
                look(at: number, engine)
                number += 1
            }
            if isFull || ContinuousClock.now >= end { break }
        }
        self.end(engine)
        return number
    }
}

/// The queue of the questions for which many people are looked at: a slice a turn, so that all of them
/// together hold the state writer up for no longer than one. Source: V12.
///
/// Turns and places are shared out among callers, so that who asks much makes others wait for a slice,
/// and not for all that they asked. Of one caller's the ones that had no slice yet come first: most need
/// one. The others are answered in their order. What is asked again before it has begun is asked once.
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

    /// A question as somebody asks it.
    struct Question: Sendable {
        let scan: any PeopleScan
        /// The words of it: the same words get the same answer.
        let text: String
        /// The one who asks: the name of a token; all are one where nobody needs any.
        let caller: String
        /// False once nobody waits for the answer: then it costs nothing more.
        let isAwaited: @Sendable () -> Bool
        let answer: @Sendable (HTTPResponse) -> Void
    }

    /// A question that is not answered yet, and all who ask it.
    private struct Waiting: Sendable {
        let number: UInt64
        let caller: String
        let text: String
        var scan: any PeopleScan
        /// The number of the person to go on from; nil before the first slice.
        var next: Int?
        var hasBegun = false
        let until: ContinuousClock.Instant
        var asked: [Question]

        var isAwaited: Bool { asked.contains { $0.isAwaited() } }

        func answer(_ response: HTTPResponse) { for one in asked { one.answer(response) } }
    }

    private struct State: Sendable {
        var waiting: [Waiting] = []
        var asked: UInt64 = 0
        /// The slices that callers have had who wait for something, beside others.
        var slices: [String: Int] = [:]
        /// True while a slice is on its way through the state writer.
        var isRunning = false

        func count(of caller: String) -> Int { waiting.count { $0.caller == caller } }

        /// Takes out the newest question of whoever has the most, if that leaves them as many as `caller`
        /// then has.
        mutating func makeRoom(for caller: String) -> Waiting? {
            let busiest = Set(waiting.map(\.caller)).max {
                (count(of: $0), $1) < (count(of: $1), $0)
            }
            guard let busiest, count(of: busiest) > count(of: caller) + 1,
                let place = waiting.lastIndex(where: { $0.caller == busiest })
            else { return nil }
            return waiting.remove(at: place)
        }

        /// Notes a question behind all others.
        mutating func append(_ question: Question, until: ContinuousClock.Instant) {
            if slices[question.caller] == nil {
                slices[question.caller] = slices.values.min() ?? 0
            }
            asked += 1
            waiting.append(
                Waiting(
                    number: asked, caller: question.caller, text: question.text,
                    scan: question.scan, until: until, asked: [question]))
        }

        /// Returns the question whose turn it is, which has begun from now on.
        mutating func takeTurn() -> Waiting? {
            let turn = slices.min { ($0.value, $0.key) < ($1.value, $1.key) }
            guard let caller = turn?.key,
                let place = waiting.firstIndex(where: { $0.caller == caller && !$0.hasBegun })
                    ?? waiting.firstIndex(where: { $0.caller == caller })
            else { return nil }
            slices[caller, default: 0] += 1
            waiting[place].hasBegun = true
            return waiting[place]
        }

        /// Takes a question out; false if it gave way meanwhile.
        mutating func remove(_ number: UInt64) -> Bool {
            guard let place = waiting.firstIndex(where: { $0.number == number }) else {
                return false
            }
            let caller = waiting.remove(at: place).caller
            forget(caller)
            return true
        }

        /// Forgets the slices of a caller who waits for nothing more.
        mutating func forget(_ caller: String) {
            if count(of: caller) == 0 { slices[caller] = nil }
        }
    }

    private let writer: StateWriter
    private let limits: Limits
    private let state = Mutex(State())

    /// A queue of questions to `writer`.
    init(writer: StateWriter, limits: Limits = Limits()) {
        self.writer = writer
        self.limits = limits
    }

    /// Answers a question once, on the state writer's thread; at once with 503 if too many wait.
    func ask(_ question: Question) {
        let until = ContinuousClock.now + limits.time
        let (isTaken, isFirst, gone) = state.withLock { state -> (Bool, Bool, Waiting?) in
            let same = state.waiting.firstIndex { !$0.hasBegun && $0.text == question.text }
            if let same {
                state.waiting[same].asked.append(question)
                return (true, false, nil)
            }
            var gone: Waiting?
            if state.waiting.count >= limits.waiting {
                gone = state.makeRoom(for: question.caller)
                if gone == nil { return (false, false, nil) }
            }
            state.append(question, until: until)
            defer { state.isRunning = true }
            return (true, !state.isRunning, gone)
        }
        gone?.answer(Self.tooMany)
        guard isTaken else { return question.answer(Self.tooMany) }
        if isFirst { goOn() }
    }

    private static var tooMany: HTTPResponse {
        Router.unavailable("too many questions about everybody are waiting")
    }

    private func goOn() {
        writer.ask { [self] view in
            if runSlice(view.engine) { goOn() }
        }
    }

    /// Works at the question whose turn it is, of those that somebody waits for; false if none is left.
    private func runSlice(_ engine: Engine) -> Bool {
        while var turn = state.withLock({ $0.takeTurn() }) {
            let began = ContinuousClock.now
            guard turn.isAwaited, began < turn.until else {
                if remove(turn) {
                    turn.answer(Router.unavailable("looking at everybody takes too long"))
                }
                continue
            }
            let first = turn.next ?? turn.scan.start(engine)
            let wasAtEnd = turn.next.map { isAtEnd(turn.scan, $0, engine) } ?? false
            let next = turn.scan.look(from: first, engine, until: began + limits.slice)
            turn.next = next
            // To write the answer takes a slice of its own, unless this one was short.
            let isShort = ContinuousClock.now - began < limits.slice / 2
            if isAtEnd(turn.scan, next, engine), wasAtEnd || isShort {
                if remove(turn) { turn.answer(turn.scan.answer(engine)) }
            } else {
                keep(turn)
            }
            break
        }
        return state.withLock { state in
            state.isRunning = !state.waiting.isEmpty
            return state.isRunning
        }
    }

    private func isAtEnd(_ scan: any PeopleScan, _ next: Int, _ engine: Engine) -> Bool {
        scan.isDone || next >= engine.roster.count
    }

    private func remove(_ turn: Waiting) -> Bool { state.withLock { $0.remove(turn.number) } }

    private func keep(_ turn: Waiting) {
        state.withLock { state in
            let place = state.waiting.firstIndex { $0.number == turn.number }
            if let place { state.waiting[place] = turn }
        }
    }
}

extension Router {
    /// Looks at people for a request, and answers it.
    func look(_ scan: any PeopleScan, _ call: Route.Call) {
        let answer = call.answer
        let request = call.request
        // With their lengths, as a value may hold anything.
        let text = request.query.reduce(request.path) { text, argument in
            "\(text) \(argument.name) \(argument.value.utf8.count) \(argument.value)"
        }
        scans.ask(
            PeopleScans.Question(
                scan: scan, text: text, caller: caller(request)?.token.name ?? "",
                isAwaited: call.isAwaited
            ) { answer($0, InputStats()) })
    }
}
