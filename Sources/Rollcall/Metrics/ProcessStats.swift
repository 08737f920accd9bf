import Glibc
import RollcallCore
import RollcallSupport

/// The stats of this process by the system, under the names that all Prometheus clients use.
///
/// A stat that cannot be read is nil and left out: "leave out rather than export bogus values".
/// Source: Prometheus, "Writing client libraries", process metrics; proc(5).
package struct ProcessStats: Equatable, Sendable {
    /// Processor time used, user and system.
    package var processorTime: Milliseconds?
    /// Open file descriptors.
    package var openFileDescriptors: Int?
    /// Open file descriptors at most (the soft limit).
    package var maxFileDescriptors: Int?
    /// Address space taken.
    package var virtualMemoryBytes: Int?
    /// Memory really in use.
    package var residentMemoryBytes: Int?
    /// Wall time of the start, exact to the second.
    package var startedAt: Timestamp?
    /// Threads of the system.
    package var threads: Int?
    /// Lines of the log that nobody took.
    package var logLinesLost: Int?

    /// Stats of which none is known.
    package init() {}

    /// Reads the present stats from `/proc/self`.
    package static func read() -> ProcessStats {
        let ticksPerSecond = Int64(sysconf(Int32(_SC_CLK_TCK)))
        var stats = ProcessStats()
        if let stat = contents(of: "/proc/self/stat") {
            stats.take(
                stat: stat, ticksPerSecond: ticksPerSecond, pageBytes: sysconf(Int32(_SC_PAGESIZE)))
        }
        stats.startedAt = start
        stats.openFileDescriptors = countOpenFileDescriptors()
        stats.maxFileDescriptors = DescriptorLimit.current
        stats.logLinesLost = LogStream.standardError.linesLost
        return stats
    }

    // MARK: - /proc

    /// Takes what one line of `/proc/self/stat` says. Fields are numbered as in proc(5).
    package mutating func take(stat: [UInt8], ticksPerSecond: Int64, pageBytes: Int) {
        guard let fields = Self.fields(ofStat: stat), ticksPerSecond > 0 else { return }
        if let user = Self.number(fields, 14), let system = Self.number(fields, 15) {
            processorTime = Milliseconds((user &+ system) &* 1000 / ticksPerSecond)
        }
        threads = Self.number(fields, 20).map { Int($0) }
        virtualMemoryBytes = Self.number(fields, 23).map { Int($0) }
        residentMemoryBytes = Self.number(fields, 24).map { Int($0) &* pageBytes }
    }

    /// Read once: boot time as the kernel tells it moves with the wall clock, and a start that
    /// moves looks like a restart to whoever watches it.
    private static let start: Timestamp? = {
        let ticksPerSecond = Int64(sysconf(Int32(_SC_CLK_TCK)))
        guard ticksPerSecond > 0, let stat = contents(of: "/proc/self/stat"),
            let fields = fields(ofStat: stat), let ticks = number(fields, 22),
            let boot = contents(of: "/proc/stat").flatMap({ bootSeconds(inStat: $0) })
        else { return nil }
        return Timestamp(milliseconds: (boot &+ ticks / ticksPerSecond) &* 1000)
    }()

    /// The fields after the name, from number 3 on. "The filename of the executable, in
    /// parentheses" may itself hold spaces and parentheses, so the last one closes it.
    private static func fields(ofStat stat: [UInt8]) -> [ArraySlice<UInt8>]? {
        guard let end = stat.lastIndex(of: UInt8(ascii: ")")) else { return nil }
        return stat[(end + 1)...].split { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\n") }
    }

    private static func number(_ fields: [ArraySlice<UInt8>], _ number: Int) -> Int64? {
        guard fields.indices.contains(number - 3) else { return nil }
        return Int64(String(decoding: fields[number - 3], as: UTF8.self))
    }

    private static func bootSeconds(inStat stat: [UInt8]) -> Int64? {
        for line in stat.split(separator: UInt8(ascii: "\n")) where line.starts(with: "btime ".utf8)
        {
            return Int64(String(decoding: line.dropFirst(6), as: UTF8.self))
        }
        return nil
    }

    private static func contents(of path: String) -> [UInt8]? {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return nil }
        defer { close(file) }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 16_384)
        while true {
            let count = buffer.withUnsafeMutableBytes { Glibc.read(file, $0.baseAddress, $0.count) }
            if count < 0 && errno == EINTR { continue }
            if count < 0 { return nil }
            if count == 0 { return bytes }
            bytes.append(contentsOf: buffer[..<count])
        }
    }

    private static func countOpenFileDescriptors() -> Int? {
        guard let directory = opendir("/proc/self/fd") else { return nil }
        defer { closedir(directory) }
        var count = 0
        while readdir(directory) != nil { count += 1 }
        // Without ".", ".." and the descriptor that reads the directory.
        return count > 3 ? count - 3 : nil
    }

    // MARK: - Exposition

    /// Appends the families of what is known.
    package func append(to page: inout Exposition) {
        func append(
            _ name: StaticString, _ help: StaticString, _ value: Quantity?,
            as kind: Exposition.Kind = .gauge
        ) {
            guard let value else { return }
            page.family(name, kind, help)
            page.sample(value)
        }
        append(
            "process_cpu_seconds", "Total user and system CPU time spent in seconds.",
            processorTime.map { Quantity($0) }, as: .counter)
        append(
            "process_open_fds", "Number of open file descriptors.",
            openFileDescriptors.map { Quantity($0) })
        append(
            "process_max_fds", "Maximum number of open file descriptors.",
            maxFileDescriptors.map { Quantity($0) })
        append(
            "process_virtual_memory_bytes", "Virtual memory size in bytes.",
            virtualMemoryBytes.map { Quantity($0) })
        append(
            "process_resident_memory_bytes", "Resident memory size in bytes.",
            residentMemoryBytes.map { Quantity($0) })
        append(
            "process_start_time_seconds", "Start time of the process since unix epoch in seconds.",
            startedAt.map { Quantity($0) })
        append(
            "process_threads", "Number of OS threads in the process.", threads.map { Quantity($0) })
        append(
            "rollcall_log_lines_lost", "Lines of the log that nobody took.",
            logLinesLost.map { Quantity($0) }, as: .counter)
    }
}
