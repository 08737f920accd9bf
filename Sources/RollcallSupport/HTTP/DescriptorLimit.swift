import Glibc
import Logging

/// The number of files and sockets that the system lets us have open, and how many of them clients
/// get.
package enum DescriptorLimit {
    /// The number that is never given to clients: the store, its epoch file, readers of history,
    /// receivers.
    static let reserve = 32

    /// The number that there may be now; nil if they are without limit, or the system does not say.
    package static var current: Int? {
        var limit = rlimit()
        guard getrlimit(resource, &limit) == 0 else { return nil }
        return Int(exactly: limit.rlim_cur)
    }

    /// Raises the limit as far as we may: shells give 1024, from a time of select(2).
    package static func raise() {
        var limit = rlimit()
        guard getrlimit(resource, &limit) == 0, limit.rlim_cur < limit.rlim_max else { return }
        limit.rlim_cur = limit.rlim_max
        setrlimit(resource, &limit)
    }

    /// Returns how many connections can be open if `wanted` are asked for: without a descriptor for
    /// the store's files or for a receiver it would be no use to take another one.
    package static func connections(_ wanted: Int, hasProbes: Bool, log: Logger) -> Int {
        guard let current else { return wanted }
        let probes = hasProbes ? HTTPLimits.probes.connectionsMax : 0
        let most = current - reserve - probes
        guard most < wanted else { return wanted }
        let granted = max(1, most)
        log.warning(
            "fewer connections than limits.connections: too few descriptors (ulimit -n, LimitNOFILE)",
            metadata: [
                "descriptors": "\(current)", "connections": "\(granted)",
                "limits.connections": "\(wanted)",
            ])
        return granted
    }

    /// The number that readers of events and subscriptions may need: files of the store, and sockets.
    private static let senders = 112

    /// Returns how many streams can be open beside so many connections if `wanted` are asked for.
    package static func streams(
        _ wanted: Int, connections: Int, hasProbes: Bool, log: Logger
    ) -> Int {
        guard let current else { return wanted }
        let probes = hasProbes ? HTTPLimits.probes.connectionsMax : 0
        let granted = max(0, min(wanted, current - reserve - senders - probes - connections))
        if granted < wanted {
            log.warning(
                "fewer streams than limits.streams: too few descriptors (ulimit -n, LimitNOFILE)",
                metadata: [
                    "descriptors": "\(current)", "streams": "\(granted)",
                    "limits.streams": "\(wanted)",
                ])
        }
        return granted
    }

    private static var resource: __rlimit_resource_t {
        __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
    }
}
