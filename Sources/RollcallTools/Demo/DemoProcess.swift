import Glibc
import Synchronization

/// Another program that the demo starts, in a group of its own: Ctrl-C reaches the demo alone, which
/// ends it.
final class DemoProcess: Sendable {
    private let number: pid_t
    private let log: String
    /// True while nobody has waited for it.
    private let isThere = Atomic(true)

    /// Starts the program at `path`; what it says goes to the file at `log`.
    /// - Throws: `Demo.Fault` with what the system says.
    init(_ path: String, _ arguments: [String], log: String) throws(Demo.Fault) {
        self.log = log
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_addopen(&actions, 1, log, O_WRONLY | O_CREAT | O_APPEND, 0o600)
        posix_spawn_file_actions_adddup2(&actions, 1, 2)
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        // The demo blocks its signals and ignores SIGPIPE; who is started inherits both.
        var none = sigset_t()
        sigemptyset(&none)
        posix_spawnattr_setsigmask(&attributes, &none)
        var all = sigset_t()
        sigfillset(&all)
        posix_spawnattr_setsigdefault(&attributes, &all)
        posix_spawnattr_setpgroup(&attributes, 0)
        posix_spawnattr_setflags(
            &attributes,
            Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP))
        let words = ([path] + arguments).map { strdup($0) }
        // Variables are for real servers.
        var variables: [UnsafeMutablePointer<CChar>?] = []
        for name in ["PATH", "LD_LIBRARY_PATH", "TMPDIR", "HOME"] {
            guard let value = getenv(name) else { continue }
            variables.append(strdup("\(name)=\(String(cString: value))"))
        }
        defer { for text in words + variables { free(text) } }
        var number: pid_t = 0
        let failure = posix_spawn(
            &number, path, &actions, &attributes, words + [nil], variables + [nil])
        guard failure == 0 else {
            throw Demo.Fault(
                exitCode: 1,
                description: "\(path) does not start: \(String(cString: strerror(failure)))")
        }
        self.number = number
    }

    /// True while it runs.
    var isRunning: Bool { isThere.load(ordering: .relaxed) && !isOver(WNOHANG) }

    /// Its last words, for whoever wonders why it ended.
    var lastWords: String {
        let file = open(log, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return "" }
        defer { close(file) }
        var bytes = [UInt8](repeating: 0, count: 64 << 10)
        let count = bytes.withUnsafeMutableBytes { read(file, $0.baseAddress, $0.count) }
        let lines = bytes[..<max(0, count)].split(separator: UInt8(ascii: "\n"))
        return String(decoding: lines.last ?? [], as: UTF8.self)
    }

    /// Ends it as a machine does that loses its power.
    func kill() {
        guard isThere.load(ordering: .relaxed) else { return }
        _ = Glibc.kill(number, SIGKILL)
        _ = isOver(0)
    }

    /// Asks it to end, and ends it otherwise if it does not within so many seconds.
    func end(within seconds: Int = 10) {
        guard isThere.load(ordering: .relaxed) else { return }
        _ = Glibc.kill(number, SIGTERM)
        for _ in 0..<(seconds * 50) {
            if isOver(WNOHANG) { return }
            usleep(20_000)
        }
        kill()
    }

    private func isOver(_ options: CInt) -> Bool {
        var status: CInt = 0
        guard waitpid(number, &status, options) != 0 else { return false }
        isThere.store(false, ordering: .relaxed)
        return true
    }

    /// The program of this name where a shell would look for it; nil if there is none.
    static func path(of name: String) -> String? {
        let folders = getenv("PATH").map { String(cString: $0) } ?? ""
        return folders.split(separator: ":").map { "\($0)/\(name)" }
            .first { access($0, X_OK) == 0 }
    }

    /// This program; nil if the system does not tell.
    static var ourselves: String? {
        var path = [CChar](repeating: 0, count: Int(PATH_MAX) + 1)
        let length = readlink("/proc/self/exe", &path, Int(PATH_MAX))
        guard length > 0 else { return nil }
        return String(decoding: path[..<length].map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
