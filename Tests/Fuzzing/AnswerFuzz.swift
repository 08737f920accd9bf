import RollcallCore

@testable import RollcallBasis

/// What receivers and sinks answer, as libcurl hands it over: lines of a head, an empty line, a body.
/// Whatever they say, there is one verdict, a wait that is bounded, and words on one line that hold no
/// secret.
enum AnswerFuzz {
    private static let now = Timestamp(milliseconds: 1_795_230_000_000)
    private static let token = Array("ExponentPushToken[abcdefgh]".utf8)

    static let target = FuzzTarget("answers", texts: samples) { bytes in
        let answer = answer(bytes)
        for text in [answer.retryAfter, String(decoding: bytes, as: UTF8.self)] {
            let span = text.flatMap { RetryAfter.span($0, now: now) }
            require(
                span.map { (Milliseconds(0)...AttemptResult.retryAfterMax).contains($0) } ?? true,
                "a wait is bounded")
        }
        evaluate(answer)
        mail(bytes)
        push(answer)
        _ = ExpoAnswer(bytes).refusal
        collector(answer)
    }

    /// As the callbacks of a transfer are called.
    private static func answer(_ bytes: [UInt8]) -> HTTPCallAnswer {
        let incoming = IncomingAnswer(bodyBytesMax: 4096)
        let context = Unmanaged.passUnretained(incoming).toOpaque()
        var rest = bytes[...]
        var isHead = true
        while isHead, !rest.isEmpty {
            let line = rest.prefix(while: { $0 != 0x0A })
            var whole = Array(rest.prefix(line.count + 1)).map { CChar(bitPattern: $0) }
            rest = rest.dropFirst(line.count + 1)
            isHead = line.count > 1
            let count = whole.count
            if takeField(bytes: &whole, size: 1, count: count, context: context) != count { break }
        }
        var body = rest.map { CChar(bitPattern: $0) }
        _ = takeBody(bytes: &body, size: 1, count: body.count, context: context)
        if let status = incoming.finalStatus { require(status >= 200, "an interim one is none") }
        return incoming.answer(isNewConnection: true)
    }

    /// What a collector of metrics says.
    private static func collector(_ answer: HTTPCallAnswer) {
        require(OTLPAnswer(taken: answer.body).rejected >= 0, "a count is none below 0")
        var settings = OTLPSettings()
        settings.bearer = try? Secret(Array("secret-key".utf8))
        switch OTLPCaller.verdict(answer, from: "https://a.example", settings, now: now) {
        case .delivered(_, let words): check(words)
        case .failed(let words, _), .unknown(let words), .refused(let words):
            check(words)
            require(!words.contains("secret-key"), "no secret is repeated")
        }
    }

    private static func evaluate(_ answer: HTTPCallAnswer) {
        for kind in ReceiverKind.allCases {
            var address = ReceiverAddress(name: "r", kind: kind)
            address.urls = ["https://user:password@a.example/services/secret-path?key=secret-key"]
            let result = AttemptVerdicts.evaluate(
                answer, of: address, from: "https://a.example", now: now)
            guard let error = result.error else { continue }
            check(error)
            for secret in ["secret-path", "secret-key", "user:password"] {
                require(!error.contains(secret), "no secret is repeated")
            }
        }
    }

    /// What a mail server says, line by line.
    private static func mail(_ bytes: [UInt8]) {
        let traffic = MailTraffic(content: [], permit: nil)
        let context = Unmanaged.passUnretained(traffic).toOpaque()
        var address = ReceiverAddress(name: "r", kind: .email)
        address.urls = ["smtp://mail.example:587"]
        address.mail.recipients = ["secret-path@example.org"]
        for line in bytes.split(separator: 0x0A, omittingEmptySubsequences: false) {
            var whole = (Array(line) + [0x0A]).map { CChar(bitPattern: $0) }
            let count = whole.count
            if takeReply(bytes: &whole, size: 1, count: count, context: context) != count { break }
        }
        for code in [200, 250, 421, 429, 503, 550] {
            guard let reply = traffic.lastReply(code) else { continue }
            let result = AttemptVerdicts.evaluate(reply, of: address)
            require((code < 300) == (result.kind == .delivered), "a 2xx is taken, and nothing else")
            if let error = result.error {
                check(error)
                require(!error.contains("secret-path@example.org"), "no address is repeated")
            }
        }
    }

    private static func push(_ answer: HTTPCallAnswer) {
        let sink = PushSink(.expo, url: PushSink.expoURL)
        let payload = PushPayload(
            number: 1, kind: .nudge, store: 1, responderID: [0x61], token: token, isSilent: false,
            platform: .ios, facts: NudgeFacts(), circles: [], timeToLive: .seconds(60),
            decidedAt: now)
        let results = PushVerdicts.evaluate(answer, to: [payload, payload], of: sink, now: now)
        require(results.count == 2, "a verdict for each")
        for result in results {
            guard let error = result.error else { continue }
            require(!error.utf8.contains { $0 < 0x20 || $0 == 0x7F }, "one line")
            require(!error.contains(String(decoding: token, as: UTF8.self)), "no token is repeated")
        }
        let tickets = [Array("t-1".utf8), Array("t-2".utf8)]
        let receipts = PushVerdicts.receipts(answer, for: tickets, of: sink, now: now)
        require(receipts.verdicts.map { $0.count == 2 } ?? true, "a receipt for each")
        _ = PushVerdicts.evaluate(answer, of: sink, now: now)
    }

    private static func check(_ words: String) {
        require(words.utf8.count <= AttemptResult.errorBytesMax, "few words")
        require(!words.utf8.contains { $0 < 0x20 || $0 == 0x7F }, "one line")
    }

    private static let samples: [String] = {
        let json = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n"
        let heads = [
            "HTTP/1.1 503 Unavailable\r\nRetry-After: 120\r\nContent-Type: text/html\r\n\r\n<p>",
            "HTTP/2 429\r\nretry-after: Sat, 21 Nov 2026 03:00:30 GMT\r\n\r\n",
            "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\nok",
            "HTTP/1.1 307 Moved\nLocation: x\n\n",
            "220 mail.test\r\n250-mail.test\r\n250 STARTTLS\r\n550-no\r\n550 <secret-path@example.org>\r\n",
            "Saturday, 21-Nov-26 03:00:30 GMT", "Sat Nov 21 03:00:30 2026", "999999999999999999999",
        ]
        let bodies = [
            #"{"data":[{"status":"ok","id":"t-1"},{"status":"error","message":"ExponentPushToken"#
                + #"[abcdefgh] is gone","details":{"error":"DeviceNotRegistered"}}]}"#,
            #"{"data":{"t-1":{"status":"ok"},"t-2":{"status":"error","details":{"error":"x"}}}}"#,
            #"{"errors":[{"code":"TOO_MANY","message":"a\nb"}]}"#,
            #"{"message":"secret-path","errors":["secret-key","é\u0000"]}"#, #""said""#,
            "invalid_token", #"{"id":"x","event":"message"}"#,
            #"{"code":40301,"http":403,"error":"forbidden secret-path"}"#,
        ]
        return heads + bodies.map { json + $0 } + bodies.map { "HTTP/1.1 400 Bad\r\n\r\n\($0)" }
    }()
}
