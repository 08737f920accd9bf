import Glibc
import RollcallCore

/// PostgreSQL, with a table that has a row for each responder: what a team would write itself.
///
/// With the settings that it comes with, which are durable: `fsync` and `synchronous_commit` are on.
struct PostgresPeer {
    /// Its name in reports.
    static let title = "PostgreSQL"
    /// The package that has it.
    static let package = "postgresql"

    private static let packages = "/usr/lib/postgresql"
    /// It refuses to run as root, so that it is started as the user that its package makes.
    private static let user = "postgres"

    /// The port that it listens at each time.
    let port: UInt16
    private let programs: String
    private let folder: String

    /// Makes a cluster in `folder`; nil if PostgreSQL is not installed.
    init?(in folder: String) throws(BenchmarkError) {
        let found = fileNames(in: Self.packages).compactMap { Int($0) }.max()
        guard let version = found,
            access("\(Self.packages)/\(version)/bin/postgres", X_OK) == 0
        else { return nil }
        programs = "\(Self.packages)/\(version)/bin"
        self.folder = folder
        port = try freePorts(1)[0]
        try giveFolder()
        let command = try command(
            "initdb",
            ["-D", "\(folder)/data", "-A", "trust", "-U", PostgresCaller.user, "--no-locale"])
        _ = try command.program.run(command.arguments, errorsPath: "\(folder)/initdb-errors")
    }

    /// Starts it on what it has, and waits until it takes questions.
    func start() throws(BenchmarkError) -> ServerProcess {
        let command = try command(
            "postgres",
            [
                "-D", "\(folder)/data", "-h", "127.0.0.1", "-p", "\(port)", "-k", "",
            ])
        let server = try ServerProcess(
            name: Self.title, executable: command.program.path, arguments: command.arguments,
            announcement: .nowhere(port: port), errorsPath: "\(folder)/postgres-errors",
            hasWorkers: true)
        let deadline = Nanoseconds.now() + startPatience
        while (try? PostgresCaller(port: port)) == nil {
            guard Nanoseconds.now() < deadline else {
                throw .server("\(Self.title) is not ready; \(server.lastWords)")
            }
            usleep(10_000)
        }
        return server
    }

    /// A command of it as somebody who is not root.
    private func command(
        _ name: String, _ arguments: [String]
    ) throws(BenchmarkError) -> (program: Program, arguments: [String]) {
        let path = "\(programs)/\(name)"
        guard geteuid() == 0 else { return (Program(path: path), arguments) }
        guard let other = Program(named: "env"), Program(named: "setpriv") != nil else {
            throw .server("setpriv is not in PATH: PostgreSQL does not run as root")
        }
        // In a folder that it may be in.
        return (
            other,
            [
                "-C", folder, "setpriv", "--reuid", Self.user, "--regid", Self.user,
                "--clear-groups", path,
            ] + arguments
        )
    }

    private func giveFolder() throws(BenchmarkError) {
        guard geteuid() == 0 else { return }
        guard let entry = getpwnam(Self.user) else {
            throw .server("there is no user \(Self.user), and PostgreSQL does not run as root")
        }
        guard chown(folder, entry.pointee.pw_uid, entry.pointee.pw_gid) == 0 else {
            throw .system(call: "chown \(folder)", errno: errno)
        }
        // Who may not read the folders above must still come through them.
        var above = folder
        for _ in 0..<2 {
            above = String(above[..<(above.lastIndex(of: "/") ?? above.startIndex)])
            guard chmod(above, 0o711) == 0 else {
                throw .system(call: "chmod \(above)", errno: errno)
            }
        }
    }

    // MARK: - What is asked

    /// What a scrape asks for: how many of each region and duty state are how late.
    static let scrape = """
        SELECT region, duty_state, count(*),
            count(*) FILTER (WHERE received_at < now() - interval '90 s') AS degraded,
            count(*) FILTER (WHERE received_at < now() - interval '180 s') AS offline
        FROM responders GROUP BY region, duty_state
        """
    /// What each evaluation asks for: who is silent.
    static let evaluation = """
        SELECT responder_id, region, received_at FROM responders
        WHERE duty_state = 'ON_DUTY' AND received_at < now() - interval '180 s'
        """

    /// Asks one of them; how long it took.
    static func time(
        _ question: String, _ caller: PostgresCaller
    ) throws(BenchmarkError) -> Nanoseconds {
        let begun = Nanoseconds.now()
        try caller.ask(question)
        return Nanoseconds.now() - begun
    }

    /// The number of people whom it has heard since an instant.
    func heard(since instant: Timestamp) throws(BenchmarkError) -> Int {
        let rows = try PostgresCaller(port: port).ask(
            "SELECT count(*) FROM responders WHERE received_at >= \(Self.text(instant))")
        return rows.first?.first.flatMap { Int($0) } ?? 0
    }

    /// The words for an instant in a statement.
    static func text(_ instant: Timestamp) -> String {
        var text: [UInt8] = []
        RFC3339.append(instant, to: &text)
        return "'" + String(decoding: text, as: UTF8.self) + "'::timestamptz"
    }
}
