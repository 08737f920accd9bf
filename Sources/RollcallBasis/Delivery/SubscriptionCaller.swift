import RollcallCore
import RollcallSupport

/// Sends batches of events to one subscriber, on one thread. Source: E2; CloudEvents 1.0.2, HTTP
/// binding, "Batched Content Mode".
package final class SubscriptionCaller {
    /// "application/cloudevents-batch+json" of the JSON format.
    private static let type = "application/cloudevents-batch+json; charset=utf-8"

    private let poster: Poster

    /// A caller without connections. Without `permit` nothing goes out.
    package init(permit: SendingPermit? = nil) {
        poster = Poster(library: CurlLibrary.shared, patience: Poster.timeout, permit: permit)
    }

    /// Sends a batch under an id that stays over retries, and says what came of it. Redirects are not
    /// followed. `now` is the wall's time.
    package func send(
        _ body: [UInt8], id: String, to subscription: SubscriptionSettings, now: Timestamp
    ) -> AttemptResult {
        var address = ReceiverAddress(name: subscription.name, kind: .webhook)
        address.authorities = subscription.authorities
        let fields = SigningKey.fields(
            id: id, now: now, body: body, keys: subscription.signingKeys)
        var call = Poster.call(
            subscription.url, body, fields: fields, bearer: subscription.bearer)
        call.headers[0].value = Self.type
        do throws(HTTPCallError) {
            let answer = try poster.answer(to: call, subscription.authorities)
            let place = Destination(url: call.url)?.text ?? ""
            return AttemptVerdicts.evaluate(answer, of: address, from: place, now: now)
        } catch {
            return AttemptVerdicts.evaluate(error, of: address)
        }
    }
}
