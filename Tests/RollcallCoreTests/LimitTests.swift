import RollcallCore
import Testing

/// Limits of what is read and remembered that no other suite stands at the edge of.
@Suite struct LimitTests {
    /// Problems of one item that holds `field` with so many bytes.
    private func problems(_ field: String, _ bytes: Int, _ kind: ItemKind) throws -> [String] {
        let value = String(repeating: "x", count: bytes)
        let more = kind == .transition ? ",\"from\":\"ONLINE\",\"to\":\"OFFLINE\"" : ""
        let body = "{\"responder_id\":\"a\",\"\(field)\":\"\(value)\"\(more)}"
        let result = try ItemScanner.scan(Array(body.utf8).span, kind: kind)
        #expect(result.items.count == 1)
        return result.problems.map(\.pointer)
    }

    @Test(arguments: [
        ("region", ItemKind.batch, 128), ("install_id", .batch, 128), ("os_version", .batch, 128),
        ("app_version", .batch, 128), ("id", .transition, 128), ("region", .responder, 128),
        ("push_token", .responder, 1024),
    ])
    func `a text is taken up to its limit, and not with one byte more`(
        field: String, kind: ItemKind, limit: Int
    ) throws {
        #expect(try problems(field, limit, kind) == [])
        #expect(try problems(field, limit + 1, kind) == ["/\(field)"])
    }

    /// F14.
    @Test(arguments: [(20, UpdateOutcome.late), (21, .accepted)])
    func `the ids of sixteen forgotten installs are kept, and not of one more`(
        installs: Int, outcome: UpdateOutcome
    ) {
        #expect(SequenceLedger.installsMax + SequenceLedger.forgottenMax == 20)
        var ledger = SequenceLedger()
        var resets = 0
        for install in 1...installs {
            let update = Update(sequence: 5, capturedAt: nil, isCached: false)
            #expect(ledger.take(update, id: UInt64(install), resets: &resets).outcome == .accepted)
        }
        let late = Update(sequence: 6, capturedAt: nil, isCached: false)
        #expect(ledger.take(late, id: 1, resets: &resets).outcome == outcome)
    }
}
