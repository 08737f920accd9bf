import Glibc

/// A server in a process of its own, so that its processor time and memory are its own too.
final class ServerProcess {
    /// The port of 127.0.0.1 that it said it listens at.
    private(set) var port: UInt16 = 0

    private let name: String
    private let process: pid_t
    private let output: Int32
    private let errorsPath: String
    private let clock: clockid_t
    private let hasWorkers: Bool
    private var isRunning = true

    /// Where a server says at which port it listens.
    enum Announcement {
        /// On standard output: `…listening on http://127.0.0.1:PORT`.
        case output
        /// In its log on standard error, as Prometheus' programs do.
        case log
        /// Nowhere: it was told where.
        case nowhere(port: UInt16)
    }

    /// Starts `executable` and waits until it says where it listens. What it writes on standard
    /// error is kept in `errorsPath`.
    init(
        name: String, executable: String, arguments: [String], environment: [String] = [],
        announcement: Announcement = .output, errorsPath: String, hasWorkers: Bool = false,
        patience: Nanoseconds = startPatience
    ) throws(BenchmarkError) {
        self.name = name
        self.hasWorkers = hasWorkers
        self.errorsPath = errorsPath
        (process, output) = try spawn(
            executable, arguments, environment: environment, errorsPath: errorsPath)
        Leftovers.add(process)
        var clock = clockid_t()
        clock_getcpuclockid(process, &clock)
        self.clock = clock
        switch announcement {
        case .output: port = try readPort(patience)
        case .log: port = try readLoggedPort(patience)
        case .nowhere(let given): port = given
        }
    }

    /// Starts `product` on the store `rollcall.db` and the `settings.yml` of a folder.
    convenience init(
        rollcall product: String, in folder: String, patience: Nanoseconds
    ) throws(BenchmarkError) {
        try self.init(
            name: "rollcall", executable: product,
            arguments: [
                "serve", "--web.listen-address", "127.0.0.1:0", "--storage.path",
                "\(folder)/rollcall.db", "--config.file", "\(folder)/settings.yml",
            ],
            errorsPath: "\(folder)/errors", patience: patience)
    }

    deinit { if isRunning { end(SIGKILL) } }

    /// Processor time used so far, user and system, of all threads.
    ///
    /// By clock_getcpuclockid(3), since the ticks of /proc/PID/stat are 10 ms.
    var processorTime: Nanoseconds { hasWorkers ? tree.processorTime : .now(of: clock) }

    /// It and the processes that it has started.
    var tree: ProcessTree { ProcessTree(of: process) }

    /// Resident memory, bytes; nil if the system does not tell.
    var residentBytes: Int? {
        guard let fields = shortFile("/proc/\(process)/statm")?.split(separator: UInt8(ascii: " ")),
            fields.count > 1, let pages = Int(String(decoding: fields[1], as: UTF8.self))
        else { return nil }
        return pages * sysconf(Int32(_SC_PAGESIZE))
    }

    /// The most resident memory it ever had, bytes; nil if the system does not tell.
    var residentBytesMost: Int? {
        let status = shortFile("/proc/\(process)/status") ?? []
        let text = String(decoding: status, as: UTF8.self)
        let words = text.ranges(of: "VmHWM:").first.map {
            text[$0.upperBound...].split { $0.isWhitespace }
        }
        let kilobytes = words?.first.flatMap { Int($0) }
        return kilobytes.map { $0 << 10 }
    }

    /// Processor time used so far by each of its threads; in ticks of 10 ms.
    var threadTimes: [String: Nanoseconds] {
        let folder = "/proc/\(process)/task"
        var times: [String: Nanoseconds] = [:]
        for thread in fileNames(in: folder) {
            guard let line = shortFile("\(folder)/\(thread)/stat"),
                // The name before it may hold anything.
                let name = line.lastIndex(of: UInt8(ascii: ")"))
            else { continue }
            let fields = line[name...].split(separator: UInt8(ascii: " ")).map {
                Int64(String(decoding: $0, as: UTF8.self)) ?? 0
            }
            guard fields.count > 13 else { continue }
            let tick = 1_000_000_000 / Int64(clockTicksPerSecond)
            times[thread] = Nanoseconds(count: (fields[12] + fields[13]) * tick)
        }
        return times
    }

