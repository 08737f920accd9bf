import Foundation
import RollcallCore
import RollcallSupport

/// The verdicts on answers, or on there being none. Source: A9.
///
/// | | |
/// |---|---|
/// | 2xx (of Slack with the body `ok`, of ntfy with the message, of Opsgenie with a request's id) | delivered |
/// | 250 of a mail server to the text | delivered |
/// | 4xx of a mail server | failed |
/// | 408, 425, 429, 5xx, no connection, no whole answer | failed |
/// | 404 of Opsgenie to the end of what it does not know | delivered |
/// | everything else, redirects too; what cannot be sent at all | refused |
enum AttemptVerdicts {
    /// Bytes of a receiver's own words at most.
    static let wordsMax = 200

    /// Returns what an answer means; `place` is the part of the URL that may be shown, and `isEnd`
    /// tells that it answers the end of an incident.
    static func evaluate(
        _ answer: HTTPCallAnswer, of address: ReceiverAddress, from place: String,
        isEnd: Bool = false, now: Timestamp
    ) -> AttemptResult {
        let status = answer.status
        let kind = kind(of: status)
        let words = words(in: answer, of: address)
        // It says so itself, and not whoever else has no such page.
        if status == 404, isEnd, address.kind == .opsgenie, !words.isEmpty {
            return AttemptResult(.delivered, status: status)
        }
        if kind == .delivered {
            // A proxy's login page is a 200 as well.
            if isTaken(answer, words, address.kind) {
                return AttemptResult(.delivered, status: status)
            }
            return AttemptResult(
                .refused, status: status,
                error: error(
                    place, status,
                    "its answer is not \(address.kind == .slack ? "ok" : "that of \(address.kind.word)")"
                        + (words.isEmpty ? "" : ": \(words)")))
        }
        return AttemptResult(
            kind, status: status, error: error(place, status, words),
            retryAfter: kind == .failed ? RetryAfter.span(of: answer, now: now) : nil)
    }

    /// Returns what it means that no whole answer came.
    static func evaluate(_ error: HTTPCallError, of address: ReceiverAddress) -> AttemptResult {
        let text = NotificationWords.clipped("\(error)", bytesMax: AttemptResult.errorBytesMax)
        // The status line says it all, and nothing of the rest is used: but the word of some.
        if let status = error.status,
            !saysItself(address.kind) || kind(of: status) != .delivered
        {
            let kind = kind(of: status)
            return AttemptResult(kind, status: status, error: kind == .delivered ? nil : text)
        }
        let kind: OutboxVerdict =
            switch error.cause {
            case .noLibrary, .wrongURL, .wrongField, .unusableAuthorities, .banned: .refused
            default: .failed
            }
        return AttemptResult(
            kind, status: error.status, error: text, mayHaveArrived: error.mayHaveArrived)
    }

    /// True of kinds whose answer says in its body that they took it.
    private static func saysItself(_ kind: ReceiverKind) -> Bool {
        kind == .slack || kind == .ntfy || kind == .opsgenie
    }

    private static func isTaken(
        _ answer: HTTPCallAnswer, _ words: String, _ kind: ReceiverKind
    ) -> Bool {
        switch kind {
        case .slack: words == "ok"
        case .ntfy:
            (try? JSONDecoder().decode(Published.self, from: Data(answer.body)))?.event == "message"
        case .opsgenie:
            (try? JSONDecoder().decode(Accepted.self, from: Data(answer.body)))?.requestId
                .isEmpty == false
        default: true
        }
    }

    private static func kind(of status: Int) -> OutboxVerdict {
        switch status {
        case 200...299: .delivered
        case 408, 425, 429, 500...599: .failed
        default: .refused
        }
    }

    // MARK: - Mail servers

    /// Returns what a mail server's reply means. Source: RFC 5321 §4.2.1.
    static func evaluate(_ reply: MailReply, of address: ReceiverAddress) -> AttemptResult {
        let kind: OutboxVerdict =
            switch reply.code {
            case 200...299: .delivered
            case 500...599: .refused
            default: .failed
            }
        let words = words(of: reply, address)
        let text =
            "\(address.destinations.first ?? ""): answered \(reply.code)"
            + (words.isEmpty ? "" : ": \(words)")
        return AttemptResult(
            kind, status: reply.code, error: kind == .delivered ? nil : text,
            mayHaveArrived: reply.mayHaveArrived)
    }

    /// Returns what it means that no reply decided about a mail.
    static func evaluate(_ failure: MailCallError, of address: ReceiverAddress) -> AttemptResult {
        var result = evaluate(failure.error, of: address)
        if let last = failure.lastReply, let error = result.error {
            let words = words(of: last, address)
            result.error = NotificationWords.clipped(
                "\(error); its last reply: \(last.code) \(words)",
                bytesMax: AttemptResult.errorBytesMax)
        }
        return result
    }

