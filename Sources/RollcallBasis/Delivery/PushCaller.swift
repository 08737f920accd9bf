import RollcallCore
import RollcallSupport

/// Hands pushes to their sink, one request at a time, on one thread at a time. Source: N7.
package final class PushCaller {
    /// Bytes of Expo's answer at most: a hundred errors with their words are many.
    static let expoBytesMax = 1 << 20
    /// Requests that one call may take to find out which message Expo does not like.
    static let requestsMax = 16
    /// Whole requests are refused with these for one message's sake.
    private static let blamed = [400, 413, 422]

    private let poster: Poster

    /// A caller without connections; `patience` is how long it waits for a whole answer.
    /// Without `permit` nothing goes out.
    package init(
        library: Result<CurlLibrary, CurlMissing> = CurlLibrary.shared,
        patience: Milliseconds = Poster.timeout, permit: SendingPermit? = nil
    ) {
        poster = Poster(library: library, patience: patience, permit: permit)
    }

    /// Hands pushes to the sink: to `expo` in one request, if Expo likes all of them. The results
    /// are in the same order, and as many. `now` is the wall's time.
    package func send(
        _ pushes: [PushPayload], to sink: PushSink, now: Timestamp
    ) -> [PushResult] {
        switch sink.kind {
        case .webhook: return pushes.map { send($0, to: sink, now: now) }
        case .expo:
            precondition(pushes.count <= ExpoPush.messagesMax, "too many messages in one request")
            return sendToExpo(pushes, sink, now)
        }
    }

    /// Asks Expo whether the phones' systems took what it gave `tickets` for, in one request. That
    /// may be asked as often as one likes.
    package func receipts(
        _ tickets: [[UInt8]], from sink: PushSink, now: Timestamp
    ) -> PushReceipts {
        precondition(tickets.count <= ExpoPush.ticketsMax, "too many tickets in one request")
        guard sink.kind == .expo else {
            return PushReceipts(verdicts: nil, error: "only Expo gives receipts")
        }
        if tickets.isEmpty { return PushReceipts(verdicts: []) }
        do throws(HTTPCallError) {
            let answer = try askExpo(
                ExpoPush.receiptsURL(sink), ExpoPush.bytes(tickets: tickets), sink,
                mayBeSentTwice: true)
            return PushVerdicts.receipts(answer, for: tickets, of: sink, now: now)
        } catch {
            return PushReceipts(verdicts: nil, error: "\(error)")
        }
    }

    // MARK: - A webhook

    private func send(_ push: PushPayload, to sink: PushSink, now: Timestamp) -> PushResult {
        let body = WebhookPush.bytes(push, sink.texts)
        var call = Self.call(sink.url, body, sink)
        call.headers += SigningKey.fields(
            id: push.id, now: now, body: body, keys: sink.signingKeys)
        do throws(HTTPCallError) {
            let answer = try poster.answer(to: call, sink.authorities)
            return PushVerdicts.evaluate(answer, of: sink, now: now)
        } catch {
            return PushVerdicts.evaluate(error, of: sink)
        }
    }

    // MARK: - Expo

    private func sendToExpo(
        _ pushes: [PushPayload], _ sink: PushSink, _ now: Timestamp
    ) -> [PushResult] {
        var results = pushes.map { push in
            push.token.map { token in
                ExpoPush.isToken(token)
                    ? PushResult(.refused(retryAfter: nil), error: "not sent yet")
                    : PushResult(.unregistered, error: "its push token is none of Expo's")
            } ?? PushResult(.refused(retryAfter: nil), error: "nobody told its push token")
        }
        var groups = [results.indices.filter { Self.hasExpoToken(pushes[$0]) }]
        for _ in 0..<Self.requestsMax {
            guard let group = groups.popLast(), !group.isEmpty else { break }
            let answers = ask(group.map { pushes[$0] }, sink, now)
            for (place, answer) in zip(group, answers) { results[place] = answer }
            guard Self.isBlamed(answers), group.count > 1 else {
                // One message is found, or all went out: the others may go on.
                if answers[0].status == 200 || Self.isBlamed(answers) { continue }
                break
            }
            // One message must not hold up the others: each half by itself.
            let half = group.count / 2
            groups += [Array(group[half...]), Array(group[..<half])]
        }
        return results
    }

    private static func hasExpoToken(_ push: PushPayload) -> Bool {
        push.token.map(ExpoPush.isToken) ?? false
    }

    /// True if the request was refused as a whole, for what was in it.
    private static func isBlamed(_ answers: [PushResult]) -> Bool {
        answers.first?.status.map { blamed.contains($0) } ?? false
    }

    private func ask(
        _ pushes: [PushPayload], _ sink: PushSink, _ now: Timestamp
    ) -> [PushResult] {
        do throws(HTTPCallError) {
            let answer = try askExpo(ExpoPush.sendURL(sink), ExpoPush.bytes(pushes, sink), sink)
            return PushVerdicts.evaluate(answer, to: pushes, of: sink, now: now)
        } catch {
            let result = PushVerdicts.evaluate(error, of: sink)
            return pushes.map { _ in result }
        }
    }

    // MARK: - Requests

    private func askExpo(
        _ url: String, _ body: [UInt8], _ sink: PushSink, mayBeSentTwice: Bool = false
    ) throws(HTTPCallError) -> HTTPCallAnswer {
        var call = Self.call(url, body, sink)
        call.answerBytesMax = Self.expoBytesMax
        call.mayBeSentTwice = mayBeSentTwice
        return try poster.answer(to: call, sink.authorities)
    }

    private static func call(_ url: String, _ body: [UInt8], _ sink: PushSink) -> HTTPCall {
        Poster.call(
            url, body, fields: [("Accept", "application/json")], bearer: sink.bearer)
    }
}
