import Glibc
import Logging
import RollcallCore

@testable import Rollcall
@testable import RollcallBasis
@testable import RollcallSupport

/// Whole requests, at the doors and behind them, without a socket: each is answered once, with a status
/// of ours, fields that cannot end a head, and JSON where it says so. An input is the lines of a head,
/// an empty one, and a body.
enum RequestFuzz {
    /// Longer than anybody waits, however busy the machine is; libFuzzer's own limit comes later.
    private static let patience = Duration.seconds(20)

    static let target = FuzzTarget("requests", texts: samples) { bytes in
        guard let (request, isProbe) = request(bytes) else { return }
        let house = house
        for router in [house.open, house.guarded] {
            let accessPoint = isProbe ? house.probes : house.main
            if let refusal = router.authorise(request, at: accessPoint) {
                check(refusal, request)
            } else if request.path != Resource.drills.path {
                // A drill waits for a receiver, and there is none.
                check(answer(router, request), request)
            }
        }
    }

    // MARK: - Requests

    private static func request(_ bytes: [UInt8]) -> (HTTPRequest, isProbe: Bool)? {
        var lines: [Substring.UTF8View.SubSequence] = []
        let text = String(decoding: bytes, as: UTF8.self)
        var rest = text.utf8[...]
        while let end = rest.firstIndex(of: 0x0A) {
            let line = rest[..<end]
            rest = rest[rest.index(after: end)...]
            if line.isEmpty { break }
            lines.append(line)
        }
        guard let first = lines.first else { return nil }
        let words = Substring(first).split(separator: " ", maxSplits: 2)
        guard words.count >= 2 else { return nil }
        let parts = words[1].split(
            separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        let isHead = words[0] == "HEAD"
        var request = HTTPRequest(
            method: isHead ? "GET" : String(words[0]), path: String(parts[0]), body: Array(rest))
        request.isHead = isHead
        for argument in parts.dropFirst().first?.split(separator: "&") ?? [] {
            let sides = argument.split(
                separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            request.query.append((String(sides[0]), sides.count > 1 ? String(sides[1]) : ""))
        }
        for line in lines.dropFirst() { take(Substring(line), &request) }
        return (request, words.count > 2)
    }

    private static func take(_ line: Substring, _ request: inout HTTPRequest) {
        guard let colon = line.utf8.firstIndex(of: UInt8(ascii: ":")) else { return }
        let value = String(line[line.utf8.index(after: colon)...].drop { $0 == " " })
        switch line[..<colon].lowercased() {
        case "content-type": request.contentType = value
        case "content-encoding": request.contentEncoding = value
        case "accept": request.accept = value
        case "accept-encoding": request.acceptEncoding = value
        case "host": request.host = value
        case "origin": request.origin = value
        case "authorization": request.authorization = value
        case "rollcall-sent-at": request.sentAt = value
        default: break
        }
    }

    private static func answer(_ router: Router, _ request: HTTPRequest) -> HTTPResponse {
        let traffic = HTTPTraffic(
            limits: HTTPLimits(), web: nil, early: { _ in nil }, refused: { _, _ in },
            full: { _ in },
            handler: { _, _ in })
        // Without a connection: one that is never parked is never asked for its handle.
        guard let handle = OpaquePointer(bitPattern: 16) else { fatalError("no handle") }
        let connection = HTTPConnection(descriptor: -1, handle: handle, traffic: traffic)
        let reply = connection.reply(isWrite: request.method != "GET")
        router.handle(request, reply)
        let began = ContinuousClock.now
        while reply.isOpen {
            require(
                ContinuousClock.now - began < patience,
                "\(request.method) \(request.path) is answered")
            usleep(100)
        }
        guard let answer = connection.takeAnswerOrPark() else { fatalError("no answer") }
        return answer
    }

    private static func check(_ answer: HTTPResponse, _ request: HTTPRequest) {
        require((200...599).contains(answer.status) && answer.status != 500, "a status of ours")
        var type = ""
        for (name, value) in answer.headers {
            require(
                !value.utf8.contains { $0 < 0x20 || $0 == 0x7F } && !value.isEmpty,
                "\(name) is one line")
            if name == "Content-Type" { type = value }
        }
        if type.hasSuffix("json") {
            var cursor = JSONCursor(range: 0..<answer.body.count, depthMax: 64)
            let isRead: Void? = try? cursor.skipValue(answer.body.span)
            require(isRead != nil && cursor.isAtEnd(answer.body.span), "what says JSON is JSON")
        }
    }

    // MARK: - The server

    /// A state writer and two routers to it: one without tokens, one with some.
    private struct House: Sendable {
        let open: Router
        let guarded: Router
        let main: AccessPoint
        let probes: AccessPoint
    }

    private static let house: House = {
        do {
            let directory = FuzzFolder()
            let log = Logger(label: "fuzz") { _ in SwiftLogNoOpLogHandler() }
            let edge = EdgeStats()
            var policy = Policy()
            policy.nudges.mode = .dryRun
            let writer = try StateWriter(
                path: directory.path + "/store", policy: policy, log: log, edge: edge,
                refusals: { 0 }, onFatal: { fatalError("the store failed: \($0)") })
            writer.start()
            let token = try Access.Token(
                name: "pod", scopes: [.ingest, .read], bytes: Array("0123456789abcdef".utf8))
            func router(_ rules: AccessPolicy.Rules) -> Router {
                let reloader = Reloader(
                    Configuration(), source: .defaults, writer: writer, edge: edge, log: log,
                    apply: { _ in EndpointChanges() })
                reloader.start()
                return Router(
                    writer: writer, edge: edge, limits: BodyLimits(ScanLimits(itemsMax: 32)),
                    accessPolicy: AccessPolicy(rules, log: log), admission: Admission(),
                    reloader: reloader)
            }
            let listener = try HTTPListener(address: "127.0.0.1:0")
            return House(
                open: router(AccessPolicy.Rules()),
                guarded: router(
                    AccessPolicy.Rules(
                        access: try Access(tokens: [token]),
                        externalURL: ExternalURL("https://rollcall.example/below"),
                        trustedHosts: ["api.example-shadow"])),
                main: AccessPoint(listener), probes: AccessPoint(listener, isForProbes: true))
        } catch {
            fatalError("\(error)")
        }
    }()

    private static let samples: [String] = {
        let gets = Route.all.filter { $0.method == .get }.map { route in
            route.resource.path.replacing("{id}", with: "r%2D17").replacing("{number}", with: "1")
                .replacing("{version}/{name}", with: "1/page.js")
        }
        let queries = [
            "/v1/gaps?state=open&cause=app_suspended&region=n&since=2026-11-21T03:00:00Z&limit=9",
            "/v1/gaps?by=cause,region&until=1795230000000", "/v1/gaps?after=7.9&verdict=real",
            "/v1/responders/r-17/timeline?after=1.2.3&limit=10", "/v1/regions?after=n&limit=2",
            "/v1/dark?by=region&from=2026-11-20&to=2026-11-21", "/v1/nudges?decision=send&limit=3",
            "/v1/status/history?since=1795230000000&step=60s", "/v1/alerts/history?after=5",
            "/v1/responders?status=ONLINE&region=n&limit=1", "/v1/responders?after=a&prefix=r",
        ]
        let writes: [(String, String)] = [
            ("POST /v1/batches?source=pod", ItemSamples.batch),
            ("POST /v1/transitions", ItemSamples.transition),
            ("POST /v1/responders", ItemSamples.fact),
            ("PUT /v1/responders?shrink=allow&roster=r&more=true", "[\(ItemSamples.fact)]"),
            ("POST /v1/heartbeat", #"{"every_seconds":30}"#), ("DELETE /v1/heartbeat", ""),
            ("POST /v1/wakes", #"{"circle":"c-9","viewer":"r-17"}"#),
            (
                "POST /v1/silences",
                #"{"matchers":["region=n"],"duration":"1s","author":"a","comment":"c"}"#
            ),
            ("DELETE /v1/silences/1", ""), ("DELETE /v1/responders/r-17", ""),
            ("POST /-/reload", ""),
        ]
        let fields = """
            Host: localhost:8080
            Content-Type: application/json; charset=utf-8
            Accept: application/openmetrics-text; version=1.0.0;q=0.8, text/html;q=0.9, */*;q=0.1
            Accept-Encoding: gzip;q=0, identity
            Origin: https://rollcall.example
            Authorization: Bearer 0123456789abcdef
            """
        return gets.map { "GET \($0)\n\(fields)\n\n" } + queries.map { "GET \($0)\n\n" }
            + writes.map { "\($0.0)\n\(fields)\n\n\($0.1)" }
            + [
                "HEAD /metrics probe\nHost: [::1]:80\nAuthorization: Basic OjAxMjM=\n\n",
                "PATCH /v1/batches\nHost: evil.example\nContent-Encoding: gzip\n\n",
                "POST /v1/batches\nContent-Type: application/x-ndjson\n\n\(ItemSamples.batch)\n{",
            ]
    }()
}

/// A folder of this process below `TMPDIR`, which whoever starts it takes away again. It should be on
/// the memory disk: it is flushed a thousand times a second.
struct FuzzFolder {
    let path: String

    init() {
        let base = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
        var name = Array("\(base)/rollcall-fuzz.XXXXXX".utf8CString)
        guard mkdtemp(&name) != nil else { fatalError("no folder: errno \(errno)") }
        path = String(decoding: name.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
