import RollcallBasis
import RollcallCore
import RollcallSupport

/// The counts of writes that a member passed on to the leader. Source: S15.
struct PassedOnStats: Sendable {
    /// An `Outcome` says what became of a write that was passed on.
    enum Outcome: Int, CaseIterable, Sendable {
        /// The leader answered, whatever it said.
        case answered
        /// The leader could not be reached: nothing of it can have arrived.
        case unreached
        /// No whole answer came: nobody knows.
        case unknown
        /// Too many were on their way already.
        case full

        /// The label's value.
        var word: StaticString {
            switch self {
            case .answered: "answered"
            case .unreached: "unreached"
            case .unknown: "unknown"
            case .full: "full"
            }
        }
    }

    private var counts = [Int](repeating: 0, count: Outcome.allCases.count)

    mutating func count(_ outcome: Outcome) { counts[outcome.rawValue] += 1 }

    /// Appends the family.
    func append(to page: inout Exposition) {
        page.family(
            "rollcall_member_passed_on", .counter,
            "Writes that this member passed on to the leader, by what became of them.")
        for outcome in Outcome.allCases {
            page.sample(["outcome": .word(outcome.word)], Quantity(counts[outcome.rawValue]))
        }
    }
}

/// Passes writes on to the member that leads, each on a thread that waits for its answer: neither the
/// listener nor the state writer does. Source: S15.
final class LeaderCaller: Sendable {
    /// The field by which a member says that it passes a request on, and for how many milliseconds it
    /// had it. Whoever gets such a one passes it to nobody.
    static let field = "Rollcall-Passed-On"
    /// Writes on their way at once at most; of more the client gets a 503 with the leader's address.
    static let callsMax = 64
    /// From the arrival of a request until its answer is given up: the listener's watchdog, which says
    /// nothing of who leads, would come next. A drill waits 4 s for its receiver.
    static let patience = Milliseconds(4500)
    /// Until the connection to the leader stands.
    private static let connectTimeout = Milliseconds(1000)
    /// Bytes of an answer at most: a hundred names of items and problems each.
    private static let answerBytesMax = 4 << 20

    /// Takes what came of a call.
    typealias Reply = @Sendable (PassedOnStats.Outcome, HTTPCallAnswer?) -> Void

    private let pool = CallPool(threadsMax: callsMax)

    /// A caller without threads.
    init() {}

    /// Ends the threads once they are idle; what comes from now on finds no room.
    func close() { pool.close() }

    /// Makes a call on another thread, for a request that was here at `arrival`; `reply` is called
    /// once, there, or at once if there is no room.
    func call(_ call: HTTPCall, arrival: Int64, reply: @escaping Reply) {
        let isTaken = pool.take { Self.perform(call, arrival, $0, reply) }
        if !isTaken { reply(.full, nil) }
    }

    private static func perform(
        _ call: HTTPCall, _ arrival: Int64, _ caller: HTTPCaller?, _ reply: Reply
    ) {
        let had = max(0, ClockReading.now().elapsed - arrival)
        let left = patience.count - had
        guard let caller, left > 0 else { return reply(.unreached, nil) }
        var call = call
        call.headers.append((field, "\(had)"))
        call.timeout = Milliseconds(left)
        call.connectTimeout = min(connectTimeout, call.timeout)
        call.answerBytesMax = answerBytesMax
        do throws(HTTPCallError) {
            let answer = try caller.answer(to: call)
            reply(.answered, answer)
        } catch {
            reply(error.mayHaveArrived ? .unknown : .unreached, nil)
        }
    }
}
