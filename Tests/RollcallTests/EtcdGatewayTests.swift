import RollcallCluster
import RollcallCore
import Testing

@testable import RollcallBasis
@testable import RollcallSupport

/// S3: only a whole answer of etcd is an answer; S2: a watch loses nothing and tells nothing twice.
@Suite struct EtcdGatewayTests {
    private static let transaction = KeyValueTransaction(
        if: [
            .value(key: [1], is: [2, 3]), .revision(key: [4], is: 77), .absent(key: [5]),
        ],
        [
            .put(key: [6], value: [0xFF]), .get(key: [7]),
            .range(from: [8], to: [9], limit: 3), .delete(from: [10], to: [11]),
        ],
        otherwise: [.get(key: [1])])

    @Test("S2: a transaction compares value, revision and absence, as the gateway reads it")
    func transactionBody() throws {
        let tree = try JSONTree(reading: EtcdGateway.body(of: Self.transaction))
        let compared = try #require(tree["compare"]).elements
        #expect(compared.map { $0["target"]?.text } == ["VALUE", "MOD", "CREATE"])
        #expect(compared.allSatisfy { $0["result"]?.text == "EQUAL" })
        #expect(compared[0]["value"]?.text == "AgM=")
        #expect(compared[1]["mod_revision"]?.text == "77")
        #expect(compared[2]["create_revision"]?.text == "0")
        let done = try #require(tree["success"]).elements
        #expect(done[0]["request_put"]?["value"]?.text == "/w==")
        #expect(done[2]["request_range"]?["limit"]?.text == "3")
        #expect(done[3]["request_delete_range"]?["range_end"]?.text == "Cw==")
        #expect(tree["failure"]?.elements.count == 1)
    }

    private static func outcome(_ status: Int, _ body: String) -> KeyValueOutcome {
        EtcdGateway.outcome(
            of: HTTPCallAnswer(status: status, body: Array(body.utf8)), to: transaction)
    }

