import Synchronization

/// The room for bodies of requests that are not answered yet. Those of whom nobody knows have a small share of
/// it, so that they take none of the others'.
final class BodyRoom: Sendable {
    /// The part of it that one connection holds.
    struct Held {
        /// Bytes.
        var bytes = 0
        /// True of somebody whom nobody knows yet.
        var isUnauthenticated = false
    }

    private let limits: HTTPLimits
    private let all = Atomic<Int>(0)
    private let unauthenticated = Atomic<Int>(0)

    /// Room within these limits.
    init(_ limits: HTTPLimits) { self.limits = limits }

    /// True while strangers hold half of their share: one that falls silent is cut sooner.
    var isTight: Bool {
        unauthenticated.load(ordering: .relaxed) >= limits.unauthenticatedBodiesBytesMax / 2
    }

    /// Returns how many bytes of the body of a request are read at most.
    func bodyBytesMax(of request: HTTPRequest?, _ held: Held) -> Int {
        let most = request?.bodyBytesMax(of: limits.bodyBytesMax) ?? limits.bodyBytesMax
        return held.isUnauthenticated ? min(most, limits.unauthenticatedBodyBytesMax) : most
    }

    /// Makes room for so many more bytes; false if there is none.
    func take(_ count: Int, for held: inout Held) -> Bool {
        if held.isUnauthenticated,
            !Self.take(count, of: unauthenticated, limits.unauthenticatedBodiesBytesMax)
        {
            return false
        }
        guard Self.take(count, of: all, limits.bodiesBytesMax) else {
            if held.isUnauthenticated { unauthenticated.subtract(count, ordering: .relaxed) }
            return false
        }
        held.bytes += count
        return true
    }

    /// Gives back all that a connection holds.
    func give(_ held: inout Held) {
        all.subtract(held.bytes, ordering: .relaxed)
        if held.isUnauthenticated { unauthenticated.subtract(held.bytes, ordering: .relaxed) }
        held = Held()
    }

    private static func take(_ count: Int, of held: borrowing Atomic<Int>, _ most: Int) -> Bool {
        var before = held.load(ordering: .relaxed)
        while before + count <= most {
            let (isExchanged, original) = held.compareExchange(
                expected: before, desired: before + count, ordering: .relaxed)
            if isExchanged { return true }
            before = original
        }
        return false
    }
}

extension HTTPConnection {
    /// Enters the phase in which a body is awaited. libmicrohttpd's thread only.
    func enterBody() {
        enter(.body)
        let isUnauthenticated = held.isUnauthenticated
        shared.withLock { $0.isUnauthenticated = isUnauthenticated }
    }
}
