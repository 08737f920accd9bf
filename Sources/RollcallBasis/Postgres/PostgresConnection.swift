import RollcallCluster
import RollcallCore
import RollcallSupport
import Synchronization

/// A `PostgresKnowledge` holds what all threads know of a PostgreSQL: its hosts, which of them is
/// the primary, and the highest timeline that was seen.
final class PostgresKnowledge: Sendable {
    /// The library, and the hosts that it reads out of the URL.
    struct Client: Sendable {
        let library: PostgresLibrary
        let hosts: PostgresHosts
    }

    let settings: PostgresSettings
    /// The client by which it can be reached, or the reason why it cannot be.
    let client: Result<Client, PostgresMissing>
    private let host = Atomic(0)
    private let timeline = Atomic<Int64>(0)
    private let closed = Atomic(false)

    /// Nothing but the URL is known yet.
    init(_ settings: PostgresSettings) {
        self.settings = settings
        client = PostgresLibrary.shared.flatMap { library in
            Result { () throws(PostgresMissing) in
                Client(
                    library: library,
                    hosts: PostgresHosts(try library.options(of: settings.url), settings))
            }
        }
    }

    var isClosed: Bool { closed.load(ordering: .relaxed) }

    func close() { closed.store(true, ordering: .relaxed) }

    /// The host to be asked first.
    var current: Int { host.load(ordering: .relaxed) }

    func prefer(_ index: Int) { host.store(index, ordering: .relaxed) }

    var lastTimeline: Int64 { timeline.load(ordering: .relaxed) }

    func note(timeline new: Int64) { timeline.max(new, ordering: .relaxed) }
}

/// One thread's way to the primary: transactions, and what becomes of them.
final class PostgresConnection {
    /// A server that can be asked, and how it stands.
    private struct Server {
        var session: PostgresSession
        var standing: PostgresStanding
        var host: Int
    }

    /// A `NotRun` says why nothing was run.
    private struct NotRun: Error {
        var why: String
        /// True if another try at once may do: the connection was gone before it was used.
        var isStale = false
    }

    /// A host that takes longer to be connected to is left for the next one.
    private static let connectMax: Int64 = 1000
    /// For how long a commit that does not end holds up its connection at first; each one that is
    /// given up doubles it, since the server keeps them all.
    private static let patienceMin: Int64 = 10_000
    private static let patienceMax: Int64 = 640_000

    private let known: PostgresKnowledge
    private let plan: PostgresPlan
    private var server: Server?
    /// Since when a commit does not end; nil if none does.
    private var waitsSince: Int64?
    private var patience = patienceMin

    /// The connection of a thread.
    init(_ known: PostgresKnowledge) {
        self.known = known
        plan = PostgresPlan(table: known.settings.quotedTable, timeout: known.settings.timeout)
    }

    private var deadline: Int64 { ClockReading.now().elapsed + known.settings.timeout.count }

    // MARK: - Transactions

    /// Runs a transaction. Until COMMIT is sent whatever fails undoes it.
    func run(_ transaction: KeyValueTransaction) -> KeyValueOutcome {
        let deadline = deadline
        for isLast in [false, true] {
            do throws(NotRun) {
                return try run(transaction, at: ready(until: deadline), until: deadline)
            } catch  where isLast || !error.isStale {
                return .notRun(error.why)
            } catch {}
        }
        return .notRun("no connection")
    }