    /// What it wrote on standard error, or the first megabyte of it.
    var errors: String {
        String(decoding: shortFile(errorsPath) ?? [], as: UTF8.self)
    }

    /// The end of what it wrote on standard error.
    var lastWords: String {
        guard let bytes = shortFile(errorsPath), !bytes.isEmpty else { return "it wrote no error" }
        return "it wrote: " + String(decoding: bytes.suffix(2000), as: UTF8.self)
    }

    /// Ends it as an operator would, by SIGTERM. Errors: it does not end, or not with 0.
    func stop(patience: Nanoseconds = stopPatience) throws(BenchmarkError) {
        guard isRunning else { return }
        kill(process, SIGTERM)
        let deadline = Nanoseconds.now() + patience
        while Nanoseconds.now() < deadline {
            var status: Int32 = 0
            if waitpid(process, &status, WNOHANG) == process {
                forget()
                guard status == 0 else {
                    throw .server("\(name) ended with wait status \(status); \(lastWords)")
                }
                return
            }
            usleep(2000)
        }
        end(SIGKILL)
        throw .server("\(name) did not end within \(patience.seconds) s of SIGTERM")
    }

    /// Ends it as a power cut would, by SIGKILL, and all of its processes with it.
    func crash() {
        guard isRunning else { return }
        let workers = tree.processes.dropFirst()
        kill(process, SIGKILL)
        for worker in workers { kill(worker, SIGKILL) }
        end(SIGKILL)
        // What they share must be free for the next.
        for worker in workers {
            for _ in 0..<100 where kill(worker, 0) == 0 { usleep(10_000) }
        }
    }

    private func end(_ signal: Int32) {
        kill(process, signal)
        var status: Int32 = 0
        waitpid(process, &status, 0)
        forget()
    }

    private func forget() {
        isRunning = false
        Leftovers.remove(process)
        close(output)
    }

    private func readPort(_ patience: Nanoseconds) throws(BenchmarkError) -> UInt16 {
        let deadline = Nanoseconds.now() + patience
        var line: [UInt8] = []
        while Nanoseconds.now() < deadline {
            var polled = pollfd(fd: output, events: Int16(POLLIN), revents: 0)
            guard poll(&polled, 1, 100) > 0 else { continue }
            var byte: UInt8 = 0
            guard read(output, &byte, 1) == 1 else { break }
            guard byte == UInt8(ascii: "\n") else {
                line.append(byte)
                continue
            }
            if let port = port(in: line) { return port }
            line = []
        }
        throw .server("\(name) did not say where it listens; \(lastWords)")
    }

    private func readLoggedPort(_ patience: Nanoseconds) throws(BenchmarkError) -> UInt16 {
        let deadline = Nanoseconds.now() + patience
        while Nanoseconds.now() < deadline {
            let found = shortFile(errorsPath)?.withUnsafeBytes {
                $0.number(after: "\"Listening on\" address=127.0.0.1:", in: 0..<$0.count)
            }
            if let found, let port = UInt16(exactly: found) { return port }
            usleep(2000)
        }
        throw .server("\(name) did not say where it listens; \(lastWords)")
    }

    private func port(in line: [UInt8]) -> UInt16? {
        let text = String(decoding: line, as: UTF8.self)
        guard text.contains("listening on http://127.0.0.1:"),
            let colon = text.lastIndex(of: ":")
        else { return nil }
        return UInt16(text[text.index(after: colon)...])
    }
}

/// A million responders are ready in 3 s (Q6).
let startPatience = Nanoseconds.milliseconds(10_000)
/// The product promises 10 s.
let stopPatience = Nanoseconds.milliseconds(15_000)
