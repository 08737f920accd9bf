import Foundation
import RollcallCore
import RollcallSupport

/// Hands the messages of a receiver of kind `email` to its mail server. Source: A8, A9, D1.
///
/// All recipients get a mail in one go. If one of them is refused nobody has got it, so each is tried
/// alone; those who have it are kept in mind, and a retry goes to the others only. A message is taken
/// once everybody has it.
final class MailSender {
    /// Until a mail is taken: servers let strangers wait for some seconds.
    static let timeout = Milliseconds(20_000)
    /// Messages at most of which it is kept in mind who has them.
    static let partialMax = 64

    private let library: Result<CurlLibrary, CurlMissing>
    private let timeout: Milliseconds
    private let permit: SendingPermit?
    /// Those who have a message that others have not, the latest message last.
    private var partial: [(id: String, recipients: Set<String>)] = []

    /// A sender that waits for `timeout` for each mail. Without its permit nothing goes out.
    init(
        library: Result<CurlLibrary, CurlMissing>, timeout: Milliseconds, permit: SendingPermit?
    ) {
        self.library = library
        self.timeout = timeout
        self.permit = permit
    }

    /// Sends a message to all who have not got it yet, and says what came of it. `now` is the wall's
    /// time.
    func send(
        _ message: NotificationMessage, to address: ReceiverAddress, url: String, now: Timestamp
    ) -> AttemptResult {
        let all = address.mail.recipients
        var reached = partial.first { $0.id == message.id }?.recipients ?? []
        var mail = MailCall(
            url: url, from: address.mail.from, to: all.filter { !reached.contains($0) },
            content: MailMessage.bytes(message, address.mail, now: now), timeout: timeout)
        mail.username = address.username
        mail.password = address.password?.bytes ?? []
        mail.needsTLS = address.mail.startsTLS
        mail.permit = message.needsPermit ? permit : nil
        let result =
            mail.recipients.count > 1
            ? together(mail, address, &reached) : each(mail, address, &reached)
        remember(message.id, reached, isOver: result.kind == .delivered)
        return result
    }

    // MARK: - Who has it

    /// Tries all in one go, and each alone if the server does not want one of them.
    private func together(
        _ mail: MailCall, _ address: ReceiverAddress, _ reached: inout Set<String>
    ) -> AttemptResult {
        let (result, isOfEnvelope) = attempt(mail, address)
        if isOfEnvelope { return each(mail, address, &reached) }
        if result.kind == .delivered { reached.formUnion(mail.recipients) }
        return result
    }

    /// Tries each recipient alone. One whose server is gone ends it.
    private func each(
        _ mail: MailCall, _ address: ReceiverAddress, _ reached: inout Set<String>
    ) -> AttemptResult {
        var (failed, refused): (AttemptResult?, AttemptResult?)
        var last = AttemptResult(.delivered, status: 250)
        var hasArrived = false
        for recipient in mail.recipients {
            var single = mail
            single.recipients = [recipient]
            let (result, isOfEnvelope) = attempt(single, address)
            hasArrived = hasArrived || result.mayHaveArrived
            let named = named(result, of: recipient, address.mail.recipients)
            switch result.kind {
            case .delivered:
                reached.insert(recipient)
                last = result
            case .failed: failed = failed ?? named
            case .refused: refused = refused ?? named
            }
            if result.kind != .delivered, !isOfEnvelope { break }
        }
        // What may still be taken is tried sooner.
        var result = failed ?? refused ?? last
        result.mayHaveArrived = hasArrived
        return result
    }

    /// Its error says which recipient is meant, by its place in the settings.
    private func named(
        _ result: AttemptResult, of recipient: String, _ all: [String]
    ) -> AttemptResult {
        var result = result
        guard all.count > 1, let place = all.firstIndex(of: recipient) else { return result }
        result.error = result.error.map {
            NotificationWords.clipped(
                "recipient \(place + 1) of \(all.count): \($0)",
                bytesMax: AttemptResult.errorBytesMax)
        }
        return result
    }

    private func remember(_ id: String, _ reached: Set<String>, isOver: Bool) {
        partial.removeAll { $0.id == id }
        if !isOver, !reached.isEmpty { partial.append((id, reached)) }
        if partial.count > Self.partialMax { partial.removeFirst() }
    }

    // MARK: - One mail

    private func attempt(
        _ mail: MailCall, _ address: ReceiverAddress
    ) -> (result: AttemptResult, isOfEnvelope: Bool) {
        do throws(HTTPCallError) {
            // Its connections are gone with it.
            let caller = try MailCaller(library: library, authorities: address.authorities)
            do throws(MailCallError) {
                let reply = try caller.reply(to: mail)
                return (AttemptVerdicts.evaluate(reply, of: address), reply.isOfEnvelope)
            } catch {
                return (AttemptVerdicts.evaluate(error, of: address), false)
            }
        } catch {
            return (AttemptVerdicts.evaluate(error, of: address), false)
        }
    }
}
