import Glibc
import Logging
import RollcallCore
import Synchronization
import Testing

@testable import RollcallBasis
@testable import RollcallSupport

/// Whole ways: a message, a server on this machine, and what came of it.
@Suite struct ReceiverCallerTests {
    private static let message = NotificationSamples.message([NotificationSamples.alert()])

    private static func send(
        _ message: NotificationMessage = Self.message, to address: ReceiverAddress, target: Int = 0,
        library: Result<CurlLibrary, CurlMissing> = CurlLibrary.shared
    ) -> AttemptResult {
        ReceiverCaller(log: Logger(label: "test"), library: library)
            .send(message, to: address, target: target, now: NotificationSamples.time)
    }

    /// Sends once to a server that answers `answer`; what came of it, and the request it saw.
    private static func exchange(
        _ address: ReceiverAddress, path: String = "/", answer: String
    ) -> (result: AttemptResult, request: String) {
        let server = BadServer()
        let seen = Mutex("")
        let outcome = Mutex(AttemptResult(.refused))
        server.serve { connection in
            let request = connection.request() ?? ""
            seen.withLock { $0 = request }
            connection.send(answer)
        } while: {
            var address = address
            address.urls = ["http://127.0.0.1:\(server.port)\(path)"]
            let result = Self.send(to: address)
            outcome.withLock { $0 = result }
        }
        var result = outcome.withLock { $0 }
        result.error = result.error?.replacingOccurrences(of: "\(server.port)", with: "PORT")
        return (result, seen.withLock { $0 })
    }

    private static func answer(
        _ status: String, _ body: String = "", fields: String = ""
    ) -> String {
        "HTTP/1.1 \(status)\r\nContent-Length: \(body.utf8.count)\r\n\(fields)\r\n\(body)"
    }

    // MARK: - Requests

    @Test func `a webhook's request is signed over the body that it carries`() throws {
        let key = try #require(
            SigningKey(
                try NotificationSamples.secret("whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=")
            ))
        let address = try NotificationSamples.address(.webhook) {
            $0.signingKeys = [key]
            $0.bearer = try NotificationSamples.secret("t0ken")
        }
        let (result, request) = Self.exchange(
            address, path: "/hooks/a?b=c", answer: Self.answer("200 OK"))
        #expect(result == AttemptResult(.delivered, status: 200))
        let parts = request.split(separator: "\r\n\r\n", maxSplits: 1)
        let lines = parts[0].split(separator: "\r\n")
        let body = WebhookBody.bytes(Self.message)
        #expect(parts[1] == NotificationSamples.text(body))
        #expect(lines[0] == "POST /hooks/a?b=c HTTP/1.1")
        let signature = key.signature(
            id: ReceiverCaller.id(of: Self.message, body),
            seconds: NotificationSamples.time.milliseconds / 1000, body: body)
        for line in [
            "Content-Type: application/json",
            "webhook-id: \(ReceiverCaller.id(of: Self.message, body))",
            "webhook-timestamp: 1795230000", "webhook-signature: \(signature)",
            "Authorization: Bearer t0ken",
        ] { #expect(lines.contains { $0 == line }, "\(line)") }
    }

    @Test func `A9: what is sent under one id is one body, also after another process sent it`() {
        let key = Self.message
        let body = WebhookBody.bytes(key)
        #expect(ReceiverCaller.id(of: key, body) == ReceiverCaller.id(of: key, body))
        #expect(ReceiverCaller.id(of: key, body).hasPrefix("msg_00000000000000ab_5_"))
        var others: [NotificationMessage] = []
        // One of several is over, or erased, or more fire beside it.
        for change in [
            { $0.alerts = [NotificationSamples.alert(region: "south", incident: 18)] },
            { $0.alerts[0].annotations = [] }, { $0.contextMore = 3 },
            {
                $0.alerts[0].endsAt = NotificationSamples.time; $0.alerts[0].isFiring = false
            },
        ] as [(inout NotificationMessage) -> Void] {
            var message = key
            change(&message)
            others.append(message)
        }
        let ids = (others + [key]).map { ReceiverCaller.id(of: $0, WebhookBody.bytes($0)) }
        #expect(Set(ids).count == 5)
    }