    private func run(
        _ transaction: KeyValueTransaction, at server: Server, until deadline: Int64
    ) throws(NotRun) -> KeyValueOutcome {
        var operations = transaction.operations
        var found: [[KeyValueRow]]?
        var isTrue = true
        let beginning: PostgresPlan.Beginning
        if transaction.comparisons.isEmpty, operations.allSatisfy(\.isRead) {
            let answers = try batch(
                plan.readBeginning + plan.statements(operations, revision: 0), server, deadline,
                isFirst: true)
            beginning = try begin(answers, server, deadline)
            found = PostgresPlan.found(operations, Array(answers.dropFirst(4)))
        } else {
            let answers = try batch(
                plan.writeBeginning(transaction.comparisons), server, deadline, isFirst: true)
            var begun = try begin(answers, server, deadline)
            guard let holds = PostgresPlan.holds(transaction.comparisons, answers) else {
                throw undo(server, deadline, "an answer that makes no sense")
            }
            isTrue = holds
            operations = isTrue ? transaction.operations : transaction.otherwise
            // Nothing is changed or told: whoever is refused reads.
            if operations.isEmpty {
                _ = undo(server, deadline, "")
                return .answered(
                    KeyValueAnswer(isTrue: isTrue, revision: begun.revision, found: []))
            }
            var statements: [PostgresStatement] = []
            if !operations.allSatisfy(\.isRead) {
                begun.revision += 1
                let mark = PostgresMark(
                    system: server.standing.system, timeline: server.standing.timeline)
                statements = [plan.count(begun.revision, mark)]
            }
            let own = statements.count
            statements += plan.statements(operations, revision: begun.revision)
            let results = try batch(statements, server, deadline)
            found = PostgresPlan.found(operations, Array(results.dropFirst(own)))
            beginning = begun
        }
        guard let found else { throw undo(server, deadline, "an answer that makes no sense") }
        switch commit(server, deadline) {
        case .landed:
            return .answered(
                KeyValueAnswer(isTrue: isTrue, revision: beginning.revision, found: found))
        case .undone(let why): return .notRun(why)
        case .unknown(let why): return .unknown(why)
        }
    }

    /// Runs a batch before the COMMIT.
    private func batch(
        _ statements: [PostgresStatement], _ server: Server, _ deadline: Int64,
        isFirst: Bool = false
    ) throws(NotRun) -> [PostgresAnswer] {
        do throws(PostgresFault) {
            return try server.session.run(statements, until: deadline)
        } catch {
            switch error {
            case .refused: throw undo(server, deadline, "\(error)")
            case .lost:
                self.server = nil
                throw NotRun(why: "\(error)", isStale: isFirst)
            // The server undoes what its client has left.
            case .timedOut:
                self.server = nil
                throw NotRun(why: "\(error)")
            }
        }
    }

    /// Returns what the beginning of a transaction found; undoes it and throws `NotRun` if it may
    /// not go on.
    private func begin(
        _ answers: [PostgresAnswer], _ server: Server, _ deadline: Int64
    ) throws(NotRun) -> PostgresPlan.Beginning {
        guard let beginning = PostgresPlan.beginning(answers) else {
            throw undo(server, deadline, "the log's table makes no sense")
        }
        let refusal =
            beginning.mark.refusal(at: server.standing)
            ?? PostgresStanding.refusal(
                standbys: beginning.standbys, hasFsync: beginning.hasFsync,
                isSingleCopy: known.settings.isSingleCopy)
        if let refusal { throw undo(server, deadline, refusal) }
        return beginning
    }

    private func undo(_ server: Server, _ deadline: Int64, _ why: String) -> NotRun {
        do throws(PostgresFault) {
            _ = try server.session.run([PostgresStatement("ROLLBACK")], until: deadline)
        } catch {
            self.server = nil
        }
        return NotRun(why: why)
    }

    private func commit(_ server: Server, _ deadline: Int64) -> PostgresCommit {
        server.session.forgetNotices()
        let answers = Result { () throws(PostgresFault) in
            try server.session.run(PostgresCommit.statements, until: deadline)
        }
        switch answers {
        case .success: patience = Self.patienceMin
        // A new connection would wait for the same, and the server would keep both.
        case .failure(.timedOut): waitsSince = ClockReading.now().elapsed
        case .failure: self.server = nil
        }
        return PostgresCommit(
            answers, notices: server.session.notices, isSingleCopy: known.settings.isSingleCopy)
    }

    // MARK: - Watching

    /// The outcome of looking for changes.
    enum Look: Equatable {
        /// All changes up to a revision, whose commits outlive the primary.
        case changes([KeyValueRow], upTo: Int64)
        /// There is nothing new, or nobody can say so.
        case nothing
        /// The table is behind what was asked for.
        case gone
    }

