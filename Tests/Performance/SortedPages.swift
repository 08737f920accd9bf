import Glibc
import Synchronization

/// What a page of everybody in order takes, and how long somebody else waits for the state writer
/// meanwhile.
struct SortedPages {
    /// The page: a hundred of all people, by a key that each of them has.
    private static let path = "/v1/responders?sort=-silent_for&limit=100"
    /// A question that the state writer answers at once, beside it.
    private static let other = "/v1/status"

    /// Medians, in milliseconds.
    let page: Double
    let beside: Double

    /// One page on its way, as its neighbour sees it.
    private final class Ending: Sendable {
        let hasCome = Atomic(false)
        /// The longest wait of the neighbour, in milliseconds.
        let longest = Mutex(0.0)
    }

    /// Asks so many times, one page after the other.
    init(_ server: ServerProcess, questions: Int) throws(BenchmarkError) {
        var pages: [Double] = []
        var waits: [Double] = []
        let port = server.port
        let caller = try Caller(port: port)
        for _ in 0..<questions {
            let ending = Ending()
            let neighbour = try LoadThread { () throws(BenchmarkError) in
                let caller = try Caller(port: port)
                // Once more than while it lasts, which may be no time at all.
                var longest = 0.0
                repeat {
                    longest = max(longest, try caller.ask("GET", Self.other).span.milliseconds)
                } while !ending.hasCome.load(ordering: .acquiring)
                ending.longest.withLock { $0 = longest }
            }
            pages.append(try caller.ask("GET", Self.path).span.milliseconds)
            ending.hasCome.store(true, ordering: .releasing)
            try neighbour.join()
            waits.append(ending.longest.withLock { $0 })
        }
        page = median(pages) ?? 0
        beside = median(waits) ?? 0
    }
}
