import RollcallSupport
import RollcallTools

/// A server that gives the answer that was written for a target, and 404 for others.
final class CannedServer: Sendable {
    private let server: HTTPServer
    private let log = ReplyCounter()

    /// Answers by path, or by path and query as decoded: `/path?name=value&…`.
    init(_ answers: [String: String], status: Int = 200) throws {
        let log = log
        server = try HTTPServer(listener: try HTTPListener(address: "127.0.0.1:0")) {
            request, reply in
            let query = request.query.map { "\($0.name)=\($0.value)" }.joined(separator: "&")
            let target = request.path + (query.isEmpty ? "" : "?\(query)")
            let method = request.method == "GET" ? "" : "\(request.method) "
            let sent =
                request.body.isEmpty ? "" : " " + String(decoding: request.body, as: UTF8.self)
            log.add(method + target + (request.authorization.map { " \($0)" } ?? "") + sent)
            guard let body = answers[target] ?? answers[request.path] else {
                return reply.answer(.problem(404, "Not Found", detail: "there is nothing here"))
            }
            reply.answer(
                HTTPResponse(
                    status: status, headers: [("Content-Type", "application/json")],
                    body: Array(body.utf8)))
        }
    }

    /// What was asked for, with the credentials that were shown.
    var questions: [String] { log.all }

    /// Where it listens.
    var url: String { "http://127.0.0.1:\(server.port)" }

    /// Ends it.
    func stop() { server.stop() }

    /// Questions to it, with `token` if one is given, which is the password of `user` then.
    func asked(token: String = "", user: String? = nil) throws -> ServerQuestions {
        try ServerQuestions(
            try ServerAddress(
                url: url, tokenPath: nil,
                environment: ["ROLLCALL_TOKEN": token, "ROLLCALL_USER": user ?? ""]))
    }
}
