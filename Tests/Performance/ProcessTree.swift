import Glibc

/// The processes of a server: the one that was started, and those that it started in turn.
struct ProcessTree {
    /// The first is the one that was started.
    let processes: [pid_t]

    /// Looks at who runs now.
    init(of process: pid_t) {
        var processes = [process]
        var place = 0
        while place < processes.count {
            let one = processes[place]
            place += 1
            let children = shortFile("/proc/\(one)/task/\(one)/children") ?? []
            processes += String(decoding: children, as: UTF8.self).split(separator: " ").compactMap
            {
                pid_t($0)
            }
        }
        self.processes = processes
    }

    /// Processor time used so far, user and system, by all of them and by those of the first one's
    /// that have ended.
    var processorTime: Nanoseconds {
        var sum = endedTime
        for process in processes {
            var clock = clockid_t()
            if clock_getcpuclockid(process, &clock) == 0 { sum = sum + .now(of: clock) }
        }
        return sum
    }

    /// Memory of all of them, what they share counted once; bytes.
    var memoryBytes: Int { sum("smaps_rollup", "\nPss:") << 10 }

    /// Bytes that they gave to write(2) and its like. Rollcall and PostgreSQL answer by send(2),
    /// which is not in it; programs in Go are not asked for it.
    ///
    /// proc(5), "wchar". Its "write_bytes" counts a whole folio for each page that becomes dirty,
    /// which is 256 KiB in a file that was written in one go.
    var writtenBytes: Int { sum("io", "\nwchar:") }

    private func sum(_ file: String, _ name: String) -> Int {
        processes.reduce(0) { sum, process in
            let bytes = shortFile("/proc/\(process)/\(file)") ?? []
            let text = String(decoding: bytes, as: UTF8.self)
            let rest = text.ranges(of: name).first.map { text[$0.upperBound...] } ?? ""
            return sum + (Int(rest.drop { $0 == " " }.prefix { $0.isNumber }) ?? 0)
        }
    }

    /// Fields 16 and 17 of proc(5), "stat"; in ticks of 10 ms.
    private var endedTime: Nanoseconds {
        guard let line = shortFile("/proc/\(processes[0])/stat"),
            // The name before it may hold anything.
            let name = line.lastIndex(of: UInt8(ascii: ")"))
        else { return Nanoseconds(count: 0) }
        let fields = line[name...].split(separator: UInt8(ascii: " ")).map {
            Int64(String(decoding: $0, as: UTF8.self)) ?? 0
        }
        guard fields.count > 15 else { return Nanoseconds(count: 0) }
        return Nanoseconds(
            count: (fields[14] + fields[15]) * 1_000_000_000 / Int64(clockTicksPerSecond))
    }
}
