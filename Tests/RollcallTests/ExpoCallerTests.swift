import RollcallCore
import Testing

@testable import RollcallBasis

/// Whole ways to Expo: what is sent, and what each of its answers means. Source: N7.
@Suite struct ExpoCallerTests {
    /// Sends `pushes` to `expo`, its port hidden in errors.
    private static func send(
        _ pushes: [PushPayload], to expo: LoopbackExpo, requests: Int = 1, patience: Int64 = 10_000,
        change: (inout PushSink) throws -> Void = { _ in }
    ) throws -> [PushResult] {
        var sink = expo.sink
        try change(&sink)
        var results: [PushResult] = []
        expo.serve(requests) {
            results = PushCaller(patience: Milliseconds(patience))
                .send(pushes, to: sink, now: NotificationSamples.time)
        }
        return results.map { result in
            PushResult(
                result.verdict, status: result.status,
                error: result.error?.replacing(expo.url, with: "EXPO"))
        }
    }

    private static func ticket(_ number: Int) -> PushVerdict {
        .ticketed(Array("ticket-\(number)".utf8))
    }

    // MARK: - Requests

    @Test func `a request carries all messages and the access token`() throws {
        let expo = LoopbackExpo()
        let pushes = PushSamples.payloads(1...3)
        let results = try Self.send(pushes, to: expo) {
            $0.url += "/"
            $0.bearer = try NotificationSamples.secret("access-token")
        }
        #expect(results.map(\.verdict) == [Self.ticket(1), Self.ticket(2), Self.ticket(3)])
        #expect(results.allSatisfy { $0.status == 200 && $0.error == nil })
        let request = try #require(expo.memory.requests.first)
        let parts = request.split(separator: "\r\n\r\n", maxSplits: 1)
        let lines = parts[0].split(separator: "\r\n")
        #expect(lines[0] == "POST /--/api/v2/push/send HTTP/1.1")
        for line in [
            "Content-Type: application/json", "Accept: application/json",
            "Authorization: Bearer access-token",
        ] { #expect(lines.contains { $0 == line }, "\(line)") }
        #expect(parts[1] == NotificationSamples.text(ExpoPush.bytes(pushes, expo.sink)))
    }

    @Test func `a hundred messages are one request`() throws {
        let expo = LoopbackExpo()
        let results = try Self.send(PushSamples.payloads(1...100), to: expo)
        #expect(results.map(\.verdict) == (1...100).map(Self.ticket))
        #expect(expo.memory.requests.count == 1 && expo.memory.shown.count == 100)
    }

    @Test func `nothing to send is no request`() throws {
        #expect(try Self.send([], to: LoopbackExpo(), requests: 0) == [])
    }

    @Test func `what cannot be a token is not sent, and holds up nobody`() throws {
        let expo = LoopbackExpo()
        let results = try Self.send(
            [
                PushSamples.payload(token: "fcm:abc"), PushSamples.payload(),
                PushSamples.payload(token: nil),
            ], to: expo)
        #expect(
            results == [
                PushResult(.unregistered, error: "its push token is none of Expo's"),
                PushResult(Self.ticket(1), status: 200),
                PushResult(.refused(retryAfter: nil), error: "nobody told its push token"),
            ])
        #expect(expo.memory.shown == [PushSamples.token: 1])
    }

    // MARK: - Tickets

