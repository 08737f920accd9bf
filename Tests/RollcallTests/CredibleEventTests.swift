import RollcallCore
import Testing

@testable import Rollcall

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
        ("refused", #"{"count":-1}"#), ("turn", #"{"late_ms":9223372036854774784}"#),
        ("clock", #"{"step_ms":-3155760000001}"#), ("wake", #"{"people":[-7]}"#),
        ("wake", #"{"people":[9223372036854775807]}"#),
        ("erase", #"{"person":9223372036854775807,"hash":"00000000000000aa"}"#),
        (
            "outcome",
            #"{"push":1,"person":9223372036854775807,"kind":"nudge","outcome":"delivered"}"#
        ),
    ])
    func `a line that says what nobody can have said is refused`(kind: String, body: String) {
        #expect(throws: ReplayError.self) { try replay(kind, body) }
    }

    @Test(arguments: [
        ("refused", #"{"count":1000000000}"#), ("refused", #"{"count":0}"#),
        ("turn", #"{"late_ms":3155760000000}"#), ("wake", #"{"people":[0,2147483646]}"#),
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
        #expect(isTaken(EventCode.clock, numbers: [-Self.century]))
        #expect(!isTaken(EventCode.clock, numbers: [.min]))
        #expect(!isTaken(EventCode.turn, numbers: [.min]))
        #expect(!isTaken(EventCode.erase, numbers: [7, .max], name))
    }

    @Test func `an item with a number that no scanner writes makes no sense`() throws {
        func item(_ body: String) throws -> [UInt8] {
            let scan = try ItemScanner.scan(Array(body.utf8).span, kind: .batch)
            return scan.items.bytes
        }
        let begins = EventCode.begins | ItemKind.batch.rawValue
        let plain = try item(#"{"responder_id":"a"}"#)
        #expect(isTaken(begins, plain))
        let told = try item(#"{"responder_id":"a","received_at":253402300799999}"#)
        #expect(isTaken(begins, told))
        let updates = try item(
            #"{"responder_id":"a","updates":[{"sequence":9223372036854775807}]}"#)
        #expect(isTaken(begins, updates))
        // Tags 2 and 12: when it was told, and the battery.
        #expect(!isTaken(begins, plain + [2] + [UInt8](repeating: 0xFF, count: 8) + [0x7F]))
        #expect(!isTaken(begins, plain + [12, 0xFF, 0x7F]))
        #expect(!isTaken(begins, Array(updates.dropLast())))
        #expect(!isTaken(begins, [ItemKind.batch.rawValue]))
    }
}