    @Test func `an alertmanager gets what is its own at its own path`() {
        let (result, request) = Self.exchange(
            NotificationSamples.address(.alertmanager), path: "/am/", answer: Self.answer("200 OK"))
        #expect(result == AttemptResult(.delivered, status: 200))
        #expect(request.hasPrefix("POST /am/api/v2/alerts HTTP/1.1\r\n"))
        #expect(request.contains("\r\n\r\n[{\"labels\":{\"alertname\":"))
    }

    @Test func `pagerduty gets an event for each alert, on a connection of its own`() throws {
        let server = BadServer()
        let seen = Mutex<[String]>([])
        let address = try NotificationSamples.address(
            .pagerduty, ["http://127.0.0.1:\(server.port)/v2/enqueue"]
        ) { $0.routingKey = try NotificationSamples.secret("R0UT1NG") }
        let message = NotificationSamples.message([
            NotificationSamples.alert(), NotificationSamples.alert(region: "south", incident: 18),
        ])
        server.serve(2) { connection in
            let request = connection.request() ?? ""
            seen.withLock { $0.append(request) }
            connection.send(Self.answer("202 Accepted", "{}"))
        } while: {
            #expect(Self.send(message, to: address) == AttemptResult(.delivered, status: 202))
        }
        let keys = seen.withLock { $0 }.map { $0.contains("-17\"") ? 17 : 18 }
        #expect(keys == [17, 18] && server.count == 2)
    }

    @Test func `the log always takes what it gets`() {
        #expect(Self.send(to: NotificationSamples.address(.log)) == AttemptResult(.delivered))
    }

    // MARK: - Answers

