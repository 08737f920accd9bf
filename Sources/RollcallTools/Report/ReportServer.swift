import RollcallBasis
import RollcallCore
import RollcallSupport

/// Questions to a server that may be dead, stopped or overloaded: each is waited for only so long, and
/// once one got no answer in its time no more are asked.
final class ReportServer {
    private static let patience = Milliseconds.seconds(5)
    private static let answerBytesMax = 32 << 20

    /// An answer, or the reason why there is none.
    enum Answer {
        case answer(status: Int, body: [UInt8], took: Duration)
        case none(String)
    }

    private let address: ServerAddress
    private let caller: HTTPCaller
    /// The reason why nothing more is asked.
    private(set) var silence: String?

    /// Questions to the server at `address`. Throws `HTTPCallError` without libcurl.
    init(_ address: ServerAddress) throws(HTTPCallError) {
        self.address = address
        caller = try HTTPCaller(authorities: Authorities(extra: address.authorityPath))
    }

    /// Returns the answer to `GET path`.
    func ask(_ resource: Resource, _ names: ReportNames) -> Answer {
        if let silence { return .none(silence) }
        var call = HTTPCall(.get, address.url + resource.path)
        call.timeout = Self.patience
        call.answerBytesMax = Self.answerBytesMax
        if let field = address.authorization { call.headers.append(("Authorization", field)) }
        call.clientCertificate = address.certificate
        let began = ContinuousClock.now
        do throws(HTTPCallError) {
            let answer = try caller.answer(to: call)
            return .answer(
                status: answer.status, body: answer.body, took: ContinuousClock.now - began)
        } catch {
            let words = Self.words(error, names)
            switch error.cause {
            case .timedOut: silence = "not asked: the server does not answer"
            case .notConnected, .unknownHost: silence = "not asked: there is no server"
            default: break
            }
            return .none(words)
        }
    }

    private static func words(_ error: HTTPCallError, _ names: ReportNames) -> String {
        switch error.cause {
        case .timedOut:
            "it does not answer within \(patience.count / 1000) s: stopped, hung or overloaded"
        case .notConnected: "nobody listens there"
        default: names.text("\(error)")
        }
    }

    /// The reason why an answer of this status is none.
    func refusal(_ status: Int, _ scope: Access.Scope) -> String {
        switch status {
        case 401 where address.user != nil: "it does not know the user with this password"
        case 401 where address.token != nil: "it does not know the token that was given"
        case 401: "it wants a token (--token-file) with the scope \(scope.rawValue)"
        case 403: "the token lacks the scope \(scope.rawValue)"
        case 404: "it has no such route: another version"
        default: "it answers \(status)"
        }
    }
}
