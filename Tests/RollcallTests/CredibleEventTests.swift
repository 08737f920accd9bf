import RollcallCore
import Testing

@testable import RollcallStore

/// Files and rows can say what no scanner lets through: whoever reads them refuses it, so that no
/// arithmetic meets it. Found by fuzzing.
@Suite struct CredibleEventTests {
    private static let century: Int64 = 3_155_760_000_000

    private func replay(_ kind: String, _ body: String) throws -> Replay {
        var replay = Replay(policy: Policy())
        var output: [UInt8] = []
        let lines = [
            #"{"at":"2026-11-21T03:00:00Z","kind":"start"}"#,
            #"{"at":"2026-11-21T03:00:01Z","kind":"\#(kind)","body":\#(body)}"#,
            #"{"at":"2026-11-21T03:00:02Z","kind":"\#(kind)","body":\#(body)}"#,
            #"{"at":"2026-11-21T04:00:00Z","kind":"end"}"#,
        ]
        for line in lines { try replay.fold(Array(line.utf8), to: &output) }
        return replay
    }

    @Test(arguments: [
        ("refused", #"{"count":9223372036854774784}"#), ("refused", #"{"count":1000000001}"#),
        ("refused", #"{"count":-1}"#), ("clock", #"{"step_ms":-3155760000001}"#),
    ])
    func `a line that says what nobody can have said is refused`(kind: String, body: String) {
        #expect(throws: ReplayError.self) { try replay(kind, body) }
    }

    @Test(arguments: [
        ("refused", #"{"count":1000000000}"#), ("refused", #"{"count":0}"#),
        ("heartbeat", #"{"every_seconds":3600}"#),
    ])
    func `the most that somebody can have said is taken`(kind: String, body: String) throws {
        #expect(try replay(kind, body).engine.brokenInvariants() == [])
    }

    private func isTaken(_ kind: UInt8, numbers: [Int64], _ rest: [UInt8] = []) -> Bool {
        isTaken(kind, numbers.flatMap { PendingTurn.number($0) } + rest)
    }

    private func isTaken(_ kind: UInt8, _ body: [UInt8]) -> Bool {
        var replay = JournalReplay()
        return body.withUnsafeBytes {
            replay.take(JournalRow(id: 1, kind: kind, responder: 0, previous: 0, body: $0))
        }
    }

    @Test func `a row that says what nobody can have said makes no sense`() {
        let name = Array("pod".utf8)
        #expect(isTaken(EventCode.heartbeat, numbers: [30_000], name))
        #expect(isTaken(EventCode.heartbeat, numbers: [Self.century], name))
        #expect(!isTaken(EventCode.heartbeat, numbers: [Self.century + 1], name))
        #expect(!isTaken(EventCode.heartbeat, numbers: [-1], name))
        #expect(isTaken(EventCode.refused, numbers: [1_000_000_000]))
        #expect(!isTaken(EventCode.refused, numbers: [1_000_000_001]))
        #expect(!isTaken(EventCode.refused, numbers: [.max]))
    }
}
