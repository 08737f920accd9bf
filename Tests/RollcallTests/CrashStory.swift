import Glibc
import Logging
import RollcallCore
import Synchronization

@testable import Rollcall
@testable import RollcallBasis
@testable import RollcallStore

/// Where a process is killed, and what the pager does until then.
struct Crash: CustomStringConvertible, Sendable {
    /// A place in a message's way.
    enum Point: Equatable, Sendable {
        /// Before or after the commit by which a message is decided, its attempt begun or ended.
        case decided(Bool), begun(Bool), ended(Bool)
        case pager(LoopbackPager.Point)
    }

    /// Of the trigger, or of the resolve.
    let kind: Notice.Kind
    let point: Point
    /// Which attempt of the message it is.
    let attempt: Int
    let answer: LoopbackPager.Answer
    /// True if the alert is over while its trigger is on its way.
    let isHurried: Bool

    var description: String {
        "\(kind.word) \(point) of attempt \(attempt), \(answer)\(isHurried ? ", hurried" : "")"
    }

    /// Every one that can be.
    static var all: [Crash] {
        var all: [Crash] = []
        for isHurried in [false, true] {
            for answer in LoopbackPager.Answer.allCases {
                for kind in [Notice.Kind.fired, .resolved] {
                    for attempt in 1...2 {
                        // What was seen is not tried again, nor is a trigger of what is over.
                        if attempt == 2, answer == .seen || (isHurried && kind == .fired) {
                            continue
                        }
                        all += points(attempt, answer, isOver: isHurried && kind == .fired).map {
                            Crash(
                                kind: kind, point: $0, attempt: attempt, answer: answer,
                                isHurried: isHurried)
                        }
                    }
                }
            }
        }
        return all
    }

    private static func points(
        _ attempt: Int, _ answer: LoopbackPager.Answer, isOver: Bool
    ) -> [Point] {
        var points: [Point] = attempt == 1 && !isOver ? [.decided(false), .decided(true)] : []
        if !isOver {
            points += [.begun(false), .begun(true), .pager(.connected), .pager(.firstByte)]
        }
        points.append(.pager(.lastByte))
        if answer.lines != nil { points += [.pager(.statusLine), .pager(.answered)] }
        return points + [.ended(false), .ended(true)]
    }
}

/// One region that somebody must always be in: nobody is, so the pager is told; then somebody
/// reports, so it is told that this is over. In between the state writer is killed once.
///
/// A kill leaves the store as it is at that moment: it is copied, and whatever the old state writer
/// does from then on counts no more, neither in its store nor at the pager.
final class CrashStory: PagerDoor.Guard {
    private struct State {
        /// Which process is alive.
        var process = 0
        /// Its store.
        var directory: TemporaryDirectory?
        /// The store of a killed one, until another goes on with it.
        var left: TemporaryDirectory?
        var hasCrashed = false
        var writer: StateWriter?
        /// What is being sent.
        var kind = Notice.Kind.fired
        var attempt = 0
        /// Notices' kinds by their numbers.
        var kinds: [Int64: Notice.Kind] = [:]
        /// Of what a 2xx is committed.
        var delivered: Set<Notice.Kind> = []
        var isOver = false
        var faults: [String] = []
    }

    /// How long anything is waited for, in looks of a millisecond.
    private static let patience = 20_000
    /// How long the state writer waits for the pager.
    private static let answerWait = Milliseconds(100)

    private let crash: Crash
    private let pager = LoopbackPager()
    private let state = Mutex(State())

    private init(_ crash: Crash) { self.crash = crash }

    /// Plays one; what went wrong.
    static func faults(_ crash: Crash) -> [String] {
        let story = CrashStory(crash)
        story.live(in: TemporaryDirectory())
        story.evaluate()
        return story.state.withLock { $0.faults }.map { "\(crash): \($0)" }
    }

