import Glibc
import Logging
import RollcallBasis
import RollcallCore
import RollcallSupport
import Synchronization

/// The outcome of a reload.
package enum ReloadOutcome: Sendable {
    /// The settings that were read are in force. `file` is nil where there is none to read.
    case reloaded(SettingsChange, file: String?)
    /// They are wrong: those from before stay, all of them. It never holds a secret.
    case refused(String)
    /// It is not known whether they are in force: to be asked for again.
    case unavailable(String)
}

/// Reads the settings again while the server runs, all or nothing, one reload after the other.
///
/// It has a thread of its own: a slow file must hold up neither requests nor signals. Source:
/// V8; F19 for what a `policy` event does.
///
/// `@unchecked Sendable` is true because everything mutable is touched by its own thread alone; the
/// mailbox, the mutex and the atomics are what other threads see.
package final class Reloader: @unchecked Sendable {
    /// Reloads that may wait at once; further ones are refused. One reading answers all that wait.
    package static let waitingMax = 64
    /// Milliseconds of sleep without anything to do.
    private static let idleWait: Int64 = 3_600_000
    /// Milliseconds between looks at whether the server still runs.
    private static let lookEvery: Int64 = 1000

    private enum Message: Sendable {
        case reload(by: ActionReport, @Sendable (ReloadOutcome) -> Void)
        case close
    }

    private let read: @Sendable (_ inForce: Configuration) throws(InputFileError) -> Configuration
    private let file: String?
    private let writer: StateWriter
    private let edge: EdgeStats
    private let log: Logger
    private let prepare: @Sendable (Configuration) -> Void
    private let apply: @Sendable (Configuration) -> EndpointChanges
    private let onReload: @Sendable (_ begins: Bool) -> Void
    private let mailbox = Mailbox<Message>()
    private let waiting = Atomic(0)
    private let isClosed = Atomic(false)

    private let started: Configuration
    private var running: Configuration { didSet { inForce.withLock { $0 = running } } }
    private let inForce: Mutex<Configuration>
    /// False after a commit that failed: the state writer may have the policy or not.
    private var isCertain = true

    /// A reloader for a server that was started with `started`, to be started itself.
    ///
    /// A new policy is journaled through `writer`, after `prepare` has seen what comes; `apply` then
    /// takes whatever else may change while the server runs, and tells which receivers are reached
    /// otherwise now, for what waits for them. Both are called on the reloader's thread and must not
    /// fail. `onReload` is called there too, before and after each reading.
    package init(
        _ started: Configuration, source: SettingsSource, writer: StateWriter, edge: EdgeStats,
        log: Logger, onReload: @escaping @Sendable (_ begins: Bool) -> Void = { _ in },
        prepare: @escaping @Sendable (Configuration) -> Void = { _ in },
        apply: @escaping @Sendable (Configuration) -> EndpointChanges
    ) {
        self.started = started
        running = started
        inForce = Mutex(started)
        read = { (inForce) throws(InputFileError) in
            try source.readAgain(started: started, inForce: inForce)
        }
        file = source.path
        self.writer = writer
        self.edge = edge
        self.log = log
        self.prepare = prepare
        self.apply = apply
        self.onReload = onReload
        edge.reloaded(isSuccessful: true, at: ClockReading.now().wall)
    }

    /// Starts the thread; false if the system has none left.
    @discardableResult
    package func start() -> Bool { DetachedThread.start(stackBytes: 8 << 20) { [self] in run() } }

    // MARK: - From other threads

    /// The settings that are in force: those that need a restart are those of the start.
    package var settings: [ReportedSetting] {
        let now = inForce.withLock { $0 }
        return Setting.all.map { ReportedSetting($0, $0.effect == .start ? started : now) }
    }

    /// Asks for a reload, which `action` says who wants; `reply` is called once, with what came of
    /// the next reading.
    package func reload(
        by action: ActionReport = ActionReport(.reload, author: []),
        _ reply: @escaping @Sendable (ReloadOutcome) -> Void
    ) {
        guard waiting.add(1, ordering: .relaxed).newValue <= Self.waitingMax else {
            waiting.subtract(1, ordering: .relaxed)
            return reply(.unavailable("\(Self.waitingMax) reloads wait already"))
        }
        mailbox.put(.reload(by: action, reply))
    }

    /// Ends the thread after what it is at. A state writer that has stopped answers nobody.
    package func close() {
        isClosed.store(true, ordering: .relaxed)
        mailbox.put(.close)
    }

    // MARK: - The thread

    private func run() {
        while !isClosed.load(ordering: .relaxed) {
            var replies: [@Sendable (ReloadOutcome) -> Void] = []
            var action: ActionReport?
            for message in mailbox.takeAll(waiting: Self.idleWait) {
                guard case .reload(let asked, let reply) = message else { continue }
                action = action ?? asked
                replies.append(reply)
            }
            guard let action else { continue }
            waiting.subtract(replies.count, ordering: .relaxed)
            onReload(true)
            let outcome = reload(by: action)
            onReload(false)
            writeLog(outcome)
            for reply in replies { reply(outcome) }
        }
    }

    private func reload(by asked: ActionReport) -> ReloadOutcome {
        var new: Configuration
        do throws(InputFileError) {
            new = try read(running)
        } catch {
            return .refused(error.sentence)
        }
        // Like the settings that it follows from, it is read at the start.
        new.policy.role = started.cluster.fleetRole
        new.policy.cell = Array(started.cluster.cell.utf8)
        let left = incidentsLeft(by: new)
        let change = SettingsChange(from: running, started: started, to: new)
        var action = asked
        action.comment = Array(change.changed.map(\.key).joined(separator: ", ").utf8.prefix(1000))
        if !isCertain || new.policy != running.policy {
            prepare(new)
            if let reason = journal(new.policy, by: action) {
                isCertain = false
                return .unavailable(reason)
            }
            isCertain = true
        } else if !change.changed.isEmpty {
            ask { writer.write(.action(action), reply: $0) }
        }
        let endpoints = apply(new)
        // Once the answer is there, a kill changes nothing of what is retried soon.
        ask { (done: @escaping @Sendable (Bool) -> Void) in
            writer.retrySoon(endpoints) { done(true) }
        }
        for warning in new.warnings where !running.warnings.contains(warning) {
            log.warning("\(warning)")
        }
        for warning in left { log.warning("\(warning)") }
        running = new
        return .reloaded(change, file: file)
    }

    /// Returns, a sentence for each pager, what the old settings opened there and the new ones may
    /// not be able to end: a pager that they do not name, or name with another key.
    private func incidentsLeft(by new: Configuration) -> [String] {
        let left = running.receivers.filter { old in
            old.kind.keepsIncidents
                && new.receivers.first { $0.name == old.name }?.incidentsKey != old.incidentsKey
        }
        guard !left.isEmpty else { return [] }
        let names = left.map(\.name)
        let counts = ask { (done: @escaping @Sendable ([Int]) -> Void) in
            writer.ask { view in
                done(names.map { view.outbox.incidentsOpened(by: Array($0.utf8)) })
            }
        }
        return zip(left, counts ?? []).filter { $1 > 0 }.map { old, count in
            let service = old.kind == .opsgenie ? "Opsgenie" : "PagerDuty"
            return "receivers.\(old.name): incidents that were opened with its old settings may "
                + "stay open at \(service), \(count) at most: look there"
        }
    }

    /// Makes `policy`, and who wants it, events of the journal; nil once it is committed, else why it may not be.
    private func journal(_ policy: Policy, by action: ActionReport) -> String? {
        switch ask({ writer.write(.policy(policy), by: action, reply: $0) }) {
        case .committed: nil
        // At a member that follows: the leader may have taken the same already.
        case .unavailable(let reason): isInForce(policy) ? nil : reason
        case nil: "the server is stopping"
        }
    }

    /// True if a watch on several machines decides by `policy` already.
    private func isInForce(_ policy: Policy) -> Bool {
        guard writer.board != nil else { return false }
        let asked = ask { (done: @escaping @Sendable (Bool) -> Void) in
            writer.ask { done($0.engine.policy == policy) }
        }
        return asked ?? false
    }

    /// Waits for the state writer's answer; nil once we are closed.
    @discardableResult private func ask<Answer: Sendable>(
        _ question: (@escaping @Sendable (Answer) -> Void) -> Void
    ) -> Answer? {
        let answers = Mailbox<Answer>()
        question { answers.put($0) }
        while !isClosed.load(ordering: .relaxed) {
            if let answer = answers.takeAll(waiting: Self.lookEvery).first { return answer }
        }
        return nil
    }

    private func writeLog(_ outcome: ReloadOutcome) {
        switch outcome {
        case .reloaded(let change, let file):
            edge.reloaded(isSuccessful: true, at: ClockReading.now().wall)
            change.write(to: log, file)
        case .refused(let reason), .unavailable(let reason):
            edge.reloaded(isSuccessful: false, at: ClockReading.now().wall)
            log.error(
                "settings not reloaded, those from before stay", metadata: ["error": "\(reason)"])
        }
    }
}

