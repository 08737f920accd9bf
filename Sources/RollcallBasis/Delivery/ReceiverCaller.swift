import Logging
import RollcallCore
import RollcallSupport

/// Delivers messages to one receiver's address, one at a time, on one thread at a time. Source: A8,
/// A9.
package final class ReceiverCaller {
    private let log: Logger
    private let poster: Poster
    private let mails: MailSender

    /// A caller without connections; `log` is where messages to receivers of kind `log` go,
    /// `patience` how long it waits for a whole answer, and `mailPatience` how long until a mail is
    /// taken. Without `permit` nothing goes out.
    package init(
        log: Logger, library: Result<CurlLibrary, CurlMissing> = CurlLibrary.shared,
        patience: Milliseconds = Poster.timeout, mailPatience: Milliseconds = MailSender.timeout,
        permit: SendingPermit? = nil
    ) {
        self.log = log
        mails = MailSender(library: library, timeout: mailPatience, permit: permit)
        poster = Poster(library: library, patience: patience, permit: permit)
    }

    /// Sends the message to the address' URL number `target` and says what came of it. `now` is the
    /// wall's time.
    ///
    /// What needs several requests is delivered when all of them are; each of those may be sent
    /// again.
    package func send(
        _ message: NotificationMessage, to address: ReceiverAddress, target: Int, now: Timestamp
    ) -> AttemptResult {
        if address.kind == .log {
            NotificationLog.write(message, to: log)
            return AttemptResult(.delivered)
        }
        guard address.urls.indices.contains(target) else {
            return AttemptResult(
                .refused, error: "the receiver has no address number \(target)",
                mayHaveArrived: false)
        }
        if address.kind == .email {
            return mails.send(message, to: address, url: address.urls[target], now: now)
        }
        var result = AttemptResult(.delivered, mayHaveArrived: false)
        var hasArrived = false
        let calls = Self.calls(message, address, url: address.urls[target], now: now)
        for (place, call) in calls.enumerated() {
            // Of those that keep incidents each member has a call of its own.
            let isEnd = address.kind.keepsIncidents && !message.alerts[place].isFiring
            result = attempt(call, address, message.needsPermit, isEnd: isEnd, now: now)
            hasArrived = hasArrived || result.mayHaveArrived
            if result.kind != .delivered { break }
        }
        result.mayHaveArrived = hasArrived
        return result
    }

    // MARK: - Requests

    /// The requests that a message needs.
    static func calls(
        _ message: NotificationMessage, _ address: ReceiverAddress, url: String, now: Timestamp
    ) -> [HTTPCall] {
        switch address.kind {
        case .alertmanager:
            let timeout = address.resolveTimeout
            return AlertmanagerBody.bodies(message, timeout: timeout, now: now).map {
                // It knows alerts by their labels: twice is once.
                Poster.call(
                    AlertmanagerBody.url(url), $0, bearer: address.bearer, mayBeSentTwice: true)
            }
        case .webhook:
            let body = WebhookBody.bytes(message)
            return [
                Poster.call(
                    url, body,
                    fields: SigningKey.fields(
                        id: id(of: message, body), now: now, body: body,
                        keys: address.signingKeys),
                    bearer: address.bearer)
            ]
        case .pagerduty:
            return message.members.map {
                Poster.call(
                    url,
                    PagerDutyEvent.bytes(
                        $0, routingKey: address.routingKey, externalURL: message.externalURL))
            }
        case .opsgenie:
            return message.members.map { alert in
                Poster.call(
                    OpsgenieAlert.url(alert, api: url), OpsgenieAlert.bytes(alert),
                    fields: OpsgenieAlert.fields(address.apiKey))
            }
        case .slack: return [Poster.call(url, SlackBody.bytes(message))]
        case .ntfy:
            guard let topic = NtfyTopic(url: url) else { return [] }
            return [
                Poster.call(
                    topic.server, NtfyBody.bytes(message, topic: topic.name),
                    fields: address.basicFields, bearer: address.bearer)
            ]
        case .email, .log: return []
        }
    }

    /// The message's id and a number made of what is sent under it: whoever knows an id has seen
    /// this body. A retry that says something else, because some of it ended meanwhile, or somebody
    /// was erased, is another message, also after a kill.
    static func id(of message: NotificationMessage, _ body: [UInt8]) -> String {
        "\(message.id)_\(NotificationPayload.hexadecimal(StableHash.of(body.span, 0..<body.count)))"
    }

    // MARK: - Answers

    private func attempt(
        _ call: HTTPCall, _ address: ReceiverAddress, _ needsPermit: Bool, isEnd: Bool,
        now: Timestamp
    ) -> AttemptResult {
        do throws(HTTPCallError) {
            let answer = try poster.answer(to: call, address.authorities, needsPermit: needsPermit)
            let place = Destination(url: call.url)?.text ?? ""
            return AttemptVerdicts.evaluate(
                answer, of: address, from: place, isEnd: isEnd, now: now)
        } catch {
            return AttemptVerdicts.evaluate(error, of: address)
        }
    }
}
