import Glibc
import Logging
import RollcallCore
import Synchronization
import Testing

@testable import Rollcall
@testable import RollcallBasis
@testable import RollcallStore

/// Settings read again while the server runs, all or nothing. Source: V8, F19.
@Suite struct ReloaderTests {
    /// A state writer with a store, a file of settings and a reloader for both; gone with the test.
    private final class Bench: Sendable {
        let directory = TemporaryDirectory()
        let writer: StateWriter
        let edge = EdgeStats()
        let reloader: Reloader
        let applied = ReloadLog<Configuration>()
        var file: String { "\(directory.path)/r.yml" }

        init(_ yaml: String) throws {
            let source = SettingsSource(
                path: "\(directory.path)/r.yml", flags: [:], environment: [:])
            try Self.write(yaml, to: "\(directory.path)/r.yml")
            let started = try source.read()
            let log = Logger(label: "rollcall") { _ in SwiftLogNoOpLogHandler() }
            writer = try StateWriter(
                path: directory.store, policy: started.policy, log: log, edge: edge,
                refusals: { 0 }, onFatal: { _ in })
            let applied = applied
            reloader = Reloader(
                started, source: source, writer: writer, edge: edge, log: log,
                apply: {
                    applied.append($0)
                    return EndpointChanges()
                })
            writer.start()
        }

        deinit {
            reloader.close()
            let stops = ReloadLog<Bool>()
            writer.stop { stops.append(true) }
            #expect(isTrueSoon { !stops.all.isEmpty })
        }

        func write(_ yaml: String) throws { try Self.write(yaml, to: file) }

        private static func write(_ text: String, to path: String) throws {
            unlink(path)
            let descriptor = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
            try #require(descriptor >= 0)
            _ = Array(text.utf8).withUnsafeBytes {
                Glibc.write(descriptor, $0.baseAddress, $0.count)
            }
            close(descriptor)
        }

        /// What a reload comes to: what changed and what needs a restart, or why not.
        func reload() -> String {
            let outcomes = ReloadLog<ReloadOutcome>()
            reloader.reload { outcomes.append($0) }
            guard isTrueSoon({ !outcomes.all.isEmpty }) else { return "no answer" }
            return Self.text(outcomes.all[0])
        }

        static func text(_ outcome: ReloadOutcome) -> String {
            switch outcome {
            case .reloaded(let change, _):
                let restart = change.needsRestart.map { "restart: \($0)" }
                return (change.changed.map { "\($0)" } + restart).joined(separator: "; ")
            case .refused(let reason): return "refused: \(reason)"
            case .unavailable(let reason): return "unavailable: \(reason)"
            }
        }

        /// What the state writer decides by, and how many rows its journal has.
        func kept() throws -> (policy: Policy, nextRow: Int64) {
            let views = ReloadLog<(Policy, Int64)>()
            writer.ask { view in views.append((view.engine.policy, view.engine.nextRow)) }
            #expect(isTrueSoon { !views.all.isEmpty })
            return try #require(views.all.first)
        }

        func stats() -> [String] {
            var page = Exposition(format: .text)
            edge.append(to: &page)
            return String(decoding: page.finish(), as: UTF8.self).split(separator: "\n")
                .filter { $0.hasPrefix("rollcall_config_last_reload_successful") }
                .map { String($0) }
        }
    }

