import Foundation

extension RollcallClient {
    /// The limits and times of a client.
    public struct Options: Sendable {
        /// The time between two heartbeats in whole seconds, 1 to 3600; nil for none.
        public var heartbeatSeconds: Int? = 10
        /// The most items that wait.
        public var queueItems = 50_000
        /// The most bytes of JSON that wait.
        public var queueBytes = 32 << 20
        /// The most items of one request.
        public var bodyItems = 500
        /// The most bytes of one request; a longer item goes alone.
        public var bodyBytes = 512 << 10
        /// The time that an item may wait for others to share its request.
        public var linger = Duration.milliseconds(100)
        /// The time after which a request without an answer is given up.
        public var timeout = Duration.seconds(10)
        /// The longest pause between two attempts. A `Retry-After` may make it longer, up to 300 s.
        public var pauseMax = Duration.seconds(30)

        /// The usual limits and times.
        public init() {}

        func check() throws {
            let sizes = [queueItems, queueBytes, bodyItems, bodyBytes]
            let times = [timeout, pauseMax]
            guard sizes.allSatisfy({ $0 >= 1 }), times.allSatisfy({ $0 > .zero }),
                linger >= .zero, (1...3600).contains(heartbeatSeconds ?? 1)
            else { throw Invalid.options }
        }
    }

    /// An `Invalid` says why something cannot be used.
    public enum Invalid: Error, Equatable, CustomStringConvertible {
        /// The URL is not like `https://host/path` or `http://host:port`.
        case url
        /// The source is not 1 to 128 bytes long.
        case source
        /// A size is below 1, a time is not above 0, or the heartbeat is not 1 to 3600 s.
        case options
        /// The token is empty or holds more than visible ASCII characters.
        case token
        /// An item does not encode to a JSON object.
        case notAnObject

        /// Says what is expected.
        public var description: String {
            switch self {
            case .url: "the URL must be like https://host/path or http://host:port"
            case .source: "the source must have 1 to 128 bytes"
            case .options: "sizes must be 1 or more, times above 0, the heartbeat 1 to 3600 s"
            case .token: "the token must have visible ASCII characters without spaces"
            case .notAnObject: "an item must be a JSON object"
            }
        }
    }

    /// A `DropReason` says why an item did not arrive.
    public enum DropReason: String, Sendable, CaseIterable {
        /// There was no room, and it was the oldest.
        case full
        /// It is larger than the whole queue.
        case tooLarge = "too_large"
        /// All of its request was refused with a 4xx.
        case refused
        /// Rollcall rejected it, and took the others.
        case rejected
        /// There was no time left; it may have arrived.
        case closed
    }

    /// A `Report` says what went wrong. Its description holds no item.
    public enum Report: Sendable, CustomStringConvertible {
        /// These items, as JSON, will not arrive.
        case dropped(DropReason, items: [Data], detail: String)
        /// A kind of problem that Rollcall named for the first time, in an item that it took.
        case problem(pointer: String, detail: String, item: Data)
        /// Attempts fail: at the first one, then once a minute.
        case failing(String, waiting: Int)

        /// One line for a log.
        public var description: String {
            switch self {
            case .dropped(let reason, let items, let detail):
                "rollcall: \(items.count) items dropped: \(reason.rawValue) (\(detail))"
            case .problem(let pointer, let detail, _):
                "rollcall: a problem in an item: \(pointer): \(detail)"
            case .failing(let detail, let waiting):
                "rollcall: \(detail); \(waiting) items wait"
            }
        }
    }

    /// `Counts` says what became of all items: given = accepted + duplicates + all dropped +
    /// waiting.
    public struct Counts: Sendable, Equatable {
        /// The items that were handed to the client.
        public internal(set) var given = 0
        /// Those that Rollcall took.
        public internal(set) var accepted = 0
        /// Those that brought it nothing new.
        public internal(set) var duplicates = 0
        /// Those that will not arrive.
        public internal(set) var dropped: [DropReason: Int] = [:]
        /// Those that wait, or are being sent.
        public internal(set) var waiting = 0
        /// The bytes of those.
        public internal(set) var waitingBytes = 0
        /// The requests that were begun, heartbeats too.
        public internal(set) var attempts = 0
        /// The requests with items of which nobody knows what became.
        public internal(set) var failures = 0
    }
}