    @Test("S3: a whole answer tells what was found")
    func wholeAnswer() {
        let put = #"{"response_put":{"header":{"revision":"9"}}}"#
        let none = #"{"response_range":{"header":{}}}"#
        let rows =
            #"{"response_range":{"kvs":[{"key":"CA==","mod_revision":"8","value":"AQ=="},"#
            + #"{"key":"CA0=","mod_revision":"3"}],"count":"2"}}"#
        let gone = #"{"response_delete_range":{"deleted":"1"}}"#
        let body =
            #"{"header":{"cluster_id":"1","revision":"9"},"succeeded":true,"responses":["#
            + [put, none, rows, gone].joined(separator: ",") + "]}"
        let found: [[KeyValueRow]] = [
            [],
            [
                KeyValueRow(key: [8], value: [1], revision: 8),
                KeyValueRow(key: [8, 13], value: [], revision: 3),
            ],
        ]
        #expect(
            Self.outcome(200, body)
                == .answered(KeyValueAnswer(isTrue: true, revision: 9, found: found)))
        // Every beginning of it is nobody knows what.
        for count in 0..<body.utf8.count {
            guard
                case .unknown = Self.outcome(
                    200, String(decoding: Array(body.utf8).prefix(count), as: UTF8.self))
            else {
                Issue.record("\(count) bytes are taken for an answer")
                return
            }
        }
    }

    @Test(
        "S3: what is an answer to something else says nothing",
        arguments: [
            "", "null", "[]", "{}", #"{"header":{"revision":"9"},"succeeded":true}"#,
            #"{"header":{"revision":9},"responses":[{"response_range":{}}]}"#,
            #"{"header":{},"responses":[{"response_range":{}}]}"#,
            #"{"header":{"revision":"9"},"responses":[{"response_put":{}}]}"#,
            #"{"header":{"revision":"9"},"responses":[{"response_range":{"kvs":[{"key":"*"}]}}]}"#,
            #"{"header":{"revision":"9"},"responses":[{"response_range":{"kvs":[{"key":"CA=="}]}}]}"#,
        ])
    func senseless(_ body: String) {
        guard case .unknown = Self.outcome(200, body) else {
            Issue.record("\(body) is taken for an answer")
            return
        }
    }

    @Test("S3: what did not hold is answered by what was asked for then")
    func otherwise() {
        let body = #"{"header":{"revision":"9"},"responses":[{"response_range":{}}]}"#
        #expect(
            Self.outcome(200, body)
                == .answered(KeyValueAnswer(isTrue: false, revision: 9, found: [[]])))
    }

    @Test("S3: only etcd itself says for certain that something was not run")
    func refusals() {
        let certain = [
            (400, 3, "etcdserver: request is too large"),
            (429, 8, "etcdserver: mvcc: database space exceeded"),
            (401, 16, "etcdserver: invalid auth token"),
            (403, 7, "etcdserver: permission denied"),
        ]
        for (status, code, words) in certain {
            let body = #"{"error":"\#(words)","message":"\#(words)","code":\#(code)}"#
            #expect(Self.outcome(status, body) == .notRun("\(words) (code \(code))"))
        }
        let doubtful = [
            (503, #"{"error":"etcdserver: leader changed","code":14}"#),
            (503, #"{"error":"etcdserver: request timed out","code":14}"#),
            (429, #"{"error":"grpc: received message larger than max","code":8}"#),
            (500, #"{"error":"etcdserver: request is too large"}"#), (502, "<html>"),
            (404, ""), (204, ""),
        ]
        for (status, body) in doubtful {
            guard case .unknown = Self.outcome(status, body) else {
                Issue.record("\(status) \(body) is taken for certain")
                continue
            }
        }
    }

    // MARK: - Watching

    @Test("S2: a watch begins behind what is held")
    func watchBody() throws {
        let body = EtcdGateway.watchBody(prefix: Array("/a".utf8), after: 41)
        let asked = try #require(try JSONTree(reading: body)["create_request"])
        #expect(asked["start_revision"]?.text == "42")
        #expect(asked["key"]?.text == "L2E=" && asked["range_end"]?.text == "L2I=")
    }

    private static func event(_ key: String, _ revision: Int) -> String {
        #"{"kv":{"key":"\#(key)","mod_revision":"\#(revision)","value":"AQ=="}}"#
    }

    private static func read(
        _ text: String, after revision: Int64 = 3, by size: Int
    ) -> (revisions: [[Int64]], end: EtcdWatchReader.End?, revision: Int64) {
        var reader = EtcdWatchReader(after: revision)
        var seen: [[Int64]] = []
        var end: EtcdWatchReader.End?
        let bytes = Array(text.utf8)
        var at = 0
        while at < bytes.count, end == nil {
            let part = Array(bytes[at..<min(at + size, bytes.count)])
            end = part.withUnsafeBytes { part in
                reader.take(part) { seen.append($0.map(\.revision)) }
            }
            at += size
        }
        return (seen, end, reader.revision)
    }

    @Test(
        "S2: changes come revision by revision, however the network cuts them",
        arguments: [1, 7, 4096])
    func watchReads(_ size: Int) {
        let text = [
            #"{"result":{"header":{"revision":"3"},"created":true}}"#,
            #"{"result":{"header":{},"events":["#
                + [Self.event("YQ==", 4), Self.event("Yg==", 4), Self.event("YQ==", 6)]
                .joined(separator: ",") + "]}}",
            #"{"result":{"header":{"revision":"6"}}}"#,
            #"{"result":{"fragment":true,"events":[\#(Self.event("YQ==", 9))]}}"#,
            #"{"result":{"events":[\#(Self.event("Yg==", 9))]}}"#, "",
        ].joined(separator: "\n")
        let seen = Self.read(text, by: size)
        #expect(seen.revisions == [[4, 4], [6], [9, 9]])
        #expect(seen.end == nil && seen.revision == 9)
    }

    @Test("S2: half a revision is not handed over, and comes again after a break")
    func watchBreaks() {
        let half = #"{"result":{"fragment":true,"events":[\#(Self.event("YQ==", 9))]}}"# + "\n"
        let seen = Self.read(half, by: 4096)
        #expect(seen.revisions.isEmpty && seen.revision == 3)
        // Neither half a line nor half a revision is left behind a break.
        var reader = EtcdWatchReader(after: 3)
        var seenAfter: [[Int64]] = []
        for text in [half, #"{"result":{"eve"#] {
            _ = Array(text.utf8).withUnsafeBytes { part in
                reader.take(part) { seenAfter.append($0.map(\.revision)) }
            }
        }
        reader.begin()
        let whole =
            #"{"result":{"events":[\#(Self.event("YQ==", 9)),\#(Self.event("Yg==", 9))]}}"# + "\n"
        let end = Array(whole.utf8).withUnsafeBytes { part in
            reader.take(part) { seenAfter.append($0.map(\.revision)) }
        }
        #expect(end == nil && seenAfter == [[9, 9]])
        let again = Self.read(
            #"{"result":{"events":[\#(Self.event("YQ==", 3)),\#(Self.event("YQ==", 5))]}}"# + "\n",
            by: 4096)
        #expect(again.revisions == [[5]])
    }

    @Test("S2: history that is gone ends a watch; everything else is begun again")
    func watchEnds() {
        let gone =
            #"{"result":{"canceled":true,"compact_revision":"40","cancel_reason":"compacted"}}"#
        #expect(Self.read(gone + "\n", by: 5).end == .gone)
        let others = [
            #"{"result":{"canceled":true,"cancel_reason":"permission denied"}}"#,
            #"{"error":{"grpc_code":14,"message":"etcdserver: no leader"}}"#, "nonsense",
            #"{"result":{"events":[{"kv":{"key":"YQ=="}}]}}"#,
        ]
        for text in others {
            guard case .broken = Self.read(text + "\n", by: 4096).end else {
                Issue.record("\(text) does not break the watch")
                continue
            }
        }
    }
}
