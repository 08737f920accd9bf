import Glibc
import RollcallCore
import Synchronization

@testable import RollcallBasis
@testable import RollcallSupport

/// Expo's push service as its documents describe it: a ticket for each message in their order, and
/// receipts by tickets. It counts what phones would show.
final class LoopbackExpo: Sendable {
    /// What it does with the next request.
    enum Answer: Sendable {
        /// As Expo does when all is well.
        case whole
        /// Nothing is taken: a status, more of the head, and a body.
        case status(Int, fields: String = "", body: String = "{}")
        /// A reset before the request is read; nothing is taken.
        case resetUnread
        /// All is taken, and then: a reset, the end of the connection, the status line alone, half
        /// of the body, a body that drips for ever, one ticket too few, or no JSON.
        case reset, lost, statusLine, half, drip, fewer, malformed
        /// All is taken, and this comes instead of the answer: a status and a body.
        case taken(Int, body: String = "{}")

        /// True if only the caller's patience ends it.
        var isEndless: Bool {
            if case .drip = self { true } else { false }
        }
    }

    /// What it knows.
    struct Memory {
        /// Whole requests, in the order in which they came.
        var requests: [String] = []
        /// How often each token's phone showed something.
        var shown: [String: Int] = [:]
        /// By the tickets: whom they were for.
        var tickets: [String: String] = [:]
        /// Requests that are answered so, before all others as `whole`.
        var answers: [Answer] = []
        /// Tokens that are answered with an error at once, and its name.
        var ticketErrors: [String: String] = [:]
        /// The same with the receipt.
        var receiptErrors: [String: String] = [:]
        /// Tokens whose receipts are not ready.
        var unready: Set<String> = []
        /// Tokens for whose sake whole requests are refused.
        var poison: Set<String> = []
    }

    private let server = BadServer()
    private let state = Mutex(Memory())

    /// What it knows now.
    var memory: Memory { state.withLock { $0 } }
    /// Where it is.
    var url: String { "http://127.0.0.1:\(server.port)" }
    /// As the settings would name it.
    var sink: PushSink { PushSink(.expo, url: url) }

    /// One that answers so, and then as `whole`.
    init(_ answers: [Answer] = [], change: (inout Memory) -> Void = { _ in }) {
        state.withLock {
            $0.answers = answers
            change(&$0)
        }
    }

    /// Takes up to `requestsMax` requests while `body` runs.
    func serve(_ requestsMax: Int = 1, while body: () -> Void) {
        server.serve(requestsMax, { self.talk($0) }, while: body)
    }

    private func talk(_ connection: BadServer.Connection) {
        let next = state.withLock { $0.answers.isEmpty ? Answer.whole : $0.answers.removeFirst() }
        if case .resetUnread = next {
            // Before that nothing has gone out, which the other side would know.
            connection.awaitRequest()
            return connection.reset()
        }
        guard let request = connection.request(),
            let end = request.firstRange(of: "\r\n\r\n"),
            let body = try? JSONTree(reading: Array(request[end.upperBound...].utf8))
        else { return }
        state.withLock { $0.requests.append(request) }
        if case .status(let status, let fields, let text) = next {
            connection.send(Self.head(status, text, fields) + text)
            return
        }
        let isSending = request.hasPrefix("POST /--/api/v2/push/send ")
        let poisoned =
            isSending
            && memory.poison.contains { poison in
                body.elements.contains { $0["to"]?.text == poison }
            }
        if poisoned {
            let text = #"{"errors":[{"code":"VALIDATION_ERROR","message":"bad"}]}"#
            connection.send(Self.head(400, text) + text)
            return
        }
        play(next, isSending ? tickets(body) : receipts(body), connection)
    }

    private func play(
        _ answer: Answer, _ items: JSONTree, _ connection: BadServer.Connection
    ) {
        let text = NotificationSamples.text(NotificationWords.bytes(["data": items]))
        let whole = Self.head(200, text) + text
        switch answer {
        case .reset: connection.reset()
        case .lost: break
        case .statusLine: connection.send("HTTP/1.1 200 OK\r\n")
        case .half: connection.send(String(whole.dropLast(text.count / 2)))
        case .drip:
            for character in whole where connection.isObserved {
                connection.send(String(character))
                usleep(50_000)
            }
        case .fewer:
            let fewer = NotificationSamples.text(
                NotificationWords.bytes(["data": .list(Array(items.elements.dropLast()))]))
            connection.send(Self.head(200, fewer) + fewer)
        case .malformed: connection.send(Self.head(200, "{\"data\":[") + "{\"data\":[")
        case .taken(let status, let body): connection.send(Self.head(status, body) + body)
        case .whole, .status, .resetUnread: connection.send(whole)
        }
    }

    private static func head(_ status: Int, _ body: String, _ fields: String = "") -> String {
        "HTTP/1.1 \(status) X\r\nContent-Type: application/json\r\n"
            + "Content-Length: \(body.utf8.count)\r\n\(fields)\r\n"
    }

    private func tickets(_ messages: JSONTree) -> JSONTree {
        let tickets = messages.elements.map { message -> JSONTree in
            let token = message["to"]?.text ?? ""
            return state.withLock { memory in
                if let error = memory.ticketErrors[token] {
                    return [
                        "status": "error", "message": "\"\(token)\" has an error",
                        "details": ["error": .text(error), "expoPushToken": .text(token)],
                    ]
                }
                memory.shown[token, default: 0] += 1
                let ticket = "ticket-\(memory.tickets.count + 1)"
                memory.tickets[ticket] = token
                return ["status": "ok", "id": .text(ticket)]
            }
        }
        return .list(tickets)
    }

    private func receipts(_ question: JSONTree) -> JSONTree {
        let memory = memory
        var receipts: [JSONTree.Member] = []
        for ticket in question["ids"]?.elements.compactMap(\.text) ?? [] {
            guard let token = memory.tickets[ticket], !memory.unready.contains(token) else {
                continue
            }
            let receipt: JSONTree =
                memory.receiptErrors[token].map {
                    ["status": "error", "message": "no", "details": ["error": .text($0)]]
                } ?? ["status": "ok"]
            receipts.append(JSONTree.Member(name: ticket, value: receipt))
        }
        return .object(receipts)
    }
}
