import Logging
import Synchronization

/// Keeps log lines: `level message key=value …`, keys in order.
final class LogCapture: Sendable {
    private let kept = Mutex<[String]>([])

    /// What was logged so far.
    var lines: [String] { kept.withLock { $0 } }

    /// A logger whose lines are kept.
    var logger: Logger {
        var logger = Logger(label: "test") { _ in Handler(capture: self) }
        logger.logLevel = .trace
        return logger
    }

    private struct Handler: LogHandler {
        let capture: LogCapture
        var metadata: Logger.Metadata = [:]
        var logLevel = Logger.Level.trace

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            let fields = (event.metadata ?? [:]).sorted { $0.key < $1.key }
                .map { " \($0.key)=\($0.value)" }
            capture.kept.withLock {
                $0.append("\(event.level) \(event.message)\(fields.joined())")
            }
        }
    }
}