    /// Looks for changes after a revision: at first whether there seem to be any, which costs the
    /// server nothing, and then as every read.
    func changes(prefix: [UInt8], after revision: Int64, limit: Int) -> Look {
        let deadline = deadline
        do throws(NotRun) {
            let server = try ready(until: deadline)
            let seen = try batch([plan.glance], server, deadline)
            guard let last = seen.first?.rows.first?.first??.withNumber else { return .nothing }
            if last < revision { return .gone }
            if last == revision { return .nothing }
            let answers = try batch(
                plan.readBeginning
                    + [plan.changes(prefix: prefix, after: revision, limit: limit)], server,
                deadline)
            let beginning = try begin(answers, server, deadline)
            guard answers.count == 5, var rows = PostgresPlan.rows(answers[4]) else {
                throw undo(server, deadline, "an answer that makes no sense")
            }
            guard case .landed = commit(server, deadline) else { return .nothing }
            guard rows.count == limit, let end = rows.last?.revision else {
                return .changes(rows, upTo: beginning.revision)
            }
            // More may come of the last one. A transaction changes far fewer keys than `limit`.
            rows.removeAll { $0.revision == end }
            return .changes(rows, upTo: end - 1)
        } catch {
            return .nothing
        }
    }

    // MARK: - Connecting

    /// The server to be asked.
    private func ready(until deadline: Int64) throws(NotRun) -> Server {
        // Another thread has seen a newer primary: this one is none any more.
        if let server, server.standing.timeline < known.lastTimeline {
            self.server = nil
            waitsSince = nil
        }
        if let server, let since = waitsSince {
            if server.session.settle(until: deadline) {
                waitsSince = nil
                return server
            }
            let waited = ClockReading.now().elapsed - since
            if server.session.isAlive, waited < patience {
                guard let other = successor(of: server) else {
                    throw NotRun(
                        why: "a commit does not end: no standby answers the primary, or that "
                            + "does not answer us")
                }
                waitsSince = nil
                self.server = other
                return other
            }
            if server.session.isAlive { patience = min(patience * 2, Self.patienceMax) }
            waitsSince = nil
            self.server = nil
        }
        if let server, server.session.isAlive { return server }
        server = nil
        waitsSince = nil
        let found = try connect(until: deadline)
        server = found
        return found
    }

    /// Another host that has become the primary since.
    private func successor(of server: Server) -> Server? {
        guard case .success(let client) = known.client else { return nil }
        let until = ClockReading.now().elapsed + Self.connectMax
        for index in client.hosts.all.indices where index != server.host {
            if let other = try? connect(client, index, until: until),
                other.standing.timeline > server.standing.timeline
            {
                known.prefer(index)
                return other
            }
        }
        return nil
    }

    private func connect(until deadline: Int64) throws(NotRun) -> Server {
        let client: PostgresKnowledge.Client
        switch known.client {
        case .success(let found): client = found
        case .failure(let missing): throw NotRun(why: "\(missing)")
        }
        let count = client.hosts.all.count
        let first = known.current
        var troubles: [String] = []
        for step in 0..<count {
            let index = (first + step) % count
            do throws(NotRun) {
                let server = try connect(client, index, until: deadline)
                known.prefer(index)
                return server
            } catch  where !troubles.contains(error.why) {
                troubles.append(error.why)
            } catch {}
        }
        throw NotRun(why: troubles.joined(separator: "; "))
    }

    private func connect(
        _ client: PostgresKnowledge.Client, _ index: Int, until deadline: Int64
    ) throws(NotRun) -> Server {
        let until = min(deadline, ClockReading.now().elapsed + Self.connectMax)
        do throws(PostgresFault) {
            let session = try PostgresSession(client.library, client.hosts.all[index], until: until)
            let question = PostgresStanding.question(plan.table)
            let answers = try session.run([question], until: deadline)
            guard let standing = answers.first.flatMap({ PostgresStanding($0) }) else {
                throw .lost("an answer that makes no sense")
            }
            if let refusal = standing.refusal(
                isSingleCopy: known.settings.isSingleCopy, lastTimeline: known.lastTimeline)
            {
                throw .lost(refusal)
            }
            if !standing.hasTable {
                let mark = PostgresMark(system: standing.system, timeline: standing.timeline)
                _ = try session.run(plan.creation(mark), until: deadline)
            }
            known.note(timeline: standing.timeline)
            return Server(session: session, standing: standing, host: index)
        } catch {
            throw NotRun(why: "\(error)")
        }
    }
}

extension [UInt8] {
    /// The number of a bigint's bytes; nil if they are none.
    fileprivate var withNumber: Int64? { PostgresBinary.number(self) }
}
