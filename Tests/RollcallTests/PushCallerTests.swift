import RollcallCore
import Synchronization
import Testing

@testable import RollcallBasis
@testable import RollcallSupport

/// Pushes to a webhook, and Expo's receipts. Source: N7.
@Suite struct PushCallerTests {
    /// Sends once to a server that answers `answer`; what came of it, and the request it saw.
    private static func exchange(
        _ push: PushPayload = PushSamples.payload(), answer: String, patience: Int64 = 10_000,
        change: (inout PushSink) throws -> Void = { _ in }
    ) throws -> (result: PushResult, request: String) {
        let server = BadServer()
        let seen = Mutex("")
        var sink = PushSink(.webhook, url: "http://127.0.0.1:\(server.port)/push?key=t0psecret")
        try change(&sink)
        var results: [PushResult] = []
        server.serve { connection in
            let request = connection.request() ?? ""
            seen.withLock { $0 = request }
            connection.send(answer)
        } while: {
            results = PushCaller(patience: Milliseconds(patience))
                .send([push], to: sink, now: NotificationSamples.time)
        }
        let result = try #require(results.first)
        #expect(results.count == 1)
        return (
            PushResult(
                result.verdict, status: result.status,
                error: result.error?.replacing("\(server.port)", with: "PORT")),
            seen.withLock { $0 }
        )
    }

    private static func answer(_ status: Int, _ body: String = "", fields: String = "") -> String {
        "HTTP/1.1 \(status) X\r\nContent-Length: \(body.utf8.count)\r\n\(fields)\r\n\(body)"
    }

    // MARK: - A webhook

    @Test func `a webhook's push is signed over the body that it carries`() throws {
        let key = try #require(
            SigningKey(
                try NotificationSamples.secret("whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=")
            ))
        let (result, request) = try Self.exchange(answer: Self.answer(202)) {
            $0.signingKeys = [key]
            $0.bearer = try NotificationSamples.secret("t0ken")
            $0.texts.fallback.title = "Offen?"
        }
        #expect(result == PushResult(.delivered, status: 202))
        let parts = request.split(separator: "\r\n\r\n", maxSplits: 1)
        let lines = parts[0].split(separator: "\r\n")
        var texts = NudgeTexts()
        texts.fallback.title = "Offen?"
        let body = WebhookPush.bytes(PushSamples.payload(), texts)
        #expect(parts[1] == NotificationSamples.text(body))
        #expect(lines[0] == "POST /push?key=t0psecret HTTP/1.1")
        let signature = key.signature(
            id: "nudge_00000000000000ab_7", seconds: NotificationSamples.time.milliseconds / 1000,
            body: body)
        for line in [
            "Content-Type: application/json", "webhook-id: nudge_00000000000000ab_7",
            "webhook-timestamp: 1795230000", "webhook-signature: \(signature)",
            "Authorization: Bearer t0ken",
        ] { #expect(lines.contains { $0 == line }, "\(line)") }
        #expect(!request.contains(PushSamples.token))
    }

