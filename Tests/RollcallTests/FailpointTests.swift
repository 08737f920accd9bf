import Synchronization
import Testing

/// A process that is killed anywhere on a message's way to a pager (A9).
@Suite struct FailpointTests {
    /// Threads that play: a story mostly waits.
    private static let players = 6

    @Test func `whenever we are killed, a pager has one incident for an alert, and its end`() {
        let crashes = Crash.all
        #expect(crashes.count == 321)
        let faults = Mutex<[String]>([])
        let next = Atomic(0)
        Self.beside(Self.players) {
            while true {
                let place = next.wrappingAdd(1, ordering: .relaxed).oldValue
                guard place < crashes.count else { return }
                let found = CrashStory.faults(crashes[place])
                faults.withLock { $0 += found }
            }
        }
        #expect(faults.withLock { $0 } == [])
    }

    /// Runs `work` on so many threads, and waits for all.
    private static func beside(_ count: Int, _ work: @escaping @Sendable () -> Void) {
        guard count > 0 else { return }
        runBeside(work) { beside(count - 1, work) }
    }
}
