import RollcallCore
import RollcallSupport

/// A message as a mail: head and text as RFC 5322 and RFC 2045 want them. Source: A8.
///
/// All mails of an incident are a thread: they refer to one id that is made of its key, and that no
/// mail has. The id of a mail is made of what it says, so that a retry that says the same has the
/// same.
enum MailMessage {
    /// Bytes of a subject at most, before it is encoded.
    static let subjectMax = 250
    /// Bytes of a text at most, before it is encoded.
    static let textMax = 64 << 10
    /// Incidents at most that a mail refers to.
    static let referencesMax = 20
    /// "Each line of characters MUST be no more than 998 characters, and SHOULD be no more than 78".
    static let lineMax = 76

    /// The bytes, with CR LF at each line's end; `now` is the wall's time.
    static func bytes(
        _ message: NotificationMessage, _ route: MailRoute, now: Timestamp
    ) -> [UInt8] {
        let subject = ChannelText.title(message, bytesMax: subjectMax)
        let text = ChannelText.body(message, bytesMax: textMax)
        let said = ReceiverCaller.id(of: message, Array("\(subject)\n\(text)".utf8))
        let key = message.members.first.map { atom($0.key) } ?? "rollcall"
        let roots = message.members.prefix(referencesMax).map {
            "<\(atom($0.key))@\(route.domain)>"
        }
        var head = [
            "Date: \(date(now))",
            "From: Rollcall <\(route.from)>",
            "To: \(route.recipients.joined(separator: ",\r\n "))",
            "Subject: \(EncodedWords.text(subject, after: "Subject: ".utf8.count))",
            "Message-ID: <\(key).\(atom(said))@\(route.domain)>",
        ]
        if let root = roots.first {
            head.append("In-Reply-To: \(root)")
            head.append("References: \(roots.joined(separator: "\r\n "))")
        }
        let firing = message.members.filter(\.isFiring)
        if firing.contains(where: { $0.label("severity") == "critical" }) {
            head.append("Importance: high")
        }
        head += [
            // No answering machine answers.
            "Auto-Submitted: auto-generated",
            "MIME-Version: 1.0",
            "Content-Type: text/plain; charset=utf-8",
            "Content-Transfer-Encoding: quoted-printable",
        ]
        let lines = head.joined(separator: "\r\n") + "\r\n\r\n"
        return Array(lines.utf8) + QuotedPrintable.bytes(text)
    }

    /// `text` as a part of an id: a full stop must not stand beside another one there, and a key may
    /// hold any number of them.
    private static func atom(_ text: String) -> String {
        text.utf8.reduce(into: "") { result, byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
                result.unicodeScalars.append(Unicode.Scalar(byte))
            default:
                let digits = String(byte, radix: 16, uppercase: true)
                result += "=" + (digits.count == 1 ? "0" : "") + digits
            }
        }
    }

    /// `Sat, 21 Nov 2026 03:00:00 +0000`.
    static func date(_ time: Timestamp) -> String {
        let text = Array(RFC3339.string(time))
        // The first day of 1970 was a Thursday.
        let days = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"]
        let day = days[Int(max(0, time.milliseconds) / 86_400_000 % 7)]
        let month = Int(String(text[5..<7])).map { RetryAfter.months[$0 - 1] } ?? ""
        return "\(day), \(String(text[8..<10])) \(month) \(String(text[0..<4])) "
            + "\(String(text[11..<19])) +0000"
    }
}