    @Test func `what changed is in force before the answer, and journaled once`() throws {
        let bench = try Bench("liveness: {forget_after: 7d}")
        bench.reloader.start()
        let before = try bench.kept().nextRow
        #expect(bench.reload() == "")
        #expect(try bench.kept().nextRow == before)
        try bench.write("liveness: {forget_after: 3d}\nlimits: {items: 5}\n")
        #expect(
            bench.reload() == "liveness.forget_after: 7d → 3d; limits.items: 10000 → 5")
        #expect(bench.applied.all.last?.scanLimits.itemsMax == 5)
        let kept = try bench.kept()
        #expect(kept.policy.forgetAfter == .seconds(3 * 86_400))
        #expect(kept.nextRow == before + 2)
        #expect(bench.reload() == "")
        #expect(try bench.kept().nextRow == before + 2)
        #expect(bench.stats() == ["rollcall_config_last_reload_successful 1"])
    }

    @Test func `A9: a receiver that settings bring is reached before they are in force`() throws {
        let bench = try Bench("limits: {items: 5}")
        let book = ReceiverBook(Configuration())
        let seen = ReloadLog<(isReached: Bool, nextRow: Int64)>()
        let reader = SettingsSource(path: bench.file, flags: [:], environment: [:])
        let reloader = Reloader(
            try reader.read(), source: reader, writer: bench.writer, edge: EdgeStats(),
            log: Logger(label: "rollcall") { _ in SwiftLogNoOpLogHandler() },
            prepare: { settings in
                book.prepare(settings)
                guard let nextRow = try? bench.kept().nextRow else { return }
                seen.append((book.address(of: Array("line".utf8)) != nil, nextRow))
            },
            apply: { book.follow($0) })
        reloader.start()
        let before = try bench.kept().nextRow
        try bench.write("receivers: [{name: line, log: {}}]\n")
        let outcomes = ReloadLog<ReloadOutcome>()
        reloader.reload { outcomes.append($0) }
        #expect(isTrueSoon { !outcomes.all.isEmpty })
        reloader.close()
        #expect(seen.all.map(\.isReached) == [true] && seen.all.map(\.nextRow) == [before])
        #expect(try bench.kept().nextRow == before + 2)
        // Who is not named any more is not reached, once that is in force.
        book.prepare(Configuration())
        #expect(book.address(of: Array("line".utf8)) != nil)
        _ = book.follow(Configuration())
        #expect(book.address(of: Array("line".utf8)) == nil)
    }

    @Test func `one wrong setting leaves all of them as they were`() throws {
        let bench = try Bench("liveness: {forget_after: 7d}")
        bench.reloader.start()
        try bench.write("liveness: {forget_after: 3d}\nlimits:\n  items: 0\n")
        #expect(
            bench.reload()
                == "refused: \(bench.file): line 3: limits.items must be an integer from 1 to "
                + "1000000 (0)")
        #expect(bench.applied.all.isEmpty)
        #expect(try bench.kept().policy == Configuration().policy)
        #expect(bench.stats() == ["rollcall_config_last_reload_successful 0"])
        try bench.write("limits:\n  items: 1\n")
        #expect(bench.reload() == "limits.items: 10000 → 1")
        #expect(bench.stats() == ["rollcall_config_last_reload_successful 1"])
    }

    @Test func `J6: what cannot be journaled changes nothing, and going back is a change again`()
        throws
    {
        let a = "liveness: {forget_after: 7d}\nlimits: {items: 100}\n"
        let bench = try Bench(a)
        bench.reloader.start()
        #expect(bench.reload() == "")
        #expect(bench.applied.all.count == 1)
        let before = try bench.kept()
        let outsider = try SQLiteConnection(path: bench.directory.store, access: .readWrite)
        outsider.setBusyTimeout(milliseconds: 5000)
        try outsider.run("BEGIN IMMEDIATE")
        try bench.write("liveness: {forget_after: 3d}\nlimits: {items: 5}\n")
        #expect(bench.reload().hasPrefix("unavailable: the commit failed"))
        // Tokens, limits and receivers are those of before: they come with `apply`.
        #expect(bench.applied.all.count == 1)
        #expect(bench.stats() == ["rollcall_config_last_reload_successful 0"])
        #expect(try bench.kept().policy == before.policy)
        try outsider.run("ROLLBACK")
        try outsider.close()
        #expect(isTrueSoon { bench.writer.isTakingWrites })
        // What was kept is in force by now, so the settings from before are others than those.
        #expect(try bench.kept().policy.forgetAfter == .seconds(3 * 86_400))
        try bench.write(a)
        #expect(bench.reload() == "")
        let after = try bench.kept()
        #expect(after.policy == before.policy)
        #expect(bench.applied.all.map(\.scanLimits.itemsMax) == [100, 100])
        // And it is one only once.
        #expect(bench.reload() == "")
        #expect(try bench.kept().nextRow == after.nextRow)
        #expect(bench.stats() == ["rollcall_config_last_reload_successful 1"])
    }

    @Test func `what needs a restart is named until it had one`() throws {
        let bench = try Bench("storage: {size: 1GiB}")
        bench.reloader.start()
        let change = "restart: storage.size: 1GiB → 2GiB"
        try bench.write("storage: {size: 2GiB}\nfeed: {min_active: 5}")
        #expect(bench.reload() == "feed.min_active: 20 → 5; \(change)")
        #expect(bench.reload() == change)
        try bench.write("storage: {size: 1GiB}\nfeed: {min_active: 5}")
        #expect(bench.reload() == "")
    }

    @Test func `who listens beyond loopback does not lose its tokens to another address`() throws {
        let tokens = "tokens: [{name: a, scopes: [admin], token: 0123456789abcdef0123456789abcdef}]"
        let bench = try Bench("web: {listen_address: \"0.0.0.0:1\", \(tokens)}")
        bench.reloader.start()
        try bench.write("web: {listen_address: \"127.0.0.1:1\"}")
        #expect(bench.reload().hasPrefix("refused: \(bench.file): web.listen_address 0.0.0.0:1: "))
        #expect(bench.applied.all.isEmpty)
        try bench.write("web: {listen_address: \"127.0.0.1:1\", \(tokens)}")
        #expect(
            bench.reload() == "restart: web.listen_address: \"0.0.0.0:1\" → 127.0.0.1:1"
                || bench.reload() == "restart: web.listen_address: 0.0.0.0:1 → 127.0.0.1:1")
    }

    @Test func `a file that is no file, empty, missing or too large changes nothing`() throws {
        let bench = try Bench("liveness: {forget_after: 3d}")
        bench.reloader.start()
        try bench.write("")
        #expect(bench.reload() == "refused: \(bench.file): empty: is it being written?")
        try bench.write(String(repeating: "#", count: (4 << 20) + 1))
        #expect(bench.reload() == "refused: \(bench.file): larger than 4 MiB")
        try bench.write("a: \u{0}")
        #expect(bench.reload().hasPrefix("refused: \(bench.file): "))
        unlink(bench.file)
        #expect(
            bench.reload()
                == "refused: \(bench.file): cannot be read: No such file or directory")
        mkfifo(bench.file, 0o600)
        #expect(
            bench.reload()
                == "refused: \(bench.file): no regular file cannot be read again: restart")
        #expect(try bench.kept().policy.forgetAfter == .seconds(3 * 86_400))
    }

    @Test func `a file of 4 MiB is read, and standard input only once`() throws {
        let bench = try Bench("{}")
        bench.reloader.start()
        try bench.write("limits: {items: 7}\n#" + String(repeating: " ", count: (4 << 20) - 20))
        #expect(bench.reload() == "limits.items: 10000 → 7")
        let source = SettingsSource(path: "-", flags: [:], environment: [:])
        #expect(throws: InputFileError.self) { try source.read(isAgain: true) }
    }

    @Test func `64 reloads may wait, one reading answers them all, and the 65th is refused`()
        throws
    {
        let bench = try Bench("{}")
        let outcomes = ReloadLog<ReloadOutcome>()
        for _ in 0..<Reloader.waitingMax { bench.reloader.reload { outcomes.append($0) } }
        #expect(outcomes.all.isEmpty)
        #expect(bench.reload() == "unavailable: 64 reloads wait already")
        bench.reloader.start()
        #expect(isTrueSoon { outcomes.all.count == Reloader.waitingMax })
        #expect(bench.applied.all.count == 1)
        #expect(bench.reload() == "")
    }

    @Test func `long values are cut in the log`() throws {
        let names = (0..<50).map { "region-\($0)" }.joined(separator: ", ")
        let bench = try Bench("{}")
        bench.reloader.start()
        try bench.write("coverage: {regions: [\(names)]}")
        #expect(bench.reload().count < 250)
    }
}

/// What came in, in its order, from any thread.
private final class ReloadLog<Entry: Sendable>: Sendable {
    private let entries = Mutex<[Entry]>([])
    var all: [Entry] { entries.withLock { $0 } }
    func append(_ entry: Entry) { entries.withLock { $0.append(entry) } }
}
