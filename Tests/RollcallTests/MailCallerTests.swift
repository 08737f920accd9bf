import Glibc
import Logging
import RollcallCore
import Synchronization
import Testing

@testable import RollcallBasis
@testable import RollcallSupport

/// Mails and a mail server on this machine that has no TLS. With TLS, and against real servers, they
/// are tried in the acceptance tests. Source: A8, A9, D1, RFC 5321.
@Suite struct MailCallerTests {
    private static let content = "Subject: x\r\n\r\n.\r\n..\r\nend\r\n"

    private static func call(
        _ port: Int, to recipients: [String] = ["a@example.org"]
    ) -> MailCall {
        var call = MailCall(
            url: "smtp://127.0.0.1:\(port)", from: "rollcall@example.org", to: recipients,
            content: Array(content.utf8), timeout: Milliseconds(5000))
        call.needsTLS = false
        return call
    }

    private static func reply(
        to call: MailCall, library: Result<CurlLibrary, CurlMissing> = CurlLibrary.shared,
        authorities: Authorities = Authorities()
    ) throws -> MailReply {
        try MailCaller(library: library, authorities: authorities).reply(to: call)
    }

    /// Greets, and answers EHLO and each command that follows; returns what was said.
    private static func talk(
        _ connection: BadServer.Connection, _ replies: [String]
    ) -> [String] {
        connection.send("220 mail.test\r\n")
        var heard = [connection.text() ?? ""]
        connection.send("250 mail.test\r\n")
        for reply in replies {
            let end = heard.last?.hasPrefix("DATA") == true ? "\r\n.\r\n" : "\r\n"
            guard let said = connection.text(upTo: end) else { break }
            heard.append(said)
            connection.send(reply + "\r\n")
        }
        return heard
    }

    /// Plays to one connection after the other; the replies, or the errors, and what each heard.
    private static func outcome(
        _ replies: [String], _ change: @Sendable (inout MailCall) -> Void = { _ in }
    ) -> (reply: MailReply?, error: HTTPCallError?, heard: [String]) {
        let server = BadServer()
        let heard = Mutex<[String]>([])
        let found = Mutex<(MailReply?, HTTPCallError?)>((nil, nil))
        server.serve { connection in
            let said = Self.talk(connection, replies)
            heard.withLock { $0 = said }
        } while: {
            var call = Self.call(server.port)
            change(&call)
            do {
                let reply = try Self.reply(to: call)
                found.withLock { $0.0 = reply }
            } catch {
                let failure = (error as? MailCallError)?.error
                found.withLock { $0.1 = failure }
            }
        }
        let (reply, error) = found.withLock { $0 }
        return (reply, error, heard.withLock { $0 })
    }

    @Test func `a mail arrives as it is, full stops at the beginning of lines too`() {
        let (reply, _, heard) = Self.outcome(["250 OK", "250 OK", "354 go", "250 taken as 17"])
        #expect(reply?.code == 250 && reply?.words == "taken as 17")
        #expect(heard.count == 5)
        #expect(heard[1].hasPrefix("MAIL FROM:<rollcall@example.org>"))
        #expect(heard[2] == "RCPT TO:<a@example.org>\r\n" && heard[3] == "DATA\r\n")
        #expect(heard[4] == "Subject: x\r\n\r\n..\r\n...\r\nend\r\n.\r\n")
    }