    @Test(arguments: [
        ("200 OK", OutboxVerdict.delivered), ("204 No Content", .delivered),
        ("301 Moved", .refused), ("304 Not Modified", .refused), ("400 Bad Request", .refused),
        ("404 Not Found", .refused), ("408 Request Timeout", .failed), ("410 Gone", .refused),
        ("425 Too Early", .failed), ("429 Too Many Requests", .failed),
        ("500 Internal Server Error", .failed), ("503 Service Unavailable", .failed),
    ])
    func `a status decides what comes next`(status: String, kind: OutboxVerdict) {
        let (result, _) = Self.exchange(
            NotificationSamples.address(.webhook), path: "/t0psecret",
            answer: Self.answer(status, "go to /t0psecret"))
        let code = String(status.prefix(3))
        let hint = code.hasPrefix("3") ? ": redirects are not followed" : ""
        #expect(
            result
                == AttemptResult(
                    kind, status: Int(code),
                    error: kind == .delivered
                        ? nil : "http://127.0.0.1:PORT: answered \(code)\(hint)"))
    }

    @Test(
        arguments: [
            ("7", 7000), ("0", 0), ("300", 300_000), ("301", 300_000),
            ("99999999999999999999", 300_000), ("Sat, 21 Nov 2026 03:00:30 GMT", 30_000),
            ("Saturday, 21-Nov-26 03:00:30 GMT", 30_000), ("Sat Nov 21 03:00:30 2026", 30_000),
            ("Sat, 21 Nov 2026 02:00:00 GMT", 0), ("Sun, 22 Nov 2026 03:00:00 GMT", 300_000),
            ("-1", nil), ("soon", nil), ("", nil), ("7 s", nil),
        ] as [(String, Int64?)])
    func `a receiver says how long it wants to be left alone`(text: String, span: Int64?) {
        let read = RetryAfter.span(text, now: NotificationSamples.time)
        #expect(read == span.map { Milliseconds($0) })
    }

    @Test func `D2: Retry-After is heeded with all that may be tried again, and only with that`() {
        let wish = Milliseconds(7000)
        for (status, expected) in [
            ("408 Timeout", wish), ("425 Early", wish), ("429 Slow", wish), ("500 Broken", wish),
            ("502 Gateway", wish), ("503 Busy", wish), ("599 Other", wish), ("403 No", nil),
            ("404 Gone", nil), ("301 Moved", nil),
        ] as [(String, Milliseconds?)] {
            let (result, _) = Self.exchange(
                NotificationSamples.address(.slack),
                answer: Self.answer(status, fields: "Retry-After: 7\r\n"))
            #expect(result.retryAfter == expected)
        }
    }

    @Test func `slack's own word is ok, and nothing else is`() {
        let good = Self.exchange(
            NotificationSamples.address(.slack), answer: Self.answer("200 OK", "ok\n"))
        #expect(good.result == AttemptResult(.delivered, status: 200))
        let bad = Self.exchange(
            NotificationSamples.address(.slack), answer: Self.answer("200 OK", "hello"))
        #expect(
            bad.result
                == AttemptResult(
                    .refused, status: 200,
                    error: "http://127.0.0.1:PORT: answered 200: its answer is not ok: hello"))
        let page = Self.exchange(
            NotificationSamples.address(.slack),
            answer: Self.answer(
                "403 No", "<html>log in</html>", fields: "Content-Type: text/html\r\n"))
        #expect(page.result.error == "http://127.0.0.1:PORT: answered 403")
    }

    @Test func `slack says ok as text/html, and why not, and a page that says 200 is no ok`() {
        let html = "Content-Type: text/html; charset=utf-8\r\n"
        let slack = NotificationSamples.address(.slack)
        let good = Self.exchange(slack, answer: Self.answer("200 OK", "ok", fields: html))
        #expect(good.result == AttemptResult(.delivered, status: 200))
        let bad = Self.exchange(
            slack, answer: Self.answer("404 Not Found", "no_service", fields: html))
        #expect(bad.result.error == "http://127.0.0.1:PORT: answered 404: no_service")
        let page = Self.exchange(
            slack, answer: Self.answer("200 OK", "<html>log in</html>", fields: html))
        #expect(page.result.kind == .refused)
    }

    @Test func `ntfy gets JSON at its root, and took it if it answers with the message`() throws {
        let address = try NotificationSamples.address(.ntfy) {
            $0.username = "phil"
            $0.password = try NotificationSamples.secret("mypass-mypass")
        }
        let message = #"{"id":"hwQ2YpKdmg","event":"message","topic":"t0pic-t0pic"}"#
        let (result, request) = Self.exchange(
            address, path: "/ntfy/t0pic-t0pic", answer: Self.answer("200 OK", message))
        #expect(result == AttemptResult(.delivered, status: 200))
        #expect(request.hasPrefix("POST /ntfy/ HTTP/1.1\r\n"))
        #expect(request.contains("\r\nAuthorization: Basic cGhpbDpteXBhc3MtbXlwYXNz\r\n"))
        #expect(
            request.contains(
                "\r\n\r\n{\"topic\":\"t0pic-t0pic\",\"title\":\"FIRING: Nobody can be reached in north"
            ))
        for (status, body, kind, words) in [
            ("200 OK", "<html>log in</html>", .refused, ": its answer is not that of ntfy"),
            (
                "403 Forbidden",
                #"{"code":40301,"http":403,"error":"no cGhpbDpteXBhc3MtbXlwYXNz in t0pic-t0pic"}"#,
                .refused, ": no <secret> in <secret>"
            ),
            ("507 Insufficient Storage", "", .failed, ""),
            (
                "429 Too Many Requests", #"{"code":42901,"http":429,"error":"limit reached"}"#,
                .failed, ": limit reached"
            ),
        ] as [(String, String, OutboxVerdict, String)] {
            let (result, _) = Self.exchange(
                address, path: "/t0pic-t0pic", answer: Self.answer(status, body))
            #expect(result.kind == kind)
            #expect(
                result.error == "http://127.0.0.1:PORT: answered \(status.prefix(3))\(words)")
        }
    }

    @Test(arguments: [
        (
            ReceiverKind.alertmanager, "\"start time must be before end time\"",
            "start time must be before end time"
        ),
        (.alertmanager, "{\"code\":602,\"message\":\"labels is required\"}", "labels is required"),
        (
            .pagerduty,
            "{\"status\":\"invalid event\",\"message\":\"Event object is invalid\","
                + "\"errors\":[\"key R0UT1NG-KEY is not known\"]}",
            "Event object is invalid; key <secret> is not known"
        ),
        (.slack, "invalid_token T0KEN-T0KEN\r\nX: y", "invalid_token <secret>  X: y"),
    ])
    func `a receiver's words are told without a secret in them`(
        kind: ReceiverKind, body: String, words: String
    ) throws {
        let address = try NotificationSamples.address(kind) {
            $0.routingKey = try NotificationSamples.secret("R0UT1NG-KEY")
        }
        let (result, _) = Self.exchange(
            address, path: "/services/T0KEN-T0KEN", answer: Self.answer("400 Bad Request", body))
        #expect(
            result
                == AttemptResult(
                    .refused, status: 400,
                    error: "http://127.0.0.1:PORT: answered 400: \(words)"))
    }

    // MARK: - No whole answer

    @Test func `nobody is there, so nothing has arrived`() {
        let port = BadServer.closedPort()
        let address = NotificationSamples.address(
            .slack, ["http://u:p4ssword@127.0.0.1:\(port)/T0KEN"])
        #expect(
            Self.send(to: address)
                == AttemptResult(
                    .failed,
                    error: "http://127.0.0.1:\(port): cannot be connected to: Connection refused",
                    mayHaveArrived: false))
    }

    @Test func `a connection that ends before the status leaves it open whether it arrived`() {
        let (result, _) = Self.exchange(NotificationSamples.address(.webhook), answer: "")
        #expect(
            result
                == AttemptResult(
                    .failed,
                    error: "http://127.0.0.1:PORT: the connection was closed before the answer was "
                        + "whole"))
    }

    @Test(arguments: [ReceiverKind.webhook, .pagerduty, .alertmanager])
    func `a status is an answer, whatever becomes of the rest`(kind: ReceiverKind) {
        for (status, expected) in [(200, OutboxVerdict.delivered), (503, .failed)] {
            for body in ["half", String(repeating: "x", count: 65_537)] {
                let (result, _) = Self.exchange(
                    NotificationSamples.address(kind),
                    answer: "HTTP/1.1 \(status) X\r\nContent-Length: 99999\r\n\r\n\(body)")
                #expect(result.kind == expected && result.status == status)
            }
        }
    }

    @Test func `a head that is not whole is no answer`() {
        let (result, _) = Self.exchange(
            NotificationSamples.address(.webhook), answer: "HTTP/1.1 200 OK\r\nContent-")
        #expect(result.kind == .failed && result.status == nil && result.mayHaveArrived)
    }

    @Test(arguments: [ReceiverKind.slack, .ntfy])
    func `the word of those who say it must be whole`(kind: ReceiverKind) {
        let (result, _) = Self.exchange(
            NotificationSamples.address(kind), path: "/topic",
            answer: "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\no")
        #expect(result.kind == .failed && result.mayHaveArrived)
    }

    @Test func `what cannot be sent at all is refused with what to do`() throws {
        let missing = Result { () throws(CurlMissing) in
            try CurlLibrary(names: ["libnobody-has-this.so.4"])
        }
        let address = NotificationSamples.address(.webhook, ["http://127.0.0.1:1/"])
        let result = Self.send(to: address, library: missing)
        #expect(result.kind == .refused && !result.mayHaveArrived)
        #expect(result.error?.hasSuffix("(on Debian, package libcurl4 or curl)") == true)
        let none = Self.send(to: address, target: 1)
        #expect(none.kind == .refused && !none.mayHaveArrived)
    }
}
