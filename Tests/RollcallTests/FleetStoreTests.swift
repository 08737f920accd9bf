import Glibc
import Testing

@testable import RollcallBasis
@testable import RollcallCore
@testable import RollcallStore
@testable import RollcallTools

@Suite struct FleetStoreTests {
    private static func settings(_ responders: Int, minutes: Int64) -> FleetSettings {
        FleetSettings(
            responders: responders, seed: 3, span: Milliseconds(minutes * 60_000))
    }

    private static func write(
        _ settings: FleetSettings, to path: String
    ) throws(FleetError) -> FleetHistory {
        var progress = ProgressLine(total: nil, unit: "minutes")
        return try FleetStore.write(
            settings, to: path, policy: Configuration().policy, truth: nil, progress: &progress)
    }

    @Test(arguments: [40, 600])
    func `a store of a fleet refolds to what it holds`(responders: Int) throws {
        let directory = TemporaryDirectory()
        let path = directory.path + "/fleet.db"
        let history = try Self.write(
            Self.settings(responders, minutes: responders > 100 ? 25 : 150), to: path)
        #expect(history.batches > 1000 && history.gaps > 5)
        let ready = try StateStore(path: path)
        let found = try ready.recover()
        #expect(found.rows == 0 && found.differences == 0)
        #expect(found.engine.roster.count == responders)
        #expect(found.engine.policy == Configuration().policy)
        // Without its checkpoint everything is decided again, and comes out the same (J3).
        try ready.journal.connection.run("DELETE FROM checkpoints")
        let again = try ready.recover()
        #expect(again.rows > history.batches && again.differences == 0)
        try ready.journal.close()
    }

    @Test func `C4: all dark time that was counted is in the store, also what time alone booked`()
        throws
    {
        let directory = TemporaryDirectory()
        let path = directory.path + "/fleet.db"
        _ = try Self.write(Self.settings(40, minutes: 150), to: path)
        let store = try StateStore(path: path)
        let totals = try store.recover().engine.counters.dark
        let kept = try ["contact_ms", "location_ms"].map { column in
            try StoreSurgery.run(path, "SELECT sum(\(column)) FROM dark")[0]
        }
        // Each is counted with its kind, and with all.
        let counted = [totals.contact, totals.location].map { $0.values.reduce(0, +) / 2 }
        #expect(kept == counted.map { "\($0)" })
        #expect(counted.allSatisfy { $0 > 0 })
        try store.journal.close()
    }

    @Test func `a store that is there is left alone`() throws {
        let directory = TemporaryDirectory()
        let path = directory.path + "/fleet.db"
        _ = try Self.write(Self.settings(3, minutes: 5), to: path)
        let error = #expect(throws: FleetError.self) {
            try Self.write(Self.settings(3, minutes: 5), to: path)
        }
        #expect(error?.exitCode == 64)
        #expect(error.map { "\($0)".contains("is there already") } == true)
    }

    @Test func `nothing is left of a store that could not be finished`() throws {
        let directory = TemporaryDirectory()
        let path = directory.path + "/missing/fleet.db"
        #expect(throws: FleetError.self) {
            try Self.write(Self.settings(3, minutes: 5), to: path)
        }
        #expect(access(path + ".part", F_OK) != 0)
    }

    @Test func `a file that holds something is left alone`() throws {
        let directory = TemporaryDirectory()
        let path = directory.path + "/fleet.ndjson"
        var progress = ProgressLine(total: nil, unit: "minutes")
        let settings = Self.settings(3, minutes: 5)
        let history = try FleetFile.write(
            settings, to: path, truth: directory.path + "/truth", progress: &progress)
        #expect(history.lines > 30 && history.bytes > 3000)
        #expect(throws: FleetError.self) {
            try FleetFile.write(settings, to: path, truth: nil, progress: &progress)
        }
    }
}