extension SettingsChange {
    /// Tells a log what is other than before, and what waits for a restart.
    func write(to log: Logger, _ file: String? = nil) {
        var metadata: Logger.Metadata = [:]
        metadata["file"] = file.map { "\($0)" }
        metadata["changed"] = Self.list(changed)
        metadata["needs_restart"] = Self.list(needsRestart)
        log.log(
            level: needsRestart.isEmpty ? .info : .warning, "settings reloaded",
            metadata: metadata)
    }

    private static func list(_ differences: [Difference]) -> Logger.MetadataValue? {
        guard !differences.isEmpty else { return nil }
        return "\(differences.map(\.description).joined(separator: "; "))"
    }
}

extension SettingsSource {
    /// Reads the settings of a server that runs, as those that take the place of the ones `inForce`.
    /// - Throws: `InputFileError` if they cannot be read, or cannot be in force without a restart.
    func readAgain(
        started: Configuration, inForce: Configuration
    ) throws(InputFileError) -> Configuration {
        let new = try read(isAgain: true)
        // A new address waits for a restart, but tokens do not: who listens beyond loopback now must not
        // lose them to a file that means to listen elsewhere.
        do throws(ConfigurationError) {
            try new.accessPolicy.check(listenAddress: started.listenAddress)
            try new.accessPolicy.checkTLS(sinceStart: started.accessPolicy)
            try new.accessPolicy.checkCertificates(
                inForce: inForce.accessPolicy, listenAddress: started.listenAddress)
        } catch {
            throw .wrongConfiguration(path: path, error)
        }
        return new
    }
}
