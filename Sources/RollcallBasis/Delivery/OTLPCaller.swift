import RollcallCore
import RollcallSupport

/// The outcome of a request that carried metrics.
package enum OTLPVerdict: Equatable, Sendable {
    /// The collector took it, but for so many points; `words` are what it says of that, empty if nothing.
    case delivered(rejected: Int64, words: String)
    /// Whoever sends it again, after `retryAfter` if that is given, may be luckier.
    case failed(String, retryAfter: Milliseconds?)
    /// Nobody answered, and the collector may have it.
    case unknown(String)
    /// It must not be sent again.
    case refused(String)
}

/// Posts metrics to a collector, on one thread. Source: V21; OTLP 1, "OTLP/HTTP".
package final class OTLPCaller {
    /// Bytes of an answer at most, of which a failure's says why.
    private static let answerBytesMax = 64 << 10
    /// Bytes of a collector's own words at most.
    private static let wordsMax = 200

    private let gzip = GzipWriter()
    /// With the authorities of whom was called last.
    private var caller: (authorities: Authorities, caller: HTTPCaller)?

    /// A caller without connections.
    package init() {}

    /// Posts `body` and says what came of it; `now` is the wall's time.
    package func send(
        _ body: [UInt8], to settings: OTLPSettings, now: Timestamp
    ) -> OTLPVerdict {
        let call = call(body, settings)
        let place = Destination(url: call.url)?.text ?? ""
        do throws(HTTPCallError) {
            let authorities = Authorities(extra: settings.authorityFile)
            let answer = try self.caller(authorities).answer(to: call)
            return Self.verdict(answer, from: place, settings, now: now)
        } catch {
            // What an answer says beside its status is not needed.
            if let status = error.status {
                return Self.verdict(
                    HTTPCallAnswer(status: status), from: place, settings, now: now)
            }
            return error.mayHaveArrived
                ? .unknown("\(error)") : .failed("\(error)", retryAfter: nil)
        }
    }

    private func caller(_ authorities: Authorities) throws(HTTPCallError) -> HTTPCaller {
        if let caller, caller.authorities == authorities { return caller.caller }
        let made = try HTTPCaller(authorities: authorities)
        caller = (authorities, made)
        return made
    }

    private func call(_ body: [UInt8], _ settings: OTLPSettings) -> HTTPCall {
        var call = HTTPCall(.post, settings.url ?? "")
        call.headers = [("Content-Type", "application/x-protobuf")]
        call.body = body
        if settings.compresses, let packed = gzip?.compressed(body) {
            call.headers.append(("Content-Encoding", "gzip"))
            call.body = packed
        }
        if let bearer = settings.bearer {
            call.headers.append(("Authorization", "Bearer \(Self.text(bearer))"))
        }
        for field in settings.fields { call.headers.append((field.name, Self.text(field.value))) }
        call.connectTimeout = min(Poster.connectTimeout, settings.timeout)
        call.timeout = settings.timeout
        call.answerBytesMax = Self.answerBytesMax
        // What was added is added once; a sum may come twice.
        call.mayBeSentTwice = settings.temporality == .cumulative
        return call
    }

    // MARK: - Answers

    /// "All other 4xx or 5xx response status codes MUST NOT be retried"; neither is a redirect followed.
    static func verdict(
        _ answer: HTTPCallAnswer, from place: String, _ settings: OTLPSettings, now: Timestamp
    ) -> OTLPVerdict {
        if (200...299).contains(answer.status) {
            let taken = OTLPAnswer(taken: answer.body)
            return .delivered(rejected: taken.rejected, words: words(taken.message, settings))
        }
        let why = words(OTLPAnswer(refused: answer.body).message, settings)
        let text = AnswerWords.answered(place, answer.status, why.isEmpty ? nil : why)
        switch answer.status {
        case 429, 502, 503, 504:
            return .failed(text, retryAfter: RetryAfter.span(of: answer, now: now))
        default: return .refused(text)
        }
    }

    /// Returns a collector's words on one line, without the secrets that we sent it.
    private static func words(_ message: [UInt8], _ settings: OTLPSettings) -> String {
        var line = AnswerWords.oneLine(String(decoding: message, as: UTF8.self))
        var secrets = ([settings.bearer].compactMap(\.self) + settings.fields.map(\.value)).map(
            text)
        // A scheme stands before some; and a path of the endpoint's may be one.
        secrets += secrets.flatMap { $0.split(separator: " ").map(String.init) }
        if let url = settings.url, let place = Destination(url: url)?.text {
            secrets += url.dropFirst(place.count).split(separator: "/").map(String.init)
        }
        secrets.sort { $0.utf8.count > $1.utf8.count }
        for secret in secrets
        where secret.utf8.count >= AnswerWords.secretMin && secret != "metrics" {
            line.replace(secret, with: "<secret>")
        }
        return NotificationWords.clipped(line, bytesMax: wordsMax)
    }

    private static func text(_ secret: Secret) -> String {
        String(decoding: secret.bytes, as: UTF8.self)
    }
}
