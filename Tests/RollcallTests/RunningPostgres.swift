import Foundation

@testable import RollcallBasis
@testable import RollcallSupport

/// A PostgreSQL on loopback, with standbys made of it, killed with this. Debian's own cluster is left
/// alone.
final class RunningPostgres {
    /// Where Debian puts the newest one that is there.
    private static let binaries: String = {
        let folder = "/usr/lib/postgresql"
        let versions = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        return "\(folder)/\(versions.compactMap { Int($0) }.max() ?? 0)/bin"
    }()

    /// True if there is a PostgreSQL on this machine.
    static var isThere: Bool {
        FileManager.default.isExecutableFile(atPath: "\(binaries)/initdb")
    }

    let directory = TemporaryDirectory()
    private var ports: [Int] = []
    private var processes: [Process] = []

    /// A primary, and a standby for which its commits wait if `isReplicated`.
    init(isReplicated: Bool = false) throws {
        if getuid() == 0, let user = getpwnam("postgres") {
            chown(directory.path, user.pointee.pw_uid, user.pointee.pw_gid)
        }
        try run(
            "initdb", "-D", data(0), "-A", "trust", "-U", "rollcall", "-E", "UTF8", "--locale=C")
        try add()
        if isReplicated {
            try addStandby(of: 0)
            try waitForStandbys("*", at: 0)
        }
    }

    deinit {
        for index in processes.indices { kill(index) }
        try? FileManager.default.removeItem(atPath: directory.path)
    }

    private func data(_ index: Int) -> String { "\(directory.path)/data\(index)" }

    /// The URL of one server.
    func url(_ index: Int = 0) -> String {
        "postgresql://rollcall@127.0.0.1:\(ports[index])/postgres"
    }

    /// The URL of all of them.
    var url: String {
        let hosts = ports.map { "127.0.0.1:\($0)" }
        return "postgresql://rollcall@\(hosts.joined(separator: ","))/postgres"
    }

    private func add() throws {
        ports.append(try RunningEtcd.freePort())
        processes.append(Process())
        try start(processes.count - 1)
    }

    /// Makes a standby of a server, and starts it.
    func addStandby(of index: Int) throws {
        let own = data(processes.count)
        try run(
            "pg_basebackup", "-d", url(index), "-D", own, "-R", "--checkpoint=fast", "-X", "stream")
        try add()
    }

    /// Lets commits at a server wait for `names`, and waits until somebody follows it.
    func waitForStandbys(_ names: String, at index: Int) throws {
        _ = try sql("ALTER SYSTEM SET synchronous_standby_names = '\(names)'", at: index)
        _ = try sql("SELECT pg_reload_conf()", at: index)
        let question = "SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'"
        for _ in 0..<200 {
            if try sql(question, at: index) == "1" { return }
            usleep(50_000)
        }
        throw CancellationError()
    }

    /// Starts a server again, and waits until it answers.
    func start(_ index: Int = 0, _ options: [String] = []) throws {
        let settings = [
            "listen_addresses=127.0.0.1", "port=\(ports[index])",
            "unix_socket_directories=\(directory.path)", "shared_buffers=16MB",
            "max_connections=40", "wal_retrieve_retry_interval=100ms",
        ]
        processes[index] = process(
            "postgres", ["-D", data(index)] + (settings + options).flatMap { ["-c", $0] })
        try processes[index].run()
        for _ in 0..<200 {
            if (try? sql("SELECT 1", at: index)) == "1" { return }
            usleep(50_000)
        }
        throw CancellationError()
    }

    /// Ends a server as a crash does.
    func kill(_ index: Int = 0) {
        guard processes[index].isRunning else { return }
        // Its children end themselves, whoever tells the parent.
        _ = Glibc.kill(processes[index].processIdentifier, SIGQUIT)
        processes[index].waitUntilExit()
    }

    /// Makes a standby the primary.
    func promote(_ index: Int) throws { _ = try sql("SELECT pg_promote()", at: index) }

    /// What psql prints for a statement.
    @discardableResult func sql(_ text: String, at index: Int = 0) throws -> String {
        try run("psql", "-X", "-A", "-t", "-q", "-d", url(index), "-c", text)
    }

    @discardableResult private func run(_ tool: String, _ arguments: String...) throws -> String {
        let process = process(tool, arguments)
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        let bytes = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw CancellationError() }
        return String(decoding: bytes, as: UTF8.self)
            .trimmingCharacters(in: .whitespacesAndNewlines)
    }

    /// PostgreSQL refuses to be run by root.
    private func process(_ tool: String, _ arguments: [String]) -> Process {
        let process = Process()
        process.currentDirectoryURL = URL(fileURLWithPath: "/")
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        let command = ["\(Self.binaries)/\(tool)"] + arguments
        if getuid() == 0 {
            process.executableURL = URL(fileURLWithPath: "/usr/bin/setpriv")
            process.arguments =
                ["--reuid=postgres", "--regid=postgres", "--clear-groups", "--"] + command
        } else {
            process.executableURL = URL(fileURLWithPath: command[0])
            process.arguments = arguments
        }
        return process
    }
}
