import Foundation
import RollcallCore
import Testing

@testable import RollcallBasis

/// Mails as they are sent. Source: A8; RFC 5322, RFC 2045, RFC 2047.
@Suite struct MailMessageTests {
    private static let later = NotificationSamples.time + Milliseconds(125_250)

    private static let route: MailRoute = {
        var route = MailRoute()
        route.from = "rollcall@example.org"
        route.recipients = ["duty@example.org", "lead@example.org"]
        return route
    }()

    private static func text(
        _ message: NotificationMessage, at now: Timestamp = NotificationSamples.time
    ) -> String {
        NotificationSamples.text(MailMessage.bytes(message, route, now: now))
    }

    private static func field(_ name: String, of mail: String) -> String? {
        let head = mail.prefix(upTo: mail.firstRange(of: "\r\n\r\n")?.lowerBound ?? mail.endIndex)
        let unfolded = head.replacing("\r\n ", with: " ")
        return unfolded.split(separator: "\r\n").first { $0.hasPrefix("\(name): ") }
            .map { String($0.dropFirst(name.count + 2)) }
    }

    @Test func `a mail says who, what, which incident, and that a machine wrote it`() {
        let message = NotificationSamples.message([NotificationSamples.alert()])
        let id = ReceiverCaller.id(
            of: message,
            Array(
                """
                FIRING: Nobody can be reached in north, 6 of 6 silent
                None of 6 is ONLINE.
                count: 6
                causes: 4 low_power, 2 no_network
                NoOnlineResponders · critical · since 2026-11-21T03:00:00.000Z
                Runbook: https://runbooks/a?b&c
                Rollcall: https://rollcall.example.org/v1/alerts
                """.utf8))
        // In two pieces: as one word it would cite a rule.
        let dot = "=C2=B\(7)"
        let wanted = """
            Date: Sat, 21 Nov 2026 03:00:00 +0000
            From: Rollcall <rollcall@example.org>
            To: duty@example.org,
             lead@example.org
            Subject: FIRING: Nobody can be reached in north, 6 of 6 silent
            Message-ID: <rollcall-00000000000000ab-17.\(id)@example.org>
            In-Reply-To: <rollcall-00000000000000ab-17@example.org>
            References: <rollcall-00000000000000ab-17@example.org>
            Importance: high
            Auto-Submitted: auto-generated
            MIME-Version: 1.0
            Content-Type: text/plain; charset=utf-8
            Content-Transfer-Encoding: quoted-printable

            None of 6 is ONLINE.
            count: 6
            causes: 4 low_power, 2 no_network
            NoOnlineResponders \(dot) critical \(dot) since 2026-11-21T03:00:00.000Z
            Runbook: https://runbooks/a?b&c
            Rollcall: https://rollcall.example.org/v1/alerts

            """
        #expect(Self.text(message) == wanted.replacing("\n", with: "\r\n"))
    }

    @Test func `a retry that says the same has the same id, whenever it goes out`() {
        let message = NotificationSamples.message([NotificationSamples.alert()])
        let first = Self.text(message)
        let second = Self.text(message, at: Self.later)
        #expect(Self.field("Date", of: second) == "Sat, 21 Nov 2026 03:02:05 +0000")
        #expect(Self.field("Message-ID", of: first) == Self.field("Message-ID", of: second))
        var other = message
        other.alerts[0].annotations = []
        let third = Self.text(other)
        #expect(Self.field("Message-ID", of: third) != Self.field("Message-ID", of: first))
    }

    @Test func `all mails of an incident are one thread, whatever else they tell of`() {
        let both = NotificationSamples.message([
            NotificationSamples.alert(), NotificationSamples.alert(region: "south", incident: 18),
        ])
        let over = NotificationSamples.message(
            [NotificationSamples.alert(region: "south", incident: 18, endsAt: Self.later)],
            kind: .resolved)
        let root = "<rollcall-00000000000000ab-17@example.org>"
        let other = "<rollcall-00000000000000ab-18@example.org>"
        #expect(Self.field("References", of: Self.text(both)) == "\(root) \(other)")
        #expect(Self.field("In-Reply-To", of: Self.text(both)) == root)
        #expect(Self.field("References", of: Self.text(over)) == other)
        #expect(Self.field("Importance", of: Self.text(over)) == nil)
    }

