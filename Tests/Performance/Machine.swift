import CMicroHTTPD
import CSQLite
import Glibc

/// What the figures were measured on. Without it they say nothing.
struct Machine {
    /// The processor, as the kernel names it.
    let processor: String
    /// Processors that are there.
    let processors: Int
    /// Runnable threads over the last minute, at the start.
    let loadAverage: String
    /// Versions of what is underneath.
    let libraries: String
    /// The folder of the stores.
    let storage: String
    /// What one durable write of 4 KiB costs there: the price of a commit's last step.
    let synchronization: Nanoseconds?
    /// True if the stores must be in memory, where durability costs nothing and ratios flatter: no
    /// disk writes so fast.
    var isStorageMemory: Bool { synchronization.map { $0.microseconds < 10 } ?? false }

    /// Looks at this machine; writes a short file in `storage`.
    init(storage: String) {
        let names = shortFile("/proc/cpuinfo")?.split(separator: UInt8(ascii: "\n")).first {
            $0.starts(with: "model name".utf8)
        }
        let name = names?.split(separator: UInt8(ascii: ":"), maxSplits: 1).last?.dropFirst()
        processor = name.map { String(decoding: $0, as: UTF8.self) } ?? "unknown processor"
        processors = sysconf(Int32(_SC_NPROCESSORS_ONLN))
        let loads = shortFile("/proc/loadavg")?.split(separator: UInt8(ascii: " ")).first
        loadAverage = loads.map { String(decoding: $0, as: UTF8.self) } ?? "unknown"
        libraries =
            "libmicrohttpd \(String(cString: MHD_get_version())), "
            + "SQLite \(String(cString: sqlite3_libversion()))"
        self.storage = storage
        synchronization = Self.measureSynchronization("\(storage)/synchronization")
    }

    /// Memory that programs may still take, bytes; nil if the system does not tell.
    static var availableBytes: Int? {
        let line = shortFile("/proc/meminfo")?.split(separator: UInt8(ascii: "\n")).first {
            $0.starts(with: "MemAvailable:".utf8)
        }
        let kilobytes = line?.split(separator: UInt8(ascii: " ")).dropFirst().first
        return kilobytes.flatMap { Int(String(decoding: $0, as: UTF8.self)) }.map { $0 * 1024 }
    }

    /// What every report begins with.
    func lines(othersShare: Double) -> [String] {
        let commit = synchronization.map { "\(decimal($0.microseconds, 0)) µs" } ?? "unknown"
        return [
            "\(processors) × \(processor), shared by server and load; \(libraries)",
            "load average before \(loadAverage); others used \(percent(othersShare)) of the "
                + "machine meanwhile",
            "stores in \(storage): a durable 4 KiB write takes \(commit)"
                + (isStorageMemory ? ", BUT THIS IS MEMORY, NOT A DISK" : ""),
        ]
    }

    /// The same for machines.
    func json(othersShare: Double) -> JSONText {
        .object([
            ("processor", .text(processor)),
            ("processors", .number(Double(processors))),
            ("load_average_before", .text(loadAverage)),
            ("others_share", .number(othersShare)),
            ("libraries", .text(libraries)),
            ("storage_is_memory", .boolean(isStorageMemory)),
            ("durable_write_us", synchronization.map { .number($0.microseconds) } ?? .null),
        ])
    }

    /// The median of 100 appends of 4 KiB, each with fdatasync(2).
    private static func measureSynchronization(_ path: String) -> Nanoseconds? {
        let file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        guard file >= 0 else { return nil }
        defer {
            close(file)
            unlink(path)
        }
        let page = [UInt8](repeating: 0x5A, count: 4096)
        var spans: [Double] = []
        for _ in 0..<100 {
            let start = Nanoseconds.now()
            guard write(file, page, page.count) == page.count, fdatasync(file) == 0 else {
                return nil
            }
            spans.append(Double((Nanoseconds.now() - start).count))
        }
        return median(spans).map { Nanoseconds(count: Int64($0)) }
    }
}

/// What /proc counts processor time in.
let clockTicksPerSecond = sysconf(Int32(_SC_CLK_TCK))

/// Processor time of the whole machine and of us, to tell how much others took.
struct MachineTime {
    private let everybody: Double
    private let ours: Double
    private let at: Nanoseconds

    /// The present reading. Servers count once they have ended.
    init() {
        let line = shortFile("/proc/stat")?.split(separator: UInt8(ascii: "\n")).first
        let fields = (line?.split(separator: UInt8(ascii: " ")) ?? []).dropFirst().map {
            Double(String(decoding: $0, as: UTF8.self)) ?? 0
        }
        // user nice system idle iowait irq softirq steal: all but idle and iowait is work.
        let busy = fields.prefix(3).reduce(0, +) + fields.dropFirst(5).prefix(3).reduce(0, +)
        everybody = busy / Double(clockTicksPerSecond)
        ours = Self.seconds(RUSAGE_SELF.rawValue) + Self.seconds(RUSAGE_CHILDREN.rawValue)
        at = .now()
    }

    /// The share of the machine, 0 to 1, that others used since then, the hypervisor included.
    func shareOfOthers(since before: MachineTime) -> Double {
        let span = (at - before.at).seconds * Double(sysconf(Int32(_SC_NPROCESSORS_ONLN)))
        guard span > 0 else { return 0 }
        return max(0, (everybody - before.everybody) - (ours - before.ours)) / span
    }

    private static func seconds(_ who: Int32) -> Double {
        var usage = rusage()
        getrusage(who, &usage)
        let user = Double(usage.ru_utime.tv_sec) + Double(usage.ru_utime.tv_usec) / 1e6
        return user + Double(usage.ru_stime.tv_sec) + Double(usage.ru_stime.tv_usec) / 1e6
    }
}
