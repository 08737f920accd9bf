import Glibc

/// Another program, as one would start it in a shell.
struct Program {
    /// Where it is.
    let path: String

    /// Looks for it where a shell would; nil if it is not installed.
    init?(named name: String) {
        let folders = environmentVariable("PATH") ?? ""
        let paths = folders.split(separator: ":").map { "\($0)/\(name)" }
        guard let path = paths.first(where: { access($0, X_OK) == 0 }) else { return nil }
        self.path = path
    }

    /// The program at a path.
    init(path: String) { self.path = path }

    /// The folder it lies in.
    var folder: String { String(path[..<(path.lastIndex(of: "/") ?? path.startIndex)]) }

    /// Runs it to its end; returns what it wrote on standard output, up to a page. Errors: its
    /// exit code is not 0.
    func run(
        _ arguments: [String], environment: [String] = [], errorsPath: String
    ) throws(BenchmarkError) -> String {
        let (process, output) = try spawn(
            path, arguments, environment: environment, errorsPath: errorsPath)
        Leftovers.add(process)
        var text: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4 << 10)
        while true {
            let count = read(output, &buffer, buffer.count)
            if count < 0 && errno == EINTR { continue }
            guard count > 0 else { break }
            text += buffer[..<count]
        }
        close(output)
        var status: Int32 = 0
        waitpid(process, &status, 0)
        Leftovers.remove(process)
        guard status == 0 else {
            let words = String(decoding: shortFile(errorsPath)?.suffix(2000) ?? [], as: UTF8.self)
            throw .server("\(path) ended with wait status \(status); it wrote: \(words)")
        }
        return String(decoding: text, as: UTF8.self)
    }
}

/// Starts a process whose standard output is a pipe; signals reach it as if a shell had started it.
///
/// `environment` is added to our own, each `NAME=VALUE`.
func spawn(
    _ executable: String, _ arguments: [String], environment: [String] = [], errorsPath: String
) throws(BenchmarkError) -> (process: pid_t, output: Int32) {
    var ends: [Int32] = [-1, -1]
    guard pipe(&ends) == 0 else { throw .system(call: "pipe", errno: errno) }
    // Only the copy that becomes standard output may reach the server, and no other server.
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
    posix_spawn_file_actions_adddup2(&actions, ends[1], 1)
    posix_spawn_file_actions_addopen(
        &actions, 2, errorsPath, O_WRONLY | O_CREAT | O_TRUNC, 0o600)

    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    var none = sigset_t()
    sigemptyset(&none)
    posix_spawnattr_setsigmask(&attributes, &none)
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))

    let words = ([executable] + arguments).map { strdup($0) }
    let variables = environment.map { strdup($0) }
    defer { for word in words + variables { free(word) } }
    var all = variables
    var next = environ
    while let variable = next.pointee {
        all.append(variable)
        next += 1
    }
    var process: pid_t = 0
    let failure = posix_spawn(
        &process, executable, &actions, &attributes, words + [nil], all + [nil])
    close(ends[1])
    guard failure == 0 else {
        close(ends[0])
        throw .system(call: "start \(executable)", errno: failure)
    }
    return (process, ends[0])
}