    @Test(arguments: [
        (200, PushVerdict.delivered), (204, .delivered), (302, .unknown), (303, .unknown),
        (307, .refused(retryAfter: nil)), (400, .refused(retryAfter: nil)),
        (404, .refused(retryAfter: nil)), (408, .unknown), (410, .refused(retryAfter: nil)),
        (425, .refused(retryAfter: nil)), (429, .refused(retryAfter: .seconds(7))),
        (500, .unknown), (501, .unknown), (502, .unknown), (503, .refused(retryAfter: .seconds(7))),
        (504, .unknown), (599, .unknown),
    ])
    func `a status decides whether nothing went out`(status: Int, verdict: PushVerdict) throws {
        let fields = [429, 503].contains(status) ? "Retry-After: 7\r\n" : ""
        let (result, _) = try Self.exchange(
            answer: Self.answer(status, "t0psecret", fields: status == 204 ? "" : fields))
        let hint = (300...399).contains(status) ? ": redirects are not followed" : ""
        #expect(
            result
                == PushResult(
                    verdict, status: status,
                    error: verdict == .delivered
                        ? nil : "http://127.0.0.1:PORT: answered \(status)\(hint)"))
    }

    @Test func `a status is an answer, whatever becomes of the rest`() throws {
        for (status, verdict) in [
            (200, PushVerdict.delivered), (429, .refused(retryAfter: nil)), (500, .unknown),
        ] {
            for body in ["half", String(repeating: "x", count: Poster.answerBytesMax + 1)] {
                let (result, _) = try Self.exchange(
                    answer: "HTTP/1.1 \(status) X\r\nContent-Length: 99999\r\n\r\n\(body)")
                #expect(result.verdict == verdict && result.status == status)
            }
        }
    }

    @Test func `no status leaves it open whether it went out`() throws {
        for answer in ["", "HTTP/1.1 200 OK\r\nContent-", "hello\r\n\r\n"] {
            let (result, _) = try Self.exchange(answer: answer, patience: 1000)
            #expect(result.verdict == .unknown && result.status == nil)
        }
    }

    @Test func `nobody is there, or nothing can be sent: it certainly did not go out`() {
        let port = BadServer.closedPort()
        let missing = Result { () throws(CurlMissing) in
            try CurlLibrary(names: ["libnobody-has-this.so.4"])
        }
        var distrusted = PushSink(.webhook, url: "https://127.0.0.1:\(port)/")
        distrusted.authorities = Authorities(extra: "/nowhere/ca.pem")
        let sinks = [
            PushSink(.webhook, url: "http://u:p4ssword@127.0.0.1:\(port)/T0KEN"),
            PushSink(.expo, url: "http://127.0.0.1:\(port)"),
            PushSink(.webhook, url: "http://nobody.invalid/"), distrusted,
        ]
        for sink in sinks {
            let results = PushCaller().send(
                [PushSamples.payload()], to: sink, now: NotificationSamples.time)
            #expect(results.map(\.verdict) == [.refused(retryAfter: nil)])
            let error = results.first?.error ?? ""
            #expect(!error.isEmpty && !error.contains("p4ss") && !error.contains("T0KEN"))
        }
        let none = PushCaller(library: missing).send(
            [PushSamples.payload()], to: sinks[0], now: NotificationSamples.time)
        #expect(none.map(\.verdict) == [.refused(retryAfter: nil)])
    }

    @Test func `an error has its limit`() {
        let long = PushResult(.unknown, error: String(repeating: "x", count: 201))
        #expect(long.error?.utf8.count == PushResult.errorBytesMax)
        #expect(long.error?.hasSuffix("x…") == true)
        #expect(PushResult(.unknown, error: String(repeating: "x", count: 200)).error?.last == "x")
    }

    // MARK: - Receipts

    /// Asks for the receipts of these tickets, its port hidden in errors.
    private static func receipts(
        _ tickets: [String], from expo: LoopbackExpo, patience: Int64 = 10_000
    ) -> PushReceipts {
        var receipts = PushReceipts(verdicts: nil)
        expo.serve {
            receipts = PushCaller(patience: Milliseconds(patience))
                .receipts(
                    tickets.map { Array($0.utf8) }, from: expo.sink, now: NotificationSamples.time)
        }
        return PushReceipts(
            verdicts: receipts.verdicts, retryAfter: receipts.retryAfter,
            error: receipts.error?.replacing(expo.url, with: "EXPO"))
    }

    @Test func `receipts say what became of tickets, in their order`() throws {
        let expo = LoopbackExpo {
            $0.tickets = ["t1": "a", "t2": "b", "t3": "c", "t4": "d", "t5": "e"]
            $0.receiptErrors = [
                "b": "DeviceNotRegistered", "c": "InvalidCredentials", "e": "MismatchSenderId",
            ]
            $0.unready = ["d"]
        }
        #expect(
            Self.receipts(["t5", "t1", "t4", "t9", "t3", "t2"], from: expo)
                == PushReceipts(
                    verdicts: [.failed, .delivered, .notReady, .notReady, .failed, .unregistered],
                    error: "EXPO: DeviceNotRegistered, InvalidCredentials, MismatchSenderId"))
        let request = try #require(expo.memory.requests.first)
        #expect(request.hasPrefix("POST /--/api/v2/push/getReceipts HTTP/1.1\r\n"))
        #expect(request.hasSuffix(#"{"ids":["t5","t1","t4","t9","t3","t2"]}"#))
    }

    @Test func `three hundred receipts are one question`() {
        let expo = LoopbackExpo { memory in
            for ticket in 1...ExpoPush.ticketsMax { memory.tickets["t\(ticket)"] = "a" }
        }
        let receipts = Self.receipts((1...ExpoPush.ticketsMax).map { "t\($0)" }, from: expo)
        #expect(receipts.verdicts?.count { $0 == .delivered } == ExpoPush.ticketsMax)
    }

    @Test(arguments: [
        (
            LoopbackExpo.Answer.status(429, fields: "Retry-After: 9\r\n"),
            PushReceipts(verdicts: nil, retryAfter: .seconds(9), error: "EXPO: answered 429")
        ),
        (.status(500), PushReceipts(verdicts: nil, error: "EXPO: answered 500")),
        (
            .status(200, body: #"{"errors":[{"code":"PUSH_TOO_MANY_RECEIPTS"}]}"#),
            PushReceipts(verdicts: nil, error: "EXPO: answered 200: PUSH_TOO_MANY_RECEIPTS")
        ),
        (.malformed, PushReceipts(verdicts: nil, error: "EXPO: answered 200: no receipts")),
        (
            .status(200, body: #"{"data":[]}"#),
            PushReceipts(verdicts: nil, error: "EXPO: answered 200: no receipts")
        ),
        (
            .half,
            PushReceipts(
                verdicts: nil,
                error: "EXPO: the connection was closed before the answer was whole")
        ),
        (
            .drip,
            PushReceipts(verdicts: nil, error: "EXPO: no whole answer within 500 ms")
        ),
        (.status(200, body: #"{"data":{"t1":7}}"#), PushReceipts(verdicts: [.notReady])),
    ])
    func `what is no receipt is asked for again`(
        answer: LoopbackExpo.Answer, receipts: PushReceipts
    ) {
        let expo = LoopbackExpo([answer])
        let patience: Int64 = answer.isEndless ? 500 : 10_000
        #expect(Self.receipts(["t1"], from: expo, patience: patience) == receipts)
    }

    @Test func `an answer with receipts is taken at its limit and not past it`() {
        let frame = #"{"data":{"t1":{"status":"ok"},"x":""}}"#
        for (bytes, verdicts) in [
            (PushCaller.expoBytesMax, [ReceiptVerdict.delivered]),
            (PushCaller.expoBytesMax + 1, nil),
        ] {
            let filling = String(repeating: "x", count: bytes - frame.utf8.count)
            let body = frame.replacing(#""x":"""#, with: "\"x\":\"\(filling)\"")
            let expo = LoopbackExpo([.status(200, body: body)])
            #expect(Self.receipts(["t1"], from: expo).verdicts == verdicts)
        }
    }

    @Test func `without tickets, and of a webhook, nobody is asked`() {
        let caller = PushCaller()
        let expo = PushSink(.expo, url: "http://127.0.0.1:1")
        let webhook = PushSink(.webhook, url: "http://127.0.0.1:1")
        #expect(caller.receipts([], from: expo, now: NotificationSamples.time).verdicts == [])
        #expect(
            caller.receipts([Array("t".utf8)], from: webhook, now: NotificationSamples.time)
                == PushReceipts(verdicts: nil, error: "only Expo gives receipts"))
    }
}
