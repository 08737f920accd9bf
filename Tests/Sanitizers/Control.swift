import Glibc
import Synchronization

/// The negative control of the sanitizers: a program with a defect of each kind, which they must report,
/// and one without, of which they must not. Its argument says which.

/// Two threads count in one place.
final class Count: @unchecked Sendable {
    let ordered = Mutex(0)
    var unordered = 0
}

let count = Count()
let rounds = 20_000

func inThreads(
    _ body: @escaping @convention(c) (UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer?
) {
    var threads = [pthread_t](repeating: pthread_t(), count: 4)
    for index in threads.indices { pthread_create(&threads[index], nil, body, nil) }
    for thread in threads { pthread_join(thread, nil) }
}

switch CommandLine.arguments.last {
case "ordered":
    inThreads { _ in
        for _ in 0..<rounds {
            count.ordered.withLock { value in
                value += 1
                // While it sleeps the others come to wait, which is what must be understood.
                if value % 100 == 0 { usleep(10) }
            }
        }
        return nil
    }
    precondition(count.ordered.withLock { $0 } == 4 * rounds)
case "race":
    inThreads { _ in
        for _ in 0..<rounds { count.unordered &+= 1 }
        return nil
    }
    print(count.unordered)
case "overflow":
    let bytes = UnsafeMutablePointer<UInt8>.allocate(capacity: 16)
    bytes.initialize(repeating: 0, count: 16)
    let beyond = CommandLine.arguments.count + 14
    print(bytes[beyond])
    bytes.deallocate()
default: preconditionFailure("ordered, race or overflow expected")
}