    private func note(_ fault: String) { state.withLock { $0.faults.append(fault) } }

    // MARK: - The lives

    /// One process from its start until it is killed, and those after it.
    private func live(in directory: TemporaryDirectory) {
        let process = state.withLock { state in
            state.directory = directory
            return state.process
        }
        let door = PagerDoor(process: process, self)
        guard let writer = writer(directory, process, port: door.port) else {
            return note("the store of process \(process) cannot be opened")
        }
        let isStopped = Mutex(false)
        door.serve {
            state.withLock { $0.writer = writer }
            writer.start()
            go(writer, process)
            door.close()
            writer.stop { isStopped.withLock { $0 = true } }
            if let left = state.withLock({ $0.left.take() }) { live(in: left) }
        }
        if !isTrue({ isStopped.withLock { $0 } }) { note("no stop") }
    }

    private func writer(
        _ directory: TemporaryDirectory, _ process: Int, port: Int
    ) -> StateWriter? {
        var policy = Policy()
        policy.coverageRegions = [Array("north".utf8)]
        policy.alerts.noOnlineResponders.pendingFor = Milliseconds(0)
        policy.alerts.noOnlineResponders.keepFiringFor = Milliseconds(0)
        policy.receivers = [Receiver(name: Array("oncall".utf8), kind: .pagerduty)]
        var endpoints = DeliveryEndpoints()
        endpoints.address = { _ in
            var address = ReceiverAddress(name: "oncall", kind: .pagerduty)
            address.urls = ["http://127.0.0.1:\(port)/v2/enqueue"]
            return address
        }
        endpoints.makeSend = { log in
            let caller = ReceiverCaller(log: log, patience: Self.answerWait)
            return { caller.send($0, to: $1, target: $2, now: $3) }
        }
        endpoints.times.retryMin = Milliseconds(2)
        endpoints.times.retryMax = Milliseconds(10)
        endpoints.times.retryAfterMax = Milliseconds(20)
        let log = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        return try? StateWriter(
            path: directory.store, policy: policy, log: log, edge: EdgeStats(),
            endpoints: endpoints,
            aroundCommit: { [unowned self] in pass($0, isCommitted: $1, process) },
            refusals: { 0 }, onFatal: { [unowned self] in note("\($0)") })
    }

    /// The story from its beginning: what was reported before is reported again, as by somebody
    /// who had no answer.
    private func go(_ writer: StateWriter, _ process: Int) {
        report("south", to: writer)
        if !state.withLock({ $0.isOver }) { settle(writer, process) }
        guard state.withLock({ $0.process == process }) else { return }
        report("north", to: writer)
        settle(writer, process)
        // The pager may be slower to say where it is than the state writer.
        if !isTrue({ state.withLock { $0.hasCrashed } }) { note("it was never killed") }
    }

    /// Somebody in `region` reports; waits until that is committed.
    private func report(_ region: String, to writer: StateWriter) {
        let body = "[{\"responder_id\":\"\(region)\",\"region\":\"\(region)\"}]"
        guard let scan = try? ItemScanner.scan(Array(body.utf8).span, kind: .batch) else {
            return note("no report")
        }
        if region == "north" { state.withLock { $0.isOver = true } }
        let isAnswered = Mutex(false)
        writer.write(.items(scan.items, source: [])) { _ in isAnswered.withLock { $0 = true } }
        if !isTrue({ isAnswered.withLock { $0 } }) { note("no answer") }
    }

    /// Waits until nothing is on its way, or the process is killed.
    private func settle(_ writer: StateWriter, _ process: Int) {
        let isSettled = isTrue {
            if state.withLock({ $0.process != process }) { return true }
            let pending = Mutex<Int?>(nil)
            writer.ask { view in
                pending.withLock { $0 = view.store.messagesPending.values.reduce(0, +) }
            }
            _ = isTrue { pending.withLock { $0 != nil } }
            return pending.withLock { $0 == 0 }
        }
        if !isSettled { note("something is still on its way") }
    }