    @Test func `a key with full stops makes an id that is one`() {
        let alert = NotificationSamples.alert { $0.key = "rollcall-ab-17-.on..call." }
        let mail = Self.text(NotificationSamples.message([alert]))
        #expect(
            Self.field("References", of: mail)
                == "<rollcall-ab-17-=2Eon=2E=2Ecall=2E@example.org>")
    }

    @Test(arguments: [
        "x\r\nBcc: evil@example.org", "x\nBcc: evil@example.org", "x\rBcc: y", "\u{0}",
        "\u{85}Bcc: y", "\u{2028}Bcc: y", "=?utf-8?q?Bcc?=", String(repeating: "ü", count: 5000),
        String(repeating: "x", count: 5000), "a\u{200D}\u{1F692}", " ", ".", "..\r\n.\r\nQUIT\r\n",
    ])
    func `whatever a name holds, it leaves neither its field nor its line`(name: String) {
        let alert = NotificationSamples.alert(region: name) {
            $0.annotations = NotificationSamples.labels([
                ("summary", name), ("description", name), ("runbook_url", name),
            ])
            $0.details = NotificationSamples.labels([("count", name), (name, "1")])
        }
        let mail = Self.text(NotificationSamples.message([alert, alert]))
        #expect(mail.utf8.allSatisfy { $0 < 0x80 })
        let lines = Array(mail.utf8).split(separator: 0x0A, omittingEmptySubsequences: false)
        #expect(lines.dropLast().allSatisfy { $0.last == 0x0D && !$0.dropLast().contains(0x0D) })
        #expect(lines.allSatisfy { $0.count <= 200 })
        let head = mail.components(separatedBy: "\r\n\r\n")[0].replacing("\r\n ", with: " ")
        #expect(
            head.components(separatedBy: "\r\n").map { $0.prefix { $0 != ":" } } == [
                "Date", "From", "To", "Subject", "Message-ID", "In-Reply-To", "References",
                "Importance", "Auto-Submitted", "MIME-Version", "Content-Type",
                "Content-Transfer-Encoding",
            ])
    }

    @Test(arguments: [
        ("plain", "plain"), ("", ""), ("a =?x", "=?utf-8?B?YSA9P3g=?="),
        (" a", "=?utf-8?B?IGE=?="), ("ü", "=?utf-8?B?w7w=?="),
        (
            String(repeating: "ü", count: 20),
            "=?utf-8?B?\(Data(String(repeating: "ü", count: 19).utf8).base64EncodedString())?=\r\n "
                + "=?utf-8?B?w7w=?="
        ),
    ])
    func `a subject beyond ASCII is encoded, no character in two words`(
        text: String, sent: String
    ) {
        #expect(EncodedWords.text(text, after: 9) == sent)
    }

    @Test(arguments: [
        ("a b\n", "a b\r\n\r\n"), ("a ", "a=20\r\n"), ("=", "=3D\r\n"), ("\t", "=09\r\n"),
        (String(repeating: "x", count: 75), String(repeating: "x", count: 75) + "\r\n"),
        (String(repeating: "x", count: 76), String(repeating: "x", count: 75) + "=\r\nx\r\n"),
        (
            String(repeating: "x", count: 74) + "ü",
            String(repeating: "x", count: 74) + "=\r\n=C3=BC\r\n"
        ),
    ])
    func `a text is lines of at most 76 characters of ASCII`(text: String, sent: String) {
        #expect(NotificationSamples.text(QuotedPrintable.bytes(text)) == sent)
    }

    @Test(arguments: [
        ("duty@example.org", true), ("o'brien+x@mail-1.example.org", true),
        ("root@localhost", true),
        ("", false), ("@", false), ("a@", false), ("@b", false), ("a", false), ("a..b@c", false),
        (".a@c", false), ("a@c.", false), ("a b@c", false), ("a@b c", false), ("a@b\r\nx", false),
        ("a\u{0}@b", false), ("Kim <kim@c>", false), ("\"a\"@c", false), ("a@b@c", false),
        ("ü@c", false), ("a@[::1]", false), ("a@\(String(repeating: "x", count: 253))", false),
    ])
    func `an address is one word of ASCII`(text: String, isAddress: Bool) {
        #expect(MailRoute.isAddress(text) == isAddress)
    }

    @Test(arguments: [
        (0, "Thu, 01 Jan 1970 00:00:00 +0000"),
        (951_782_400_000, "Tue, 29 Feb 2000 00:00:00 +0000"),
        (1_795_230_000_999, "Sat, 21 Nov 2026 03:00:00 +0000"),
    ])
    func `a date is that of RFC 5322`(milliseconds: Int64, text: String) {
        #expect(MailMessage.date(Timestamp(milliseconds: milliseconds)) == text)
    }

    @Test(arguments: [
        (250, OutboxVerdict.delivered), (421, .failed), (450, .failed), (451, .failed),
        (452, .failed), (550, .refused), (552, .refused), (535, .refused), (354, .failed),
    ])
    func `a reply of a mail server decides as its first digit says`(
        code: Int, kind: OutboxVerdict
    ) throws {
        let address = try NotificationSamples.address(.email, ["smtp://mail.example.org:587"]) {
            $0.username = "rollcall-user"
            $0.password = try NotificationSamples.secret("p4ssword")
            $0.mail = Self.route
        }
        let words = "no p4ssword for rollcall-user, AHJvbGxjYWxsLXVzZXIAcDRzc3dvcmQ=, \r\n<x>"
        let result = AttemptVerdicts.evaluate(MailReply(code: code, words: words), of: address)
        #expect(result.kind == kind && result.status == code)
        #expect(
            result.error
                == (kind == .delivered
                    ? nil
                    : "smtp://mail.example.org:587: answered \(code): no <secret> for <secret>, "
                        + "<secret>,   <x>"))
    }
}