    @Test func `each message has an answer of its own`() throws {
        let expo = LoopbackExpo {
            $0.ticketErrors = [
                "ExponentPushToken[1]": "DeviceNotRegistered",
                "ExponentPushToken[3]": "MessageRateExceeded",
            ]
        }
        let results = try Self.send(PushSamples.payloads(1...3), to: expo)
        #expect(
            results == [
                PushResult(
                    .unregistered, status: 200,
                    error: "EXPO: DeviceNotRegistered: \"<token>\" has an error"),
                PushResult(Self.ticket(1), status: 200),
                PushResult(
                    .refused(retryAfter: nil), status: 200,
                    error: "EXPO: MessageRateExceeded: \"<token>\" has an error"),
            ])
    }

    @Test(arguments: [
        (#"{"status":"ok"}"#, PushVerdict.unknown), (#"{"status":"ok","id":""}"#, .unknown),
        (#"{"status":"ok","id":"a b"}"#, .unknown), (#"{"status":"ok","id":7}"#, .unknown),
        (#"{"status":"perhaps"}"#, .unknown), ("7", .unknown), ("null", .unknown),
        (#"{"status":"error"}"#, .refused(retryAfter: nil)),
        (#"{"status":"error","details":{"error":"DeviceNotRegistered"}}"#, .unregistered),
        (
            #"{"status":"ok","id":"\#(String(repeating: "i", count: 128))"}"#,
            .ticketed(Array(repeating: 0x69, count: 128))
        ),
        (#"{"status":"ok","id":"\#(String(repeating: "i", count: 129))"}"#, .unknown),
    ])
    func `a ticket is judged by its words`(ticket: String, verdict: PushVerdict) throws {
        let expo = LoopbackExpo([.taken(200, body: "{\"data\":[\(ticket)]}")])
        let results = try Self.send([PushSamples.payload()], to: expo)
        #expect(results.map(\.verdict) == [verdict])
    }

    // MARK: - Whole requests

    @Test(arguments: [
        (401, PushVerdict.refused(retryAfter: nil)), (403, .refused(retryAfter: nil)),
        (404, .refused(retryAfter: nil)), (425, .refused(retryAfter: nil)),
        (503, .refused(retryAfter: nil)), (307, .refused(retryAfter: nil)),
        (308, .refused(retryAfter: nil)), (302, .unknown), (303, .unknown), (408, .unknown),
        (500, .unknown), (502, .unknown), (504, .unknown), (201, .unknown), (204, .unknown),
    ])
    func `a status decides whether nothing went out`(status: Int, verdict: PushVerdict) throws {
        let expo = LoopbackExpo([.status(status)])
        let results = try Self.send(PushSamples.payloads(1...2), to: expo)
        let hint = (300...399).contains(status) ? ": redirects are not followed" : ""
        let result = PushResult(
            verdict, status: status, error: "EXPO: answered \(status)\(hint)")
        #expect(results == [result, result])
        #expect(expo.memory.requests.count == 1)
    }

    @Test func `a sink that has too much to do says how long`() throws {
        let body = #"{"errors":[{"code":"TOO_MANY_REQUESTS","message":"slow down"}]}"#
        let expo = LoopbackExpo([.status(429, fields: "Retry-After: 7\r\n", body: body)])
        #expect(
            try Self.send(PushSamples.payloads(1...1), to: expo) == [
                PushResult(
                    .refused(retryAfter: .seconds(7)), status: 429,
                    error: "EXPO: answered 429: TOO_MANY_REQUESTS: slow down")
            ])
        let busy = LoopbackExpo([.status(503, fields: "Retry-After: 86400\r\n")])
        #expect(
            try Self.send(PushSamples.payloads(1...1), to: busy).map(\.verdict) == [
                .refused(retryAfter: .seconds(300))
            ])
    }

    @Test func `errors without tickets are a refusal, and show neither token nor secret`() throws {
        let body = """
            {"errors":[{"code":"UNAUTHORIZED","message":"access-token\\n\(PushSamples.token)"}]}
            """
        let expo = LoopbackExpo([.status(200, body: body)])
        let results = try Self.send([PushSamples.payload()], to: expo) {
            $0.bearer = try NotificationSamples.secret("access-token")
        }
        #expect(
            results == [
                PushResult(
                    .refused(retryAfter: nil), status: 200,
                    error: "EXPO: answered 200: UNAUTHORIZED: <secret> <token>")
            ])
    }

    @Test(arguments: [
        LoopbackExpo.Answer.fewer, .malformed, .taken(200), .taken(200, body: "[]"),
        .taken(200, body: #"{"data":{"status":"ok","id":"a"}}"#), .taken(200, body: ""),
        .taken(200, body: #"{"data":[],"errors":[{"code":"A"}]}"#),
    ])
    func `who is not answered for each message knows of none`(
        answer: LoopbackExpo.Answer
    ) throws {
        let results = try Self.send(PushSamples.payloads(1...2), to: LoopbackExpo([answer]))
        let result = PushResult(
            .unknown, status: 200, error: "EXPO: answered 200: not a ticket for each message")
        #expect(results == [result, result])
    }

    @Test(
        arguments: [
            (LoopbackExpo.Answer.resetUnread, nil), (.reset, nil), (.lost, nil), (.statusLine, nil),
            (.half, 200), (.drip, nil),
        ] as [(LoopbackExpo.Answer, Int?)])
    func `what may have gone out is never sent again`(
        answer: LoopbackExpo.Answer, status: Int?
    ) throws {
        let expo = LoopbackExpo([answer])
        let results = try Self.send(
            PushSamples.payloads(1...2), to: expo, patience: answer.isEndless ? 500 : 10_000)
        #expect(results.map(\.verdict) == [.unknown, .unknown])
        #expect(results.map(\.status) == [status, status])
        #expect(expo.memory.shown.values.allSatisfy { $0 == 1 })
    }

    @Test func `half of a refusal is a refusal`() throws {
        for (status, verdict) in [
            (429, PushVerdict.refused(retryAfter: nil)), (503, .refused(retryAfter: nil)),
            (500, .unknown), (408, .unknown),
        ] {
            let server = BadServer()
            var results: [PushResult] = []
            server.serve { connection in
                _ = connection.request()
                connection.send("HTTP/1.1 \(status) X\r\nContent-Length: 9\r\n\r\nhalf")
            } while: {
                let sink = PushSink(.expo, url: "http://127.0.0.1:\(server.port)")
                results = PushCaller().send(
                    [PushSamples.payload()], to: sink, now: NotificationSamples.time)
            }
            #expect(results.map(\.verdict) == [verdict] && results.first?.status == status)
        }
    }

    // MARK: - One message that Expo does not like

    @Test func `a message for whose sake all are refused is found, and the others go out once`()
        throws
    {
        let expo = LoopbackExpo { $0.poison = ["ExponentPushToken[37]"] }
        let results = try Self.send(PushSamples.payloads(1...100), to: expo, requests: 15)
        let refused = results.indices.filter { results[$0].verdict == .refused(retryAfter: nil) }
        #expect(refused == [36])
        #expect(results[36].error == "EXPO: answered 400: VALIDATION_ERROR: bad")
        #expect(expo.memory.shown.count == 99 && expo.memory.shown.values.allSatisfy { $0 == 1 })
    }

    @Test func `a call asks so often and no more`() throws {
        let expo = LoopbackExpo {
            $0.poison = Set((1...50).map { "ExponentPushToken[\($0 * 2)]" })
        }
        let results = try Self.send(
            PushSamples.payloads(1...100), to: expo, requests: PushCaller.requestsMax)
        #expect(expo.memory.requests.count == PushCaller.requestsMax)
        for (place, result) in results.enumerated() {
            let isShown = expo.memory.shown["ExponentPushToken[\(place + 1)]"] == 1
            #expect(isShown == (result.verdict != .refused(retryAfter: nil)))
        }
    }
}