    private func isTrue(_ condition: () -> Bool) -> Bool {
        for _ in 0..<Self.patience {
            if condition() { return true }
            usleep(1000)
        }
        return false
    }

    // MARK: - The kill

    private func pass(_ pending: PendingTurn, isCommitted: Bool, _ process: Int) {
        state.withLock { state in
            guard state.process == process else { return }
            var points: [(Crash.Point, Notice.Kind, attempt: Int)] = []
            for message in pending.outbox.added {
                state.kinds[message.number] = message.notice.kind
                points.append((.decided(isCommitted), message.notice.kind, 1))
            }
            for row in pending.attempts {
                guard let kind = state.kinds[row.notice] else { continue }
                let hasBegun = row.took == nil
                points.append(
                    (hasBegun ? .begun(isCommitted) : .ended(isCommitted), kind, row.attempt))
                guard isCommitted else { continue }
                if hasBegun { (state.kind, state.attempt) = (kind, row.attempt) }
                if row.status == 202 { state.delivered.insert(kind) }
            }
            let isHere = points.contains { point, kind, attempt in
                point == crash.point && kind == crash.kind && attempt == crash.attempt
            }
            if isHere { Self.kill(&state) }
        }
    }

    func sending(process: Int) -> PagerDoor.Sending {
        state.withLock {
            PagerDoor.Sending(process: process, kind: $0.kind, attempt: $0.attempt)
        }
    }

    func pass(_ point: LoopbackPager.Point, of sending: PagerDoor.Sending) -> Bool {
        let writer = state.withLock { state in
            let isHurry =
                crash.isHurried && !state.isOver && point == .lastByte && sending.kind == .fired
                && state.process == sending.process
            return isHurry ? state.writer : nil
        }
        if let writer { report("north", to: writer) }
        return state.withLock { state in
            guard state.process == sending.process else { return false }
            // On a slow machine the state writer may have waited for long enough before.
            let isHere =
                crash.point == .pager(point) && crash.kind == sending.kind
                && crash.attempt <= sending.attempt && !state.hasCrashed
            if isHere { Self.kill(&state) }
            return !isHere
        }
    }

    func answer(_ event: LoopbackPager.PagerEvent, process: Int) -> LoopbackPager.Answer? {
        state.withLock { state in
            // Whoever had enough of waiting may be killed while the pager still reads.
            guard state.process == process else { return nil }
            let kind = event.isTrigger ? Notice.Kind.fired : .resolved
            if state.delivered.contains(kind) {
                state.faults.append("\(kind.word) is sent after a committed 2xx")
            }
            let isMeant = crash.isHurried || kind == crash.kind
            let answer = state.hasCrashed || !isMeant ? .seen : crash.answer
            pager.see(event, isTaken: answer.isTaken)
            return answer
        }
    }

    /// Leaves the store as a kill would, and makes a ghost of whoever has it open.
    private static func kill(_ state: inout State) {
        guard !state.hasCrashed, let directory = state.directory else { return }
        let left = TemporaryDirectory()
        directory.copy("rollcall.db", to: left)
        directory.copy("rollcall.db-wal", to: left)
        state.left = left
        state.hasCrashed = true
        state.process += 1
    }

    // MARK: - The end

    /// One incident for the one alert, under one key, and it is over for the pager too.
    private func evaluate() {
        let memory = pager.memory
        let openings = memory.openings.values.reduce(0, +)
        if memory.keys.count != 1 { note("keys: \(memory.keys.sorted())") }
        // Of what was over before its trigger arrived nobody need ever hear.
        if openings > 1 || (openings == 0 && !crash.isHurried) { note("\(openings) incidents") }
        if memory.resolves == 0 { note("no resolve") }
        if !memory.open.isEmpty { note("a ghost is open: \(memory.open.sorted())") }
    }
}
