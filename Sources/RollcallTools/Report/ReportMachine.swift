import Glibc
import RollcallBasis
import RollcallStore
import RollcallSupport

/// The machine: versions, memory, how busy it is, the disk below the store.
enum ReportMachine {
    /// Options of a mount that name nobody.
    private static let options: Set<String> = [
        "rw", "ro", "relatime", "noatime", "nodiratime", "strictatime", "discard", "sync",
        "dirsync",
        "nobarrier", "barrier", "nosuid", "nodev", "noexec", "prjquota", "usrquota", "quota",
        "errors=remount-ro", "data=ordered", "data=writeback", "data=journal", "commit=5",
        "volatile",
        "userxattr", "inode64", "compress=zstd:1", "datacow", "nodatacow", "hard", "soft",
    ]

    /// The versions of what this command, and most likely the server, stands on.
    static func sayVersions(_ lines: ReportLines) {
        lines.say("this command: \(BuildInformation.text)")
        for (name, version) in LoadedLibraries.all { lines.say("\(name): \(version)") }
        switch CurlLibrary.shared {
        case .success(let library): lines.say("libcurl: \(library.version)")
        case .failure: lines.say("libcurl: cannot be loaded")
        }
        var system = utsname()
        if uname(&system) == 0 {
            lines.say(
                "kernel: \(words(system.sysname)) \(words(system.release)) \(words(system.machine))"
            )
        }
        for line in SmallFile.lines("/etc/os-release") where line.hasPrefix("PRETTY_NAME=") {
            lines.say("system: \(line.dropFirst(12).filter { $0 != "\"" })")
        }
        if let version = SmallFile.line("/etc/debian_version") { lines.say("Debian: \(version)") }
        lines.say("processors: \(sysconf(CInt(_SC_NPROCESSORS_ONLN)))")
    }

    private static func words<Tuple>(_ tuple: Tuple) -> String {
        withUnsafeBytes(of: tuple) { bytes in
            String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
        }
    }

    /// Says how busy it is, and how much memory it has.
    static func sayLoad(_ lines: ReportLines) {
        if let load = SmallFile.line("/proc/loadavg") { lines.say("load: \(load)") }
        if let up = SmallFile.line("/proc/uptime") { lines.say("up, idle (s): \(up)") }
        for line in SmallFile.lines("/proc/meminfo") {
            guard
                [
                    "MemTotal", "MemFree", "MemAvailable", "SwapTotal", "SwapFree", "Dirty",
                    "Writeback:",
                ].contains(where: { line.hasPrefix($0) })
            else { continue }
            lines.say(line.split(separator: " ").joined(separator: " "))
        }
        for name in ["cpu", "io", "memory"] {
            for line in SmallFile.lines("/proc/pressure/\(name)") {
                lines.say("pressure \(name): \(line)")
            }
        }
    }

    /// Says what the group of a process may have, and has; its name may be a user's, and is not said.
    static func sayGroup(of file: String, _ lines: ReportLines) {
        let unified = SmallFile.lines(file).first { $0.hasPrefix("0::") }
        guard let path = unified?.dropFirst(3) else { return lines.say("cgroup: not of version 2") }
        let names = [
            "memory.max", "memory.high", "memory.current", "memory.peak", "memory.swap.max",
            "memory.events", "cpu.max", "cpu.stat", "pids.max", "io.max",
        ]
        var isFound = false
        for folder in ["/sys/fs/cgroup\(path)", "/sys/fs/cgroup"] where !isFound {
            for name in names {
                for line in SmallFile.lines("\(folder)/\(name)") {
                    lines.say("cgroup \(name): \(line)")
                    isFound = true
                }
            }
        }
        if !isFound { lines.say("cgroup: nothing of it can be read") }
    }

    /// The disk that the store at `path` is on.
    static func sayDisk(of path: String, _ lines: ReportLines) {
        let folder = path.lastIndex(of: "/").map {
            $0 == path.startIndex ? "/" : String(path[..<$0])
        }
        var disk = statvfs()
        guard statvfs(folder ?? ".", &disk) == 0 else {
            return lines.say("not had: \(String(cString: strerror(errno)))")
        }
        let unit = UInt64(disk.f_frsize)
        lines.say(
            "free \(UInt64(disk.f_bavail) * unit) of \(UInt64(disk.f_blocks) * unit) bytes, "
                + "\(disk.f_favail) of \(disk.f_files) inodes")
        guard let (type, options) = MountTable.fileSystem(of: folder ?? ".") else {
            return lines.say("file system: the system does not tell")
        }
        let shown = options.filter { Self.options.contains($0) }
        let rest = options.count - shown.count
        lines.say(
            "file system: \(type) \(shown.joined(separator: ","))"
                + (rest > 0 ? " and \(rest) options that are not shown" : ""))
    }
}
