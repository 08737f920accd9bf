import Glibc
import Logging
import RollcallBasis
import RollcallCore
import RollcallSupport

/// Reads certificates and keys again when their files have changed, as whoever renews them expects: nobody
/// has to ask for a reload. What does not go together is not taken, and the old ones go on. Source: V18.
///
/// `@unchecked Sendable` is true because everything mutable is touched by its own thread alone; the mailbox
/// is what other threads see.
final class CertificateRenewal: @unchecked Sendable {
    private enum Message: Sendable {
        case follow(WebSettings, generation: Int)
        case close
    }

    /// The state of a file, by which a change of it is known.
    private struct State: Equatable {
        private let numbers: [Int64]

        /// The file at `path` now, or the lack of it.
        init(_ path: String) {
            var status = stat()
            guard stat(path, &status) == 0 else {
                numbers = [Int64(errno)]
                return
            }
            numbers = [
                Int64(bitPattern: UInt64(status.st_dev)), Int64(bitPattern: UInt64(status.st_ino)),
                Int64(status.st_size), Int64(status.st_mtim.tv_sec), Int64(status.st_mtim.tv_nsec),
            ]
        }
    }

    /// Milliseconds between looks at the files.
    private static let lookEvery: Int64 = 1000
    /// Milliseconds of sleep where there are no files.
    private static let idleWait: Int64 = 3_600_000

    private let front: WebFront
    private let log: Logger
    private let messages = Mailbox<Message>()
    private var settings = WebSettings()
    private var generation = 0
    /// As they were when they were read last.
    private var read: [State] = []
    /// As they were when they could not be used.
    private var failed: [State]?
    private var isLogged = false

    /// Gives `front` what it reads, once `start` was called.
    init(_ front: WebFront, log: Logger) {
        self.front = front
        self.log = log
    }

    /// Starts the thread; false if the system has none left.
    func start() -> Bool { DetachedThread.start { [self] in run() } }

    /// Looks at the files of other settings from now on, which are of this generation at the front.
    func follow(_ settings: WebSettings, generation: Int = 0) {
        messages.put(.follow(settings, generation: generation))
    }

    /// Ends the thread.
    func close() { messages.put(.close) }

    private func run() {
        while true {
            let wait = settings.files.isEmpty ? Self.idleWait : Self.lookEvery
            for message in messages.takeAll(waiting: wait) {
                switch message {
                case .close: return
                case .follow(let settings, let generation):
                    (self.settings, self.generation) = (settings, generation)
                    (read, failed) = ([], nil)
                }
            }
            if !settings.files.isEmpty { look() }
        }
    }

    private func look() {
        let now = settings.files.map { State($0) }
        guard now != read else { return }
        let reason: String
        do throws(InputFileError) {
            let isFirst = read.isEmpty
            guard let tls = try settings.tlsAgain() else { return }
            do throws(TLSServerFault) {
                let made = try ServerTLS(tls)
                // Else a reload came meanwhile, and with it the word to look again.
                guard front.renew(made, of: generation) else { return }
                (read, failed) = (now, nil)
                if isFirst { return }
                log.info(
                    "certificates read again",
                    metadata: ["not_after": "\(RFC3339.string(made.notAfter))"])
                return
            } catch {
                reason = "\(error.field) \(error.reason)"
            }
        } catch {
            reason = error.sentence
        }
        // A certificate and its key are two files, of which one is new first.
        if failed != now { isLogged = false }
        if failed == now, !isLogged {
            isLogged = true
            log.error(
                "certificates not read again, those from before stay",
                metadata: ["error": "\(reason)"])
        }
        failed = now
    }
}
