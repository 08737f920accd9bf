import Testing

@testable import RollcallBasis
@testable import RollcallSupport

/// What is made of what an etcd says of itself. Source: S17.
@Suite struct LogCheckTests {
    private static func judged(
        version: String = "3.5.21", used: String = "1048576", metrics: String? = healthy
    ) -> LogCheck {
        var check = LogCheck()
        EtcdFacts(
            status: ["version": .text(version), "dbSizeInUse": .text(used)], metrics: metrics
        ).examine(at: "http://e1", &check)
        return check
    }

    private static let healthy = """
        # HELP etcd_server_quota_backend_bytes Current backend storage quota size in bytes.
        etcd_server_quota_backend_bytes 2.147483648e+09
        etcd_disk_wal_fsync_duration_seconds_count 6
        etcd_server_proposals_applied_total 5
        """

    @Test func `S17: one that is set up well is told, and nothing is held against it`() {
        let check = Self.judged()
        #expect(check.found == ["etcd 3.5.21 at http://e1, quota 2048 MiB, 1 MiB used"])
        #expect(check.refused == [] && check.weak == [] && check.unasked == [])
        #expect(check.text == "log: etcd 3.5.21 at http://e1, quota 2048 MiB, 1 MiB used\n")
    }

    @Test func `S17: one that does not sync, or has no room, is refused`() {
        let unsynced = Self.healthy.replacing("seconds_count 6", with: "seconds_count 0")
        #expect(Self.judged(metrics: unsynced).refused.first?.contains("--unsafe-no-fsync") == true)
        #expect(Self.judged(used: "2147483648").refused.first?.contains("used up") == true)
        #expect(Self.judged(used: "1500000000").weak.first?.contains("60 %") == true)
        // One that has applied nothing yet has had nothing to sync.
        let new = unsynced.replacing("applied_total 5", with: "applied_total 0")
        #expect(Self.judged(metrics: new).refused == [])
    }

    @Test(arguments: [
        ("3.4.23", false), ("3.4.31", false), ("3.4.32", true), ("3.5.13", false), ("3.5.14", true),
        ("3.6.0-rc.1", true), ("4.0.0", true), ("3.3.27", false), ("", false), ("new", false),
    ])
    func `S17: a version that may leave a crash unnoticed is told`(version: String, isWell: Bool) {
        #expect(Self.judged(version: version).weak.isEmpty == isWell)
    }

    @Test func `S17: what an etcd without metrics does not tell is said`() {
        let check = Self.judged(metrics: nil)
        #expect(check.refused == [] && check.unasked.count == 2)
        #expect(check.text.contains("not known: whether etcd at http://e1 syncs its log"))
    }
}