    private static func words(of reply: MailReply, _ address: ReceiverAddress) -> String {
        let line = AnswerWords.oneLine(reply.words).trimmingCharacters(in: .whitespaces)
        return NotificationWords.clipped(hidden(line, address), bytesMax: wordsMax)
    }

    private static func error(_ place: String, _ status: Int, _ words: String) -> String {
        NotificationWords.clipped(
            AnswerWords.answered(place, status, words.isEmpty ? nil : words),
            bytesMax: AttemptResult.errorBytesMax)
    }

    // MARK: - The receiver's own words

    /// Returns the reason in the receiver's words, where its kind has a place for them. Nothing of
    /// a page of whoever stands in between.
    private static func words(
        in answer: HTTPCallAnswer, of address: ReceiverAddress
    ) -> String {
        let body = Data(answer.body)
        var text = ""
        switch address.kind {
        case .alertmanager:
            // "lists errors as a JSON string", or in an object.
            if let said = try? JSONDecoder().decode(String.self, from: body) { text = said }
            if let said = try? JSONDecoder().decode(Said.self, from: body) { text = said.text }
        case .pagerduty:
            if let said = try? JSONDecoder().decode(Said.self, from: body) { text = said.text }
        case .opsgenie:
            text = (try? JSONDecoder().decode(Message.self, from: body))?.message ?? ""
            if let faults = try? JSONDecoder().decode(Faults.self, from: body) {
                text += faults.errors.sorted { $0.key < $1.key }.map { "; \($0.value)" }.joined()
            }
        case .slack:
            text = String(decoding: answer.body.prefix(wordsMax * 2), as: UTF8.self)
            // Slack sends its words as text/html, too: a page is what has tags.
            let isHTML = answer.contentType?.lowercased().hasPrefix("text/html") ?? false
            if isHTML, text.contains("<") { text = "" }
        case .ntfy:
            if let said = try? JSONDecoder().decode(Refusal.self, from: body) { text = said.error }
        case .webhook, .email, .log: break
        }
        let line = AnswerWords.oneLine(text).trimmingCharacters(in: .whitespaces)
        return NotificationWords.clipped(hidden(line, address), bytesMax: wordsMax)
    }

    /// `{"message": …, "errors": […]}`.
    private struct Said: Decodable {
        var message: String
        var errors: [String]?

        var text: String { ([message] + (errors ?? [])).joined(separator: "; ") }
    }

    /// `{"message": …, "took": …, "requestId": …}`.
    private struct Message: Decodable {
        var message: String
    }

    /// `{"errors": {"message": "Message can not be empty."}}`.
    private struct Faults: Decodable {
        var errors: [String: String]
    }

    /// `{"code": 40301, "http": 403, "error": "forbidden", …}`.
    private struct Refusal: Decodable {
        var error: String
    }

    /// `{"id": …, "event": "message", …}`: ntfy answers with the message as it keeps it.
    private struct Published: Decodable {
        var event: String
    }

    /// `{"result": …, "requestId": "…"}`: Opsgenie takes a request under an id.
    private struct Accepted: Decodable {
        var requestId: String
    }

    /// `text` without what must not be shown: some servers repeat what they were sent.
    static func hidden(_ text: String, _ address: ReceiverAddress) -> String {
        secrets(of: address).reduce(text) { text, secret in
            secret.utf8.count < AnswerWords.secretMin
                ? text : text.replacingOccurrences(of: secret, with: "<secret>")
        }
    }

    /// Whatever of an address may be secret, the longest first.
    private static func secrets(of address: ReceiverAddress) -> [String] {
        let keys = [address.incidentsKey, address.bearer, address.password]
        var secrets = keys.compactMap { secret in
            secret.map { String(decoding: $0.bytes, as: UTF8.self) }
        }
        if !address.username.isEmpty {
            secrets += [address.username, address.basicCredentials]
            secrets += address.saslWords
        }
        secrets += [address.mail.from] + address.mail.recipients
        for url in address.urls {
            guard let colon = url.firstRange(of: "://") else { continue }
            let rest = url[colon.upperBound...]
            let authority = rest.prefix { !"/?#\\".contains($0) }
            if let end = authority.lastIndex(of: "@") {
                let user = authority[..<end]
                secrets.append(String(user))
                secrets += user.split(separator: ":").map(String.init)
            }
            let path = rest.dropFirst(authority.count)
            secrets.append(String(path))
            secrets += path.split { "/?#&=".contains($0) }.map(String.init)
        }
        return secrets.sorted { $0.utf8.count > $1.utf8.count }
    }
}
