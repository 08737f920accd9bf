import Foundation
import RollcallCore
import Synchronization
import Testing

@testable import Rollcall
@testable import RollcallBasis
@testable import RollcallSupport

/// Writes that a member passes on to the leader, and positions. Source: S15.
@Suite struct PassingOnTests {
    @Test func `S15: every read of v1 takes a position, and nothing else does`() throws {
        let document = try #require(
            try JSONSerialization.jsonObject(with: Data(OpenAPI.bytes)) as? [String: Any])
        let paths = try #require(document["paths"] as? [String: [String: Any]])
        for route in Route.all {
            let operation = paths[route.resource.path]?[route.method.rawValue.lowercased()]
            let parameters = (operation as? [String: Any])?["parameters"] as? [[String: Any]] ?? []
            let takes = parameters.contains {
                $0["$ref"] as? String == "#/components/parameters/atLeast"
            }
            let isRead =
                route.method == .get && route.resource.path.hasPrefix("/v1/")
                && route.resource != .session
            #expect(takes == isRead, "\(route.name)")
        }
    }

    @Test func `S15: every write is the leader's but what is asked of one member`() {
        let passed = Route.all.filter(\.isPassedOn)
        let ofOne = [
            "reload", "signIn", "signOut", "drainClusterMember", "joinClusterMember",
            "adoptClusterLog",
        ]
        #expect(
            Set(Route.all.filter { $0.method != .get }.map(\.name)).union(Self.inputs)
                == Set(passed.map(\.name) + ofOne))
        #expect(passed.allSatisfy { !ofOne.contains($0.name) })
        // What libcurl may send twice: what changes nothing the second time.
        let twice = [
            "postBatches", "postResponders", "putResponders", "eraseResponder", "postHeartbeat",
            "deleteHeartbeat", "putCells",
        ]
        #expect(Set(passed.filter(\.isRepeatable).map(\.name)) == Self.inputs.union(twice))
    }

    /// The routes of inputs, to which phones may write by GET, too (M3).
    private static let inputs: Set<String> = [
        "postInput", "putInput", "getInput", "postInputBelow", "putInputBelow", "getInputBelow",
    ]

    @Test func `S15: a target goes on as it came`() {
        var request = HTTPRequest(method: "DELETE", path: "/v1/responders/r%2F1%20a")
        #expect(Router.target(of: request) == "/v1/responders/r%2F1%20a")
        request.query = [("source", "pod a&b=%/ü+"), ("strict", ""), ("a b", "1")]
        #expect(
            Router.target(of: request)
                == "/v1/responders/r%2F1%20a?source=pod%20a%26b%3D%25%2F%C3%BC%2B&strict=&a%20b=1")
    }

    @Test func `S15: the time at the member before is left out, and no more than it can have been`()
    {
        var request = HTTPRequest(method: "POST", path: "/v1/batches")
        #expect(request.heardAgo == Milliseconds(0))
        for (value, count) in [
            ("37", 37), ("0", 0), ("-5", 0), ("soon", 0), ("", 0), ("4500", 4500), ("4501", 4500),
            ("9223372036854775807", 4500), ("9223372036854775808", 0),
        ] as [(String, Int64)] {
            request.passedOn = value
            #expect(request.heardAgo == Milliseconds(count), "\(value)")
            #expect(RequestSending(request).heardAgo == Milliseconds(count))
        }
    }

    // MARK: - Calls

    private final class Answers: Sendable {
        private let list = Mutex<[(PassedOnStats.Outcome, HTTPCallAnswer?)]>([])
        var all: [(PassedOnStats.Outcome, HTTPCallAnswer?)] { list.withLock { $0 } }
        func add(_ outcome: PassedOnStats.Outcome, _ answer: HTTPCallAnswer?) {
            list.withLock { $0.append((outcome, answer)) }
        }
    }

    private static var now: Int64 { ClockReading.now().elapsed }

    @Test func `S15: the leader sees how long it was here, and its fields come back`() throws {
        let seen = ReplyCounter()
        let server = try HTTPServer(listener: try HTTPListener(address: "127.0.0.1:0")) {
            request, reply in
            let had = Int(request.passedOn ?? "") ?? -1
            seen.add("\(request.method) \(request.path) \((250...2000).contains(had))")
            reply.answer(
                HTTPResponse(
                    status: 202,
                    headers: [("Location", "/x"), ("Rollcall-Position", "7"), ("X-Other", "1")],
                    body: request.body))
        }
        defer { server.stop() }
        let caller = LeaderCaller()
        defer { caller.close() }
        let answers = Answers()
        var call = HTTPCall(.delete, "http://127.0.0.1:\(server.port)/v1/responders/a")
        call.fieldsKept = ["Rollcall-Position", "Location", "Retry-After"]
        for _ in 0..<3 {
            caller.call(call, arrival: Self.now - 250) { answers.add($0, $1) }
        }
        #expect(isTrueSoon { answers.all.count == 3 })
        for (outcome, answer) in answers.all {
            #expect(outcome == .answered && answer?.status == 202)
            #expect(
                answer?.fields == [
                    HTTPCallAnswer.Field(name: "Location", value: "/x"),
                    HTTPCallAnswer.Field(name: "Rollcall-Position", value: "7"),
                ])
        }
        #expect(Set(seen.all) == ["DELETE /v1/responders/a true"])
    }

    @Test func `S15: who says nothing leaves it open, and beyond the limit nobody waits`() throws {
        // The kernel takes connections and requests; nobody answers.
        let silent = try HTTPListener(address: "127.0.0.1:0")
        defer { silent.close() }
        let caller = LeaderCaller()
        defer { caller.close() }
        let answers = Answers()
        let call = HTTPCall(.post, "http://127.0.0.1:\(silent.port)/v1/batches")
        let arrival = Self.now - LeaderCaller.patience.count + 1500
        for _ in 0..<LeaderCaller.callsMax {
            caller.call(call, arrival: arrival) { answers.add($0, $1) }
        }
        #expect(answers.all.isEmpty)
        caller.call(call, arrival: arrival) { answers.add($0, $1) }
        #expect(answers.all.map(\.0) == [.full])
        #expect(isTrueSoon { answers.all.count == LeaderCaller.callsMax + 1 })
        #expect(answers.all.dropFirst().allSatisfy { $0.0 == .unknown && $0.1 == nil })
        // There is room again; what had its time already is not even sent.
        caller.call(call, arrival: Self.now - 60_000) { answers.add($0, $1) }
        #expect(isTrueSoon { answers.all.count == LeaderCaller.callsMax + 2 })
        #expect(answers.all.last?.0 == .unreached)
    }

    @Test func `S15: where nobody listens nothing can have arrived`() throws {
        let gone = try HTTPListener(address: "127.0.0.1:0")
        let port = gone.port
        gone.close()
        let caller = LeaderCaller()
        let answers = Answers()
        let call = HTTPCall(.post, "http://127.0.0.1:\(port)/v1/batches")
        caller.call(call, arrival: Self.now) { answers.add($0, $1) }
        #expect(isTrueSoon { answers.all.count == 1 })
        #expect(answers.all.first?.0 == .unreached)
        // Once it is closed there is no room.
        caller.close()
        caller.call(call, arrival: Self.now) { answers.add($0, $1) }
        #expect(answers.all.last?.0 == .full)
    }
}
