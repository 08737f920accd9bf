import Glibc
import Logging
import RollcallCore
import RollcallStore
import RollcallSupport
import Synchronization

/// The limits of the work for one question of history; what is left is told by `next` or
/// `truncated`.
package struct HistoryLimits: Sendable {
    /// Gaps looked at for one page.
    var gapsListed = 200_000
    /// Gaps counted over for one table.
    var gapsSummed = 2_000_000
    /// A person's decisions looked at for a page of their gaps, and rows and decisions for a page
    /// of a timeline.
    var eventsLookedAt = 20_000
    /// Entries of the nudge ledger looked at for one page, and for what followed its first.
    var nudgesListed = 100_000
    /// Rows of dark time summed up for one table.
    var darkSummed = 1_000_000
    /// Rows of one table.
    var groups = 10_000
    /// Samples looked at for one history of the fleet.
    var samplesLookedAt = 50_000
    /// Decisions about nobody that are looked at for its blind windows, and windows told of.
    var decisionsAboutNobody = 200_000
    /// Blind windows at most; see `decisionsAboutNobody`.
    var blindWindows = 1000
    /// The time that one question is worked at.
    var time = Duration.seconds(2)
    /// The time that a question waits before it gets a 503: the listener's watchdog would come
    /// next.
    var patience = Duration.seconds(3)
    /// The time that the state writer is waited for: it answers between two turns.
    var writerPatience = Milliseconds.seconds(1)

    /// The limits of the product.
    package init() {}
}

/// The facts of the present that a question of history needs to know.
struct HistoryPresent: Sendable {
    /// The clocks as of the question.
    let clock: ObservationClock
    /// Numbers + 1 of people who are being erased: of them nothing is told any more.
    private let erased: Set<Int64>
    private let gone: NumberSet
    /// The names of those who can be told anything.
    let receivers: Set<[UInt8]>
    /// The number of the store, which stands in the keys of incidents.
    let storeNumber: UInt64
    private let pastGaps: PastGaps
    private let retention: Milliseconds

    init(_ view: StateView) {
        clock = view.engine.clock
        receivers = Set(view.outbox.receivers.map(\.name))
        storeNumber = view.storeNumber
        erased = Set(view.peopleErased)
        gone = view.peopleGone
        pastGaps = view.engine.pastGaps
        retention = view.engine.policy.retention
    }

    /// True of whom may be told, by number + 1: who is not being erased, and no other cell's by now.
    func isShown(_ responder: Int64) -> Bool {
        !erased.contains(responder) && (responder < 1 || !gone.contains(Int(responder) - 1))
    }

    /// Returns what usually follows a gap like that of `report` (P7).
    func outlook(for report: GapReport) -> GapOutlook {
        pastGaps.outlook(for: report, now: clock.now, kept: retention)
    }
}

/// One question's means: the store, the present, the time that is left.
struct HistoryWork {
    let reader: HistoryReader
    let writer: StateWriter
    let limits: HistoryLimits
    private let end: ContinuousClock.Instant

    init(_ reader: HistoryReader, writer: StateWriter, limits: HistoryLimits = HistoryLimits()) {
        self.reader = reader
        self.writer = writer
        self.limits = limits
        end = ContinuousClock.now + limits.time
    }

    /// True once the question has had its time.
    var isOver: Bool { ContinuousClock.now >= end }

    /// The ids of people by their numbers + 1, empty for those who were erased; nil if the state
    /// writer does not answer. A thousand of them are some 100 µs of the state writer's.
    func ids(of responders: [Int64]) -> [[UInt8]]? {
        asked { view in
            let roster = view.engine.roster
            return responders.map { responder in
                let number = Int(responder) - 1
                return (0..<roster.count).contains(number) ? Array(roster.id(number)) : []
            }
        }
    }

