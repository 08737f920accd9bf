import Glibc
import Synchronization

/// What has to go when the benchmark is interrupted: its servers and its stores.
enum Leftovers {
    private struct Things {
        var processes: [pid_t] = []
        var folders: [String] = []
    }

    private static let things = Mutex(Things())

    /// Notes a process that was started.
    static func add(_ process: pid_t) { things.withLock { $0.processes.append(process) } }

    /// Forgets a process that has ended.
    static func remove(_ process: pid_t) {
        things.withLock { $0.processes.removeAll { $0 == process } }
    }

    /// Notes a folder that was made.
    static func add(folder: String) { things.withLock { $0.folders.append(folder) } }

    /// Removes a folder.
    static func remove(folder: String) {
        things.withLock { $0.folders.removeAll { $0 == folder } }
        removeTree(folder)
    }

    /// From now on SIGINT and SIGTERM end the servers, remove the folders and then the process.
    ///
    /// A thread waits for them, since a signal handler may do hardly anything.
    static func removeOnSignals() {
        var signals = signalsThatEnd()
        pthread_sigmask(SIG_BLOCK, &signals, nil)
        var thread = pthread_t()
        pthread_create(&thread, nil, waitForSignals, nil)
    }

    fileprivate static func removeAll() {
        let all = things.withLock { $0 }
        for process in all.processes {
            kill(process, SIGKILL)
            waitpid(process, nil, 0)
        }
        for folder in all.folders { removeTree(folder) }
    }
}

private func signalsThatEnd() -> sigset_t {
    var signals = sigset_t()
    sigemptyset(&signals)
    sigaddset(&signals, SIGINT)
    sigaddset(&signals, SIGTERM)
    sigaddset(&signals, SIGHUP)
    return signals
}

private func waitForSignals(_: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    var signals = signalsThatEnd()
    var signal: Int32 = 0
    sigwait(&signals, &signal)
    Leftovers.removeAll()
    _exit(128 + signal)
}

/// Makes a folder of our own. It is gone at the end, also when the benchmark is interrupted.
func makeFolder(in parent: String) throws(BenchmarkError) -> String {
    var template = Array("\(parent)/rollcall-bench-XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else {
        throw .system(call: "mkdtemp in \(parent)", errno: errno)
    }
    let path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    Leftovers.add(folder: path)
    return path
}

private func removeTree(_ path: String) {
    guard unlink(path) != 0, errno == EISDIR else { return }
    for name in fileNames(in: path) { removeTree("\(path)/\(name)") }
    rmdir(path)
}

/// The names of what is in a folder; none if it cannot be read.
func fileNames(in path: String) -> [String] {
    guard let folder = opendir(path) else { return [] }
    var names: [String] = []
    while let entry = readdir(folder) {
        let name = withUnsafeBytes(of: entry.pointee.d_name) { bytes in
            String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
        }
        if name != "." && name != ".." { names.append(name) }
    }
    closedir(folder)
    return names
}
