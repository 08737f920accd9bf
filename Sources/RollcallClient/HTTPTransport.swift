import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// An `Address` says where Rollcall is, and who asks.
struct Address: Sendable {
    private let base: String
    private let query: String

    /// - Throws: `Invalid` if it can be no address, or the source no name.
    init(_ url: URL, source: String) throws(RollcallClient.Invalid) {
        var text = url.absoluteString
        guard let parts = URLComponents(string: text), ["http", "https"].contains(parts.scheme),
            parts.host?.isEmpty == false, parts.user == nil, parts.password == nil,
            parts.query == nil, parts.fragment == nil
        else { throw .url }
        while text.hasSuffix("/") { text.removeLast() }
        base = text
        guard (1...128).contains(source.utf8.count),
            let name = source.addingPercentEncoding(withAllowedCharacters: Self.unreserved)
        else { throw .source }
        query = "?source=\(name)"
    }

    /// RFC 3986 §2.3.
    private static let unreserved = CharacterSet(
        charactersIn: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")

    /// The URL of a route; nil only if `base` were none.
    func url(_ path: String) -> URL? { URL(string: base + path + query) }
}

/// The requests, one at a time. It follows no redirection, and keeps nothing of an answer.
///
/// Each has a session of its own. On Linux a session whose request was given up, or refused with a
/// 401, may never answer another one (swift-corelibs-foundation 6.3; the acceptance test shows it).
final class HTTPTransport: NSObject, URLSessionTaskDelegate {
    /// An answer, whole.
    struct Answer: Sendable {
        let status: Int
        let body: Data
        let retryAfter: Double?
    }

    /// A `NoAnswer` says why there is no answer.
    struct NoAnswer: Error {
        let reason: String
    }

    private struct State {
        var continuation: CheckedContinuation<Result<Answer, NoAnswer>, Never>?
        var session: URLSession?
        /// Counts the requests, so that what is late about one ends no other.
        var number = 0
        var isOver = false
    }

    private let state = Locked(State())

    /// Sends a request, and waits for its answer for so long at most.
    /// - Throws: `NoAnswer` with the reason, which holds nothing of the request.
    func send(_ request: URLRequest, within time: Duration) async throws(NoAnswer) -> Answer {
        var request = request
        request.timeoutInterval = time.seconds + 1
        let number = state.withLock { state in
            state.number += 1
            return state.number
        }
        let timer = Task {
            try await Task.sleep(for: time)
            self.finish(.failure(NoAnswer(reason: "no answer in time")), of: number)
        }
        defer { timer.cancel() }
        let result = await withCheckedContinuation { continuation in
            let task = state.withLock { state -> URLSessionTask? in
                state.continuation = continuation
                return state.isOver ? nil : begin(request, &state)
            }
            if let task {
                task.resume()
            } else {
                finish(.failure(NoAnswer(reason: "closed")), of: number)
            }
        }
        return try result.get()
    }

    private func begin(_ request: URLRequest, _ state: inout State) -> URLSessionTask {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.httpShouldSetCookies = false
        configuration.httpCookieStorage = nil
        configuration.urlCache = nil
        let session = URLSession(configuration: configuration, delegate: self, delegateQueue: nil)
        state.session = session
        let number = state.number
        return session.dataTask(with: request) { [weak self] body, response, error in
            guard let self else { return }
            if let response = response as? HTTPURLResponse, error == nil {
                let pause = BackOff.seconds(
                    response.value(forHTTPHeaderField: "Retry-After"), now: Date())
                let answer = Answer(
                    status: response.statusCode, body: body ?? Data(), retryAfter: pause)
                finish(.success(answer), of: number)
            } else {
                let reason = Self.words((error as? URLError)?.code)
                finish(.failure(NoAnswer(reason: reason)), of: number)
            }
        }
    }

    /// Says what became of the request of a number, if it is still in flight, and ends its session:
    /// what that still says is heard by nobody.
    private func finish(_ result: Result<Answer, NoAnswer>, of number: Int) {
        let ended: State = state.withLock { state in
            guard number == state.number else { return State() }
            defer {
                state.continuation = nil
                state.session = nil
            }
            return state
        }
        ended.session?.invalidateAndCancel()
        ended.continuation?.resume(returning: result)
    }

    /// Ends the request in flight without an answer, and makes no other one.
    func end() {
        let number = state.withLock { state in
            state.isOver = true
            return state.number
        }
        finish(.failure(NoAnswer(reason: "closed")), of: number)
    }

    // A token must not follow to another place.
    func urlSession(
        _ session: URLSession, task: URLSessionTask,
        willPerformHTTPRedirection response: HTTPURLResponse, newRequest request: URLRequest,
        completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) { completionHandler(nil) }

    // A 401 is an answer like others: there is no other credential to be asked for. On Linux it
    // would not become one by the default handling.
    func urlSession(
        _ session: URLSession, task: URLSessionTask,
        didReceive challenge: URLAuthenticationChallenge,
        completionHandler:
            @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        guard let response = challenge.failureResponse as? HTTPURLResponse else {
            return completionHandler(.performDefaultHandling, nil)
        }
        let number = state.withLock { $0.session === session ? $0.number : nil }
        completionHandler(.cancelAuthenticationChallenge, nil)
        let answer = Answer(status: response.statusCode, body: Data(), retryAfter: nil)
        if let number { finish(.success(answer), of: number) }
    }

    private static func words(_ code: URLError.Code?) -> String {
        switch code {
        case .timedOut, .cancelled: "no answer in time"
        case .cannotConnectToHost: "cannot connect"
        case .cannotFindHost, .dnsLookupFailed: "the host is not known"
        case .networkConnectionLost: "the connection was lost"
        case .secureConnectionFailed, .serverCertificateUntrusted: "the certificate is not trusted"
        case let code?: "no answer (\(code.rawValue))"
        case nil: "no answer"
        }
    }
}

/// A value that many threads use, one after another.
///
/// `@unchecked Sendable` is true because the value is touched only while the lock is held. `Mutex`
/// would need macOS 15.
final class Locked<Value>: @unchecked Sendable {
    private let lock = NSLock()
    private var value: Value

    init(_ value: Value) { self.value = value }

    func withLock<Outcome>(_ body: (inout Value) throws -> Outcome) rethrows -> Outcome {
        lock.lock()
        defer { lock.unlock() }
        return try body(&value)
    }
}