    /// Returns what the phones of people are by their numbers + 1, without those who were erased; nil
    /// if the state writer does not answer, which is asked for a thousand at a time.
    func phones(of responders: [Int64]) -> [Int64: GapFacts]? {
        var phones: [Int64: GapFacts] = [:]
        for start in stride(from: 0, to: responders.count, by: 1000) {
            let piece = responders[start..<min(start + 1000, responders.count)]
            guard
                let found = asked({ view in
                    piece.compactMap { responder in
                        view.engine.phone(of: Int(responder) - 1).map { (responder, $0) }
                    }
                })
            else { return nil }
            for (responder, phone) in found { phones[responder] = phone }
        }
        return phones
    }

    /// Returns how far the news of firings has come, by what is on its way now; nil if the state
    /// writer does not answer.
    func reaches(of incidents: [Int64]) -> [Int64: [Reach]]? {
        if incidents.isEmpty { return [:] }
        return asked { view in
            var reaches: [Int64: [Reach]] = [:]
            for incident in incidents { reaches[incident] = view.outbox.reach(of: incident) }
            return reaches
        }
    }

    /// Returns the state writer's answer; nil if it does not come in time.
    func asked<Value: Sendable>(
        _ question: @escaping @Sendable (StateView) -> Value
    ) -> Value? {
        writer.answer(within: limits.writerPatience.count, question)
    }
}

/// Answers questions of history from a read-only connection, one after the other, on a thread of
/// its own: neither the listener nor the state writer waits for a disk that reads (J8).
///
/// `@unchecked Sendable` is true because the reader is touched by its own thread alone.
final class HistoryService: @unchecked Sendable {
    /// Questions that wait at most; beyond it 503.
    static let waitingMax = 16
    /// After so long without a question the connection and its memory are given back.
    private static let idleMax: Int64 = 60_000

    /// Makes an answer of what a question may read.
    typealias Question = @Sendable (HistoryWork) throws(StoreError) -> HTTPResponse

    private enum Message: Sendable {
        case question(Question, until: ContinuousClock.Instant, @Sendable (HTTPResponse) -> Void)
        case close
    }

    private let writer: StateWriter
    private let limits: HistoryLimits
    private let messages = Mailbox<Message>()
    private let waiting = Atomic(0)
    private var reader: HistoryReader?
    private let hasThread = Atomic(true)

    /// A service that reads `writer`'s store; its thread runs until `close`.
    init(writer: StateWriter, limits: HistoryLimits = HistoryLimits()) {
        self.writer = writer
        self.limits = limits
        let isStarted = DetachedThread.start(stackBytes: 8 << 20) { [self] in run() }
        hasThread.store(isStarted, ordering: .relaxed)
    }

    /// Ends the thread, after what waits.
    func close() { messages.put(.close) }

    /// Answers a question once, on another thread; at once with 503 if too many wait, or if the
    /// system had no thread for it.
    func ask(_ answer: @escaping @Sendable (HTTPResponse) -> Void, _ question: @escaping Question) {
        guard hasThread.load(ordering: .relaxed) else {
            return answer(Router.unavailable("the system had no thread left for history"))
        }
        guard waiting.add(1, ordering: .relaxed).newValue <= Self.waitingMax else {
            waiting.subtract(1, ordering: .relaxed)
            return answer(Router.unavailable("too many questions of history are waiting"))
        }
        messages.put(.question(question, until: ContinuousClock.now + limits.patience, answer))
    }

    // MARK: - The thread

    private func run() {
        while true {
            let taken = messages.takeAll(waiting: Self.idleMax)
            if taken.isEmpty { reader = nil }
            for message in taken {
                switch message {
                case .question(let question, let until, let answer):
                    let response =
                        ContinuousClock.now < until
                        ? response(question) : Router.unavailable("history is busy")
                    waiting.subtract(1, ordering: .relaxed)
                    answer(response)
                case .close: return reader = nil
                }
            }
        }
    }

    private func response(_ question: Question) -> HTTPResponse {
        do throws(StoreError) {
            let open = try writer.history(&reader)
            return try question(HistoryWork(open, writer: writer, limits: limits))
        } catch {
            reader = nil
            writer.log.warning("history cannot be read", metadata: ["error": "\(error)"])
            return Router.unavailable("history cannot be read")
        }
    }
}
