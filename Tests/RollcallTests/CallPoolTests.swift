import Glibc
import RollcallBasis
import Synchronization
import Testing

/// Threads that call others. Source: K5.
@Suite struct CallPoolTests {
    /// Jobs that wait until they may go on, and what became of them.
    private final class Jobs: Sendable {
        let mayGoOn = Atomic(false)
        let done = Mutex<[Int]>([])
        let running = Atomic(0)

        func take(_ number: Int, by pool: CallPool) -> Bool {
            pool.take { [self] _ in
                running.add(1, ordering: .relaxed)
                while !mayGoOn.load(ordering: .relaxed) { usleep(1000) }
                done.withLock { $0.append(number) }
                running.subtract(1, ordering: .relaxed)
            }
        }

        /// Waits until so many are done; at most 10 s.
        func wait(for count: Int) -> [Int] {
            for _ in 0..<10_000 where done.withLock({ $0.count }) < count { usleep(1000) }
            return done.withLock { $0 }
        }
    }

    @Test
    func `K5: what finds no thread waits for one, in its order, and what finds no room is refused`()
    {
        let pool = CallPool(threadsMax: 1, waitingMax: 3)
        let jobs = Jobs()
        #expect((0..<6).map { jobs.take($0, by: pool) } == [true, true, true, true, false, false])
        usleep(20_000)
        #expect(jobs.running.load(ordering: .relaxed) == 1, "the others wait")
        jobs.mayGoOn.store(true, ordering: .relaxed)
        #expect(jobs.wait(for: 4) == [0, 1, 2, 3])
        // There is room again.
        #expect(jobs.take(7, by: pool))
        #expect(jobs.wait(for: 5) == [0, 1, 2, 3, 7])
        pool.close()
        #expect(!jobs.take(8, by: pool))
    }

    @Test func `what waits is done though the pool is closed meanwhile`() {
        let pool = CallPool(threadsMax: 2, waitingMax: 10)
        let jobs = Jobs()
        for number in 0..<6 { #expect(jobs.take(number, by: pool)) }
        pool.close()
        jobs.mayGoOn.store(true, ordering: .relaxed)
        #expect(jobs.wait(for: 6).sorted() == [0, 1, 2, 3, 4, 5])
    }

    @Test func `a thread keeps its connections for the next call`() {
        let pool = CallPool(threadsMax: 4)
        let callers = Mutex<[ObjectIdentifier?]>([])
        for count in 1...5 {
            #expect(
                pool.take { caller in
                    callers.withLock { $0.append(caller.map { ObjectIdentifier($0) }) }
                })
            for _ in 0..<5000 where callers.withLock({ $0.count }) < count { usleep(1000) }
            // It has come back by then.
            usleep(20_000)
        }
        let found = callers.withLock { $0 }
        #expect(found.count == 5 && Set(found).count == 1, "one thread did all of them")
        pool.close()
    }

    @Test func `without room to wait a call more is refused`() {
        let pool = CallPool(threadsMax: 2)
        let jobs = Jobs()
        #expect((0..<3).map { jobs.take($0, by: pool) } == [true, true, false])
        jobs.mayGoOn.store(true, ordering: .relaxed)
        #expect(jobs.wait(for: 2).sorted() == [0, 1])
        pool.close()
    }
}
