import Glibc
import Logging
import RollcallBasis
import RollcallCore
import RollcallSupport

/// Tells somebody outside that the watch works, again and again: who is not told any more raises
/// the alarm that we cannot. Healthchecks, Dead Man's Snitch and the like all take a GET. It is
/// withheld while anything is wrong. Source: V8.
///
/// It has a thread of its own, because a call may take ten seconds.
///
/// `@unchecked Sendable` is true because everything mutable is touched by its own thread alone; the
/// mailbox is what other threads see.
package final class AlivePing: @unchecked Sendable {
    /// The outcome of a ping that was due.
    package enum Outcome: Int, CaseIterable, Sendable {
        /// 2xx.
        case sent
        /// Anything else.
        case failed
        /// Not tried: something is wrong with the watch.
        case withheld

        /// The label's value.
        var word: StaticString {
            switch self {
            case .sent: "sent"
            case .failed: "failed"
            case .withheld: "withheld"
            }
        }
    }

    private enum Message: Sendable {
        case follow(AlivePingSettings)
        case close
    }

    /// Milliseconds of sleep without anything to do.
    private static let idleWait: Int64 = 3_600_000

    private let board: HealthBoard
    private let edge: EdgeStats
    private let log: Logger
    private let clock: @Sendable () -> Int64
    private let mailbox = Mailbox<Message>()

    private var settings = AlivePingSettings()
    private var nextAt = Int64.max
    private var trouble = TroubleLog()
    private var caller: HTTPCaller?

    /// A ping that evaluates by what is on `board`, to be started. `clock` is the machine's.
    package init(
        board: HealthBoard, edge: EdgeStats, log: Logger,
        clock: @escaping @Sendable () -> Int64 = { ClockReading.now().elapsed }
    ) {
        self.board = board
        self.edge = edge
        self.log = log
        self.clock = clock
    }

    /// Starts the thread; false if the system has none left.
    @discardableResult
    package func start() -> Bool { DetachedThread.start(stackBytes: 8 << 20) { [self] in run() } }

    // MARK: - From other threads

    /// Takes the settings: who is told, if anybody, and how often. The first ping comes at once.
    package func follow(_ settings: AlivePingSettings) { mailbox.put(.follow(settings)) }

    /// Ends the thread after what it is at, and does not wait for that.
    package func close() { mailbox.put(.close) }

    // MARK: - The thread

    private func run() {
        while true {
            let wait = nextAt == Int64.max ? Self.idleWait : nextAt - clock()
            for message in mailbox.takeAll(waiting: wait) {
                switch message {
                case .follow(let new): take(new)
                case .close: return
                }
            }
            pingIfDue()
        }
    }

    private func take(_ new: AlivePingSettings) {
        if new == settings { return }
        settings = new
        nextAt = new.url == nil ? Int64.max : clock()
    }

    private func pingIfDue() {
        let now = clock()
        guard let url = settings.url, now >= nextAt else { return }
        nextAt = now + settings.every.count
        guard let health = board.health else { return withhold("it has not begun to watch") }
        if let fault = health.fault(at: now) { return withhold(fault.rawValue) }
        if let why = ping(url) {
            edge.pinged(.failed)
            trouble.note(why) {
                log.warning("the alive ping failed", metadata: ["error": "\(why)"])
            }
        } else {
            edge.pinged(.sent)
            trouble.end { log.info("the alive ping is sent again") }
        }
    }

    private func withhold(_ reason: String) {
        edge.pinged(.withheld)
        trouble.note(reason) {
            log.warning("the alive ping is withheld", metadata: ["reason": "\(reason)"])
        }
    }

    /// Sends a ping, and returns why it did not work; nil if it did.
    private func ping(_ url: String) -> String? {
        var call = HTTPCall(.get, url)
        call.connectTimeout = Poster.connectTimeout
        call.timeout = Poster.timeout
        call.answerBytesMax = Poster.answerBytesMax
        do throws(HTTPCallError) {
            let caller = if let caller { caller } else { try HTTPCaller() }
            self.caller = caller
            let status = try caller.answer(to: call).status
            if (200...299).contains(status) { return nil }
            return "\(Destination(url: url)?.text ?? ""): answered \(status)"
        } catch {
            // The rest of such an answer says nothing more.
            if let status = error.status, (200...299).contains(status) { return nil }
            return "\(error)"
        }
    }
}
