import Glibc
import Logging
import RollcallCore
import Synchronization

/// A running Rollcall: the store, the keeper and the listener, put together.
///
/// The order of the end is the one libmicrohttpd needs: no new connections, every parked request
/// answered after its commit, the daemon stopped, then the keeper's last turn and checkpoint.
package final class Server: Sendable {
    private let keeper: Keeper
    private let http: HTTPServer
    private let router: Router
    private let log: Logger

    /// Exit code of a failing disk. Source: design §1 J6, sysexits.h EX_IOERR.
    private static let failedDisk: CInt = 74

    /// Opens the store, comes back to the last committed turn and listens.
    ///
    /// `onTurn` is called whenever the keeper's loop has gone round. Errors: `ServerError` with what
    /// to do.
    package init(
        _ configuration: Configuration, log: Logger, onTurn: @escaping @Sendable () -> Void
    ) throws(ServerError) {
        self.log = log
        // First, so that an address that cannot be had leaves no trace in a store.
        let listener: HTTPListener
        do throws(HTTPServerError) {
            listener = try HTTPListener(address: configuration.listenAddress)
        } catch {
            throw .listener(error)
        }
        if !listener.isLoopback {
            log.warning(
                "listening beyond loopback without tokens: who reaches it reads and writes all",
                metadata: ["address": "\(listener.address)"])
        }
        let edge = EdgeFigures()
        let watch = ListenerWatch()
        do throws(StoreError) {
            keeper = try Keeper(
                path: configuration.storagePath, policy: configuration.policy, log: log, edge: edge,
                refusals: { watch.refusals }, onTurn: onTurn,
                onFatal: { _ in exit(Self.failedDisk) })
        } catch {
            listener.close()
            throw .store(path: configuration.storagePath, error)
        }
        router = Router(keeper: keeper, edge: edge, limits: configuration.scanLimits)
        var limits = HTTPLimits()
        limits.bodyBytesMax = configuration.bodyBytesMax
        limits.connectionsMax = configuration.connectionsMax
        keeper.start()
        let router = router
        do throws(HTTPServerError) {
            http = try HTTPServer(
                listener: listener, limits: limits,
                early: { router.judge($0) },
                handler: { router.handle($0, $1) })
        } catch {
            throw .listener(error)
        }
        watch.watch(http)
    }

    /// The port that is listened on.
    package var port: Int { http.port }

    /// Drains, commits, checkpoints, closes. Returns when all of it is done.
    package func stop() {
        http.quiesce()
        http.stop()
        router.close()
        let semaphore = UnsafeMutablePointer<sem_t>.allocate(capacity: 1)
        sem_init(semaphore, 0, 0)
        let box = SemaphoreBox(semaphore)
        keeper.stop { sem_post(box.semaphore) }
        while sem_wait(semaphore) != 0 && errno == EINTR {}
        sem_destroy(semaphore)
        semaphore.deallocate()
        log.info("stopped")
    }

    /// `@unchecked Sendable` is true because semaphores are made for several threads.
    private struct SemaphoreBox: @unchecked Sendable {
        let semaphore: UnsafeMutablePointer<sem_t>
        init(_ semaphore: UnsafeMutablePointer<sem_t>) { self.semaphore = semaphore }
    }
}

/// What the keeper needs to know of the listener, which exists only after it.
private final class ListenerWatch: Sendable {
    private let http = Mutex<HTTPServer?>(nil)

    /// Writes answered 503 by the listener's watchdog.
    var refusals: Int { http.withLock { $0?.figures.parkedExpired ?? 0 } }

    func watch(_ server: HTTPServer) { http.withLock { $0 = server } }
}

/// Why a server does not come up.
package enum ServerError: Error, CustomStringConvertible {
    case store(path: String, StoreError)
    case listener(HTTPServerError)

    package var description: String {
        switch self {
        case .store(let path, let error): "storage.path \(path): \(error)"
        case .listener(let error): "web.listen_address: \(error)"
        }
    }
}