    @Test(arguments: [
        (["550 no", ""], 550, true, false), (["250 OK", "451 later"], 451, true, false),
        (["250 OK", "250 OK", "554 no text"], 554, true, false),
        (["250 OK", "250 OK", "354 go", "552-too\r\n552 large"], 552, false, true),
    ])
    func `a reply tells what it is about, and whether the text went out`(
        replies: [String], code: Int, isOfEnvelope: Bool, hasArrived: Bool
    ) {
        let (reply, _, _) = Self.outcome(replies)
        #expect(reply?.code == code && reply?.isOfEnvelope == isOfEnvelope)
        #expect(reply?.mayHaveArrived == hasArrived)
        if code == 552 { #expect(reply?.words == "too large") }
    }

    @Test(arguments: [
        ([], false), (["250 OK"], false), (["250 OK", "250 OK", "354 go"], true),
    ])
    func `a connection that ends says nothing, but whether the text went out`(
        replies: [String], mayHaveArrived: Bool
    ) {
        let (reply, error, _) = Self.outcome(replies)
        #expect(reply == nil && error?.cause == .cutOff)
        #expect(error?.mayHaveArrived == mayHaveArrived)
    }

    @Test func `S6: without a permit a mail does not go out, though the connection stands`() {
        let (reply, error, heard) = Self.outcome(["250 OK", "250 OK", "354 go", "250 OK"]) {
            let permit = SendingPermit()
            permit.follow(ClockReading.now().elapsed - 1)
            $0.permit = permit
        }
        #expect(reply == nil && error?.cause == .notPermitted && error?.mayHaveArrived == false)
        #expect(!heard.contains { $0.hasPrefix("MAIL") })
    }

    @Test func `to a server without TLS nothing is said`() {
        let (reply, error, heard) = Self.outcome(["250 OK"]) { $0.needsTLS = true }
        #expect(reply == nil && error?.cause == .noSTARTTLS && error?.mayHaveArrived == false)
        #expect(!heard.contains { $0.hasPrefix("MAIL") })
    }

    @Test func `what cannot be sent at all says why`() {
        let address = NotificationSamples.address(
            .email, ["smtp://127.0.0.1:\(BadServer.closedPort())"]
        ) {
            $0.mail.from = "rollcall@example.org"
            $0.mail.recipients = ["a@example.org"]
            $0.mail.startsTLS = false
        }
        func send(_ library: Result<CurlLibrary, CurlMissing> = CurlLibrary.shared)
            -> AttemptResult
        {
            ReceiverCaller(log: Logger(label: "test"), library: library).send(
                NotificationSamples.message([NotificationSamples.alert()]), to: address, target: 0,
                now: NotificationSamples.time)
        }
        let away = send()
        #expect(away.kind == .failed && !away.mayHaveArrived)
        #expect(away.error == "\(address.urls[0]): cannot be connected to: Connection refused")
        let missing = Result { () throws(CurlMissing) in
            try CurlLibrary(names: ["libnobody-has-this.so.4"])
        }
        #expect(send(missing).kind == .refused)
    }

    @Test func `D1: who has a mail does not get it again while another is missing`() {
        let server = BadServer()
        let heard = Mutex<[String]>([])
        var address = NotificationSamples.address(.email)
        address.mail.startsTLS = false
        address.urls = ["smtp://127.0.0.1:\(server.port)"]
        address.mail.from = "rollcall@example.org"
        address.mail.recipients = ["a@example.org", "b@example.org"]
        let results = Mutex<[AttemptResult]>([])
        // Both at once, each alone, and the one that is missing.
        server.serve(4) { connection in
            connection.send("220 mail.test\r\n")
            while let line = connection.text() {
                if line.hasPrefix("RCPT") { heard.withLock { $0.append(line) } }
                let isEarly = heard.withLock { $0.count } < 5
                if line.hasPrefix("RCPT TO:<b@"), isEarly {
                    connection.send("550 who?\r\n")
                } else if line.hasPrefix("DATA") {
                    connection.send("354 go\r\n")
                    _ = connection.text(upTo: "\r\n.\r\n")
                    connection.send("250 OK\r\n")
                } else if line.hasPrefix("QUIT") {
                    connection.send("221 bye\r\n")
                } else {
                    connection.send("250 OK\r\n")
                }
            }
        } while: {
            let caller = ReceiverCaller(log: Logger(label: "test"))
            let message = NotificationSamples.message([NotificationSamples.alert()])
            for _ in 0..<2 {
                let result = caller.send(
                    message, to: address, target: 0, now: NotificationSamples.time)
                results.withLock { $0.append(result) }
            }
        }
        let told = results.withLock { $0 }
        #expect(told.map(\.kind) == [.refused, .delivered])
        #expect(told[0].error == "recipient 2 of 2: \(address.urls[0]): answered 550: who?")
        let asked = heard.withLock { $0 }.map { $0.contains("<a@") ? "a" : "b" }
        #expect(asked == ["a", "b", "a", "b", "b"])
    }
}
