import RollcallCore
import RollcallSupport
import Synchronization

/// The pager, the chat and the push service of the demo: a server on loopback that takes what
/// Rollcall sends, so that every page that is shown came over HTTP. Signatures are not looked at
/// here.
final class DemoReceivers: Sendable {
    /// A message, and the receiver that it came to.
    struct Message: Sendable {
        /// The last part of the URL: `oncall`, `chat` or `pushes`.
        let receiver: String
        let body: JSONTree
    }

    /// Messages that wait to be shown at most; later ones are only counted by Rollcall.
    private static let waitingMax = 1000

    private let http: HTTPServer
    private let inbox: Inbox

    /// The handler's, which exists before the server.
    private final class Inbox: Sendable {
        let waiting = Mutex<[Message]>([])
    }

    /// Takes messages at a free port from now on.
    /// - Throws: `HTTPServerError` if there is no such port, or the server does not start.
    init() throws(HTTPServerError) {
        let inbox = Inbox()
        self.inbox = inbox
        http = try HTTPServer(listener: try HTTPListener(address: "127.0.0.1:0")) {
            request, reply in
            guard let body = try? JSONTree(reading: request.body) else {
                return reply.answer(.problem(400, "Bad Request", detail: "no JSON"))
            }
            let message = Message(
                receiver: String(request.path.split(separator: "/").last ?? ""), body: body)
            inbox.waiting.withLock {
                if $0.count < Self.waitingMax { $0.append(message) }
            }
            reply.answer(HTTPResponse(status: 200))
        }
    }

    /// The URL at which they are.
    var url: String { "http://127.0.0.1:\(http.port)" }

    /// Returns what came since the last call.
    func take() -> [Message] {
        inbox.waiting.withLock { waiting in
            defer { waiting = [] }
            return waiting
        }
    }

    /// Takes nothing any more.
    func stop() { http.stop() }
}
