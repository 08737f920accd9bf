import Synchronization

/// The limits of what may wait for the state writer, in all and of one source, so that a source
/// that floods holds up itself first, and a state writer that is held up costs no memory without
/// end.
///
/// A write waits from here until the state writer has answered it, also when its client got the
/// watchdog's 503 long before.
package final class Admission: Sendable {
    /// The limits of what may wait.
    package struct Limits: Sendable {
        /// Bytes of all writes; beyond it 503. Little enough that who is let in is answered soon,
        /// also by a server that is offered twice what it can do.
        package var bytesMax = 64 << 20
        /// Bytes of one source while nobody else waits; beyond it 503. The rest is room for who
        /// comes then.
        package var aloneBytesMax = 40 << 20
        /// Bytes of one source while others wait too; beyond it 429.
        package var sharedBytesMax = 24 << 20
        /// Writes of one source while others wait too; beyond it 429. Half the connections, so
        /// that no source can have all of them waiting.
        package var sharedWritesMax = 256

        /// The limits of the product.
        package init() {}
    }

    /// The bytes that a write counts beside its body.
    package static let writeBytes = 1 << 10

    /// The reason why a write may not wait.
    package enum Refusal: Error, Equatable {
        /// Too much waits: our own reason. It counts against the watch (B1).
        case overloaded
        /// The source has its share waiting, and others wait too: its reason.
        case share
    }

    /// The place of one write, to be given back.
    package struct Place: Sendable {
        fileprivate let source: [UInt8]
        fileprivate let bytes: Int
    }

    private struct Waiting: Sendable {
        var writes = 0
        var bytes = 0

        mutating func add(_ place: Place) {
            writes += 1
            bytes += place.bytes
        }

        mutating func remove(_ place: Place) {
            writes -= 1
            bytes -= place.bytes
        }
    }

    private struct State: Sendable {
        var all = Waiting()
        /// Only sources with something waiting.
        var sources: [[UInt8]: Waiting] = [:]
        var refused = 0
    }

    private let limits: Limits
    private let workload: Workload
    /// Bytes of all writes up to which none is refused.
    private let bytesAlways: Int
    private let state = Mutex(State())

    /// Nothing waits yet. What may wait is bounded by `limits`, and by the time that it will take, as
    /// `workload` knows.
    package init(limits: Limits = Limits(), workload: Workload = Workload()) {
        self.limits = limits
        self.workload = workload
        let least = min(limits.sharedBytesMax, limits.aloneBytesMax, limits.bytesMax)
        // As `decide` makes shares less: no more than that by the least that may ever wait.
        let most = min(limits.bytesMax, Workload.bytesMin)
        bytesAlways = min(least, most, least * (most >> 10) / max(1, limits.bytesMax >> 10))
    }

    /// Writes refused for our own reasons so far.
    package var refused: Int { state.withLock { $0.refused } }

    /// Writes that wait.
    package var waiting: Int { state.withLock { $0.all.writes } }

    /// Refuses early what `reserve` would refuse whatever its size; takes no place.
    /// - Throws: `Refusal` if `reserve` would refuse it.
    package func check(_ source: [UInt8]) throws(Refusal) {
        let refusal: Refusal? = state.withLock { state in
            // Nearly always: nobody's own share need be looked up.
            if hasRoom(for: Self.writeBytes, state) { return nil }
            return decide(state.sources[source] ?? Waiting(), bytes: Self.writeBytes, &state)
        }
        if let refusal { throw refusal }
    }

    /// Takes a place for a write with a body of so many bytes. `isShared` false: the source's own
    /// limits do not hold. A heartbeat is small, and one that is refused looks like a dead source.
    /// - Throws: `Refusal` if too much waits, in all or of its source.
    package func reserve(
        _ source: [UInt8], bytes: Int, isShared: Bool = true
    ) throws(Refusal) -> Place {
        let place = Place(source: source, bytes: bytes + Self.writeBytes)
        let refusal: Refusal? = state.withLock { state in
            if !hasRoom(for: place.bytes, state) {
                let own = state.sources[source] ?? Waiting()
                let refusal = decide(own, bytes: place.bytes, isShared: isShared, &state)
                guard refusal == nil else { return refusal }
            }
            state.all.add(place)
            state.sources[source, default: Waiting()].add(place)
            return nil
        }
        if let refusal { throw refusal }
        return place
    }

    /// Gives a place back, once.
    package func release(_ place: Place) {
        workload.answered(place.bytes)
        state.withLock { state in
            state.all.remove(place)
            guard let own = state.sources.index(forKey: place.source) else { return }
            state.sources.values[own].remove(place)
            if state.sources.values[own].writes == 0 { state.sources.remove(at: own) }
        }
    }

    /// True if so little waits that nobody may be refused so many bytes more, whoever it is and whatever
    /// the last turns cost.
    private func hasRoom(for bytes: Int, _ state: State) -> Bool {
        state.all.writes < limits.sharedWritesMax && state.all.bytes + bytes <= bytesAlways
    }

    /// Returns why a source that has `own` waiting may not have so many bytes more; nil if it may.
    private func decide(
        _ own: Waiting, bytes: Int, isShared: Bool = true, _ state: inout State
    ) -> Refusal? {
        let most = workload.bytesMax(of: limits.bytesMax)
        // Where less may wait than usual, everybody's share is less; a first body fits into it.
        let isLess = most < limits.bytesMax
        func share(_ bytes: Int) -> Int {
            isLess ? bytes * (most >> 10) / max(1, limits.bytesMax >> 10) : bytes
        }
        if isShared, state.all.writes > own.writes,
            own.writes >= limits.sharedWritesMax
                || own.bytes + bytes > share(limits.sharedBytesMax) && (own.writes > 0 || !isLess)
        {
            return .share
        }
        // One body always finds room where nothing waits.
        let isFull = state.all.bytes + bytes > most && state.all.writes > 0
        let isAlone = isShared && own.bytes + bytes > share(limits.aloneBytesMax) && own.writes > 0
        guard isFull || isAlone else { return nil }
        state.refused += 1
        return .overloaded
    }
}
