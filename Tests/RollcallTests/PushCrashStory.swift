import Glibc
import Logging
import RollcallCore
import Synchronization

@testable import Rollcall
@testable import RollcallBasis
@testable import RollcallStore
@testable import RollcallSupport

/// Processes that are killed while they nudge people, and what the phones saw (N2).
///
/// A kill leaves the store and its file as they are at that moment: they are copied, and whatever
/// the old state writer does from then on counts no more, neither in its store nor on any phone.
final class PushCrashStory: Sendable {
    /// A place in a push's way.
    enum Point: CaseIterable, Sendable {
        /// Before and after the commits by which it is decided, claimed, and its result known.
        case decided, decisionStored, claimed, claimStored, ended, endStored
        /// Before and after it goes out.
        case sending, sent
    }

    private struct State {
        /// Which process is alive.
        var process = 0
        var directory = TemporaryDirectory()
        var left: TemporaryDirectory?
        var kills = 0
        /// By the responder's id: pushes that went out.
        var arrived: [String: Int] = [:]
        var faults: [String] = []
    }

    /// How long anything is waited for, in looks of a millisecond.
    private static let patience = 20_000

    private let captured = ClockReading.now().wall.milliseconds - 10_000
    private let state = Mutex(State())
    private let verdict: @Sendable (PushPayload) -> PushVerdict
    private let isKilled: @Sendable (Point) -> Bool

    /// A story in which the sink answers with `verdict`, and at each point `isKilled` is asked.
    init(
        verdict: @escaping @Sendable (PushPayload) -> PushVerdict,
        isKilled: @escaping @Sendable (Point) -> Bool
    ) {
        self.verdict = verdict
        self.isKilled = isKilled
    }

    /// Kills so far.
    var kills: Int { state.withLock { $0.kills } }

    /// What the phones saw, by responder.
    var arrived: [String: Int] { state.withLock { $0.arrived } }

    /// What went wrong.
    var faults: [String] { state.withLock { $0.faults } }

    func note(_ fault: String) { state.withLock { $0.faults.append(fault) } }

    // MARK: - The lives

    /// One life: these people report, until what follows is over, or it is killed. What the engine
    /// has counted by its end; nil if it was killed.
    func live(_ people: [String]) -> Engine? {
        let (process, directory) = state.withLock { ($0.process, $0.directory) }
        guard let writer = writer(directory, process) else {
            note("the store of process \(process) cannot be opened")
            return nil
        }
        writer.start()
        report(people, to: writer)
        let engine = settle(writer, process)
        let isStopped = Mutex(false)
        writer.stop { isStopped.withLock { $0 = true } }
        if !isTrue({ isStopped.withLock { $0 } }) { note("no stop") }
        return state.withLock { state in
            guard let left = state.left.take() else { return engine }
            state.directory = left
            return nil
        }
    }

    private func writer(_ directory: TemporaryDirectory, _ process: Int) -> StateWriter? {
        var endpoints = DeliveryEndpoints()
        endpoints.pushSink = { PushSink(.webhook, url: "http://127.0.0.1:9") }
        endpoints.makePushCaller = { [self] _ in
            PushCalls(
                send: { payloads, _, _ in payloads.map { PushResult(self.send($0, process)) } },
                receipts: { _, _, _ in PushReceipts(verdicts: nil) })
        }
        endpoints.pushTimes.attempts.retryMin = Milliseconds(2)
        endpoints.pushTimes.attempts.retryMax = Milliseconds(10)
        return try? StateWriter(
            path: directory.store, policy: PushingStateWriter.policy(.webhook),
            log: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }, edge: EdgeStats(),
            endpoints: endpoints, aroundCommit: { [self] in pass($0, isCommitted: $1, process) },
            refusals: { 0 }, onFatal: { [self] in note("\($0)") })
    }

    /// People report where they were, the same each time: as those do who had no answer.
    private func report(_ people: [String], to writer: StateWriter) {
        let items = people.map { id in
            """
            {"responder_id":"\(id)","region":"north",
            "updates":[{"sequence":1,"captured_at":\(captured)}]}
            """
        }
        // Somebody who is company, and whom nobody ever located.
        let peers = "{\"responder_id\":\"company\",\"region\":\"north\"}"
        let body = Array("[\((items + [peers]).joined(separator: ","))]".utf8)
        guard let scan = try? ItemScanner.scan(body.span, kind: .batch) else {
            return note("no report")
        }
        let isAnswered = Mutex(false)
        writer.write(.items(scan.items, source: [])) { _ in isAnswered.withLock { $0 = true } }
        if !isTrue({ isAnswered.withLock { $0 } }) { note("no answer") }
    }

    /// Waits until nothing is on its way, or the process is killed.
    private func settle(_ writer: StateWriter, _ process: Int) -> Engine? {
        // Whoever was located just now is too old a millisecond later: before that nobody is nudged,
        // and nothing would be on its way.
        usleep(5000)
        let last = Mutex<Engine?>(nil)
        let isSettled = isTrue {
            if state.withLock({ $0.process != process }) { return true }
            let pending = Mutex<Int?>(nil)
            writer.ask { view in
                last.withLock { $0 = view.engine }
                let counters = view.engine.counters.nudges
                let ended = PushOutcome.allCases.reduce(0) { $0 + counters.pushed(.nudge, $1) }
                pending.withLock { $0 = view.store.pushesPending + counters.sent - ended }
            }
            _ = isTrue { pending.withLock { $0 != nil } }
            return pending.withLock { $0 == 0 }
        }
        if !isSettled { note("something is still on its way") }
        return last.withLock { $0 }
    }

    private func isTrue(_ condition: () -> Bool) -> Bool {
        for _ in 0..<Self.patience {
            if condition() { return true }
            usleep(1000)
        }
        return false
    }

    // MARK: - The way of a push

    private func pass(_ pending: PendingTurn, isCommitted: Bool, _ process: Int) {
        let rows = pending.pushes.added + pending.pushes.changed
        let isClaimed = rows.contains { $0.state == .sending }
        let isEnded = rows.contains {
            $0.state == .over || ($0.state == .waiting && $0.attempts > 0)
        }
        if !pending.pushes.added.isEmpty {
            pass(isCommitted ? .decisionStored : .decided, process)
        }
        if isClaimed { pass(isCommitted ? .claimStored : .claimed, process) }
        if isEnded { pass(isCommitted ? .endStored : .ended, process) }
    }

    private func send(_ payload: PushPayload, _ process: Int) -> PushVerdict {
        pass(.sending, process)
        guard state.withLock({ $0.process == process }) else { return .unknown }
        let verdict = verdict(payload)
        state.withLock { state in
            guard state.process == process else { return }
            // What is refused never reached anybody.
            if case .refused = verdict { return }
            state.arrived[String(decoding: payload.responderID, as: UTF8.self), default: 0] += 1
        }
        pass(.sent, process)
        return verdict
    }

    private func pass(_ point: Point, _ process: Int) {
        state.withLock { state in
            guard state.process == process, isKilled(point) else { return }
            let left = TemporaryDirectory()
            // The state writer may be at its next commit: the file is never newer than the store.
            for name in ["rollcall.db.epoch", "rollcall.db", "rollcall.db-wal"]
            where state.directory.size(name) >= 0 {
                state.directory.copy(name, to: left)
            }
            state.left = left
            state.process += 1
            state.kills += 1
        }
    }
}
