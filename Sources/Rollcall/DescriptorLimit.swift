import Glibc
import Logging

/// How many files and sockets the system lets us have open, and how many of them clients get.
enum DescriptorLimit {
    /// What is never given to clients: the store, its epoch file, readers of history, receivers.
    static let reserve = 32

    /// Raises the limit as far as we may: shells give 1024, from a time of select(2).
    static func raise() {
        var limit = rlimit()
        guard getrlimit(resource, &limit) == 0, limit.rlim_cur < limit.rlim_max else { return }
        limit.rlim_cur = limit.rlim_max
        setrlimit(resource, &limit)
    }

    /// How many connections can be open if `wanted` are asked for: without a descriptor for the
    /// store's files or for a receiver it would be no use to take another one.
    static func connections(_ wanted: Int, hasProbes: Bool, log: Logger) -> Int {
        var limit = rlimit()
        guard getrlimit(resource, &limit) == 0 else { return wanted }
        let probes = hasProbes ? HTTPLimits.probes.connectionsMax : 0
        let most = (Int(exactly: limit.rlim_cur) ?? .max) - reserve - probes
        guard most < wanted else { return wanted }
        let granted = max(1, most)
        log.warning(
            "fewer connections than limits.connections: too few descriptors (ulimit -n, LimitNOFILE)",
            metadata: [
                "descriptors": "\(limit.rlim_cur)", "connections": "\(granted)",
                "limits.connections": "\(wanted)",
            ])
        return granted
    }

    private static var resource: __rlimit_resource_t {
        __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
    }
}
