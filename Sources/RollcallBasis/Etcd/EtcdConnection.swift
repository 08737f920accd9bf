import RollcallCore
import RollcallSupport
import Synchronization

/// An `EtcdKnowledge` holds what all threads know of an etcd: which of its members answers, and the
/// token.
final class EtcdKnowledge: Sendable {
    let settings: EtcdSettings
    private let endpoint = Atomic(0)
    private let token = Mutex<String?>(nil)
    private let closed = Atomic(false)

    /// Nothing is known yet.
    init(_ settings: EtcdSettings) { self.settings = settings }

    var isClosed: Bool { closed.load(ordering: .relaxed) }

    func close() { closed.store(true, ordering: .relaxed) }

    /// The member to be asked.
    var current: Int { endpoint.load(ordering: .relaxed) % max(1, settings.endpoints.count) }

    /// Turns to the next member, unless somebody has done so already.
    func avoid(_ index: Int) {
        let next = (index + 1) % max(1, settings.endpoints.count)
        _ = endpoint.compareExchange(expected: index, desired: next, ordering: .relaxed)
    }

    var knownToken: String? { token.withLock { $0 } }

    func note(token new: String?) { token.withLock { $0 = new } }
}

/// One thread's connections to the members of an etcd.
final class EtcdConnection {
    /// The outcome of a call.
    enum Reply {
        case answer(HTTPCallAnswer)
        /// It reached nobody; why.
        case notSent(String)
        /// Nobody knows what became of it; why.
        case unknown(String)
    }

    private let known: EtcdKnowledge
    private let authorities: Authorities
    private var caller: HTTPCaller?

    /// The connections of a thread.
    init(_ known: EtcdKnowledge) {
        self.known = known
        authorities = Authorities(extra: known.settings.authorityFile)
    }

    /// Posts `body`. What certainly reached nobody is tried at the next member; what may have is
    /// never sent again (S3). With `part`, a call that goes on until it breaks.
    func post(
        _ path: String, _ body: [UInt8], part: ((UnsafeRawBufferPointer) -> Bool)? = nil
    ) -> Reply {
        let reply = send(path, body, part)
        guard case .answer(let answer) = reply, answer.status != 200,
            known.settings.user != nil, EtcdRefusal(answer).wantsToken
        else { return reply }
        // It was refused for the token: it was not run.
        known.note(token: nil)
        return send(path, body, part)
    }

    private func send(
        _ path: String, _ body: [UInt8], _ part: ((UnsafeRawBufferPointer) -> Bool)?
    ) -> Reply {
        var why = "no endpoint"
        for _ in known.settings.endpoints {
            let index = known.current
            do throws(EtcdFailure) {
                let token = try token(of: index)
                return .answer(try answer(of: index, path, body, token: token, part))
            } catch {
                known.avoid(index)
                why = error.words
                if error.mayHaveArrived { return .unknown(why) }
            }
        }
        return .notSent(why)
    }

    private struct EtcdFailure: Error {
        var words: String
        var mayHaveArrived = false
    }

    /// The token by which we are known; nil if none is asked for.
    private func token(of index: Int) throws(EtcdFailure) -> String? {
        guard let user = known.settings.user else { return nil }
        if let token = known.knownToken { return token }
        let body = EtcdGateway.authenticationBody(name: user.name, password: user.password)
        let answer: HTTPCallAnswer
        do throws(EtcdFailure) {
            answer = try self.answer(
                of: index, EtcdGateway.authenticationPath, body, token: nil, nil)
        } catch {
            // Nobody minds a token too many.
            throw EtcdFailure(words: error.words)
        }
        guard answer.status == 200, let tree = try? JSONTree(reading: answer.body),
            let token = tree["token"]?.text, !token.isEmpty
        else { throw EtcdFailure(words: "no token: \(EtcdRefusal(answer))") }
        known.note(token: token)
        return token
    }

    private func answer(
        of index: Int, _ path: String, _ body: [UInt8], token: String?,
        _ part: ((UnsafeRawBufferPointer) -> Bool)?
    ) throws(EtcdFailure) -> HTTPCallAnswer {
        var call = HTTPCall(.post, known.settings.endpoints[index] + path)
        call.headers = [(name: "Content-Type", value: "application/json")]
        if let token { call.headers.append((name: "Authorization", value: token)) }
        call.body = body
        call.connectTimeout = min(call.connectTimeout, known.settings.timeout)
        call.timeout = part == nil ? known.settings.timeout : EtcdStore.watchMax
        call.idleSecondsMax = part == nil ? nil : EtcdStore.watchIdleSecondsMax
        call.answerBytesMax = EtcdStore.answerBytesMax
        call.clientCertificate = known.settings.clientCertificate
        do throws(HTTPCallError) {
            if caller == nil { caller = try HTTPCaller(authorities: authorities) }
            guard let caller else {
                throw .init(cause: .wrongURL, destination: "", mayHaveArrived: false)
            }
            let answer = try caller.answer(to: call, part: part)
            // Who has no leader, or is stopping, may be the only one.
            if answer.status >= 500 { known.avoid(index) }
            return answer
        } catch {
            throw EtcdFailure(words: "\(error)", mayHaveArrived: error.mayHaveArrived)
        }
    }
}
