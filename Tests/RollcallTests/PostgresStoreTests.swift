import Foundation
import RollcallCluster
import RollcallCore
import Testing

@testable import RollcallBasis
@testable import RollcallSupport

/// S2, S3, S8, S11, S12: the turn log on a real PostgreSQL. Without one on this machine nothing is
/// tested.
@Suite(.serialized, .enabled(if: RunningPostgres.isThere))
struct PostgresStoreTests {
    private static func store(
        _ url: String, isSingleCopy: Bool = false, timeout: Int64 = 1000,
        table: String = "rollcall_log"
    ) -> PostgresStore {
        var settings = PostgresSettings(url: url)
        settings.timeout = Milliseconds(timeout)
        settings.isSingleCopy = isSingleCopy
        settings.table = table
        return PostgresStore(settings)
    }

    private static func run(
        _ store: PostgresStore, _ transaction: KeyValueTransaction
    ) throws -> KeyValueOutcome {
        try TurnLogExercise.wait { store.run(transaction, reply: $0) }
    }

    private static func put(_ value: UInt8) -> KeyValueTransaction {
        KeyValueTransaction([.put(key: [107], value: [value])])
    }

    private static let get = KeyValueTransaction([.get(key: [107])])

    /// The value that a read shows; nil if it is not answered.
    private static func value(_ store: PostgresStore) throws -> UInt8? {
        guard case .answered(let answer) = try run(store, get) else { return nil }
        return answer.found.first?.first?.value.first
    }

    private static func why(_ outcome: KeyValueOutcome) -> String {
        switch outcome {
        case .answered: "answered"
        case .notRun(let why): "not run: \(why)"
        case .unknown(let why): "unknown: \(why)"
        }
    }

    @Test("S2, S8, S12: the turn log on PostgreSQL: made, appended to, beaten, read, trimmed")
    func turnLog() throws {
        let postgres = try RunningPostgres()
        // The first host is nobody's: what certainly reached nobody goes to the next.
        let url = postgres.url.replacing("@127", with: "@127.0.0.1:1,127")
        let store = Self.store(url, isSingleCopy: true)
        defer { store.close() }
        try TurnLogExercise.run(on: store)
        // A role that may do nothing but this is enough.
        try postgres.sql("CREATE ROLE plain LOGIN; CREATE SCHEMA AUTHORIZATION plain")
        let plain = Self.store(
            postgres.url().replacing("rollcall@", with: "plain@"), isSingleCopy: true,
            table: "plain.log")
        defer { plain.close() }
        guard case .answered = try Self.run(plain, Self.put(1)) else {
            Issue.record("\(Self.why(try Self.run(plain, Self.put(1))))")
            return
        }
        // Bytes that no text holds, an empty value, and what is compared to nothing.
        let transaction = KeyValueTransaction(
            if: [.absent(key: [0]), .value(key: [107], is: [1])],
            [
                .put(key: [0, 255], value: []), .get(key: [0, 255]),
                .delete(from: [107], to: [108]),
            ],
            otherwise: [.get(key: [107])])
        guard case .answered(let first) = try Self.run(plain, transaction),
            case .answered(let second) = try Self.run(plain, transaction)
        else {
            Issue.record("not answered")
            return
        }
        #expect(first.isTrue && first.found == [[.init(key: [0, 255], value: [], revision: 3)]])
        #expect(!second.isTrue && second.found == [[]])
    }

    @Test("What would not outlive the machine is refused, and said in one sentence")
    func refusals() throws {
        let postgres = try RunningPostgres()
        let strict = Self.store(postgres.url())
        defer { strict.close() }
        #expect(
            Self.why(try Self.run(strict, Self.put(1)))
                == "not run: synchronous_standby_names is empty at this PostgreSQL: what it "
                + "acknowledges is on one machine; name a standby there, or set "
                + "cluster.log.postgres.single_copy")
        let single = Self.store(postgres.url(), isSingleCopy: true)
        defer { single.close() }
        guard case .answered = try Self.run(single, Self.put(1)) else {
            Issue.record("one copy is allowed")
            return
        }
        // Changed while it is connected.
        try postgres.sql("ALTER SYSTEM SET fsync = off")
        try postgres.sql("SELECT pg_reload_conf()")
        usleep(200_000)
        #expect(Self.why(try Self.run(single, Self.put(2))).hasPrefix("not run: fsync is off"))
        try postgres.sql("ALTER SYSTEM RESET fsync")
        try postgres.sql("SELECT pg_reload_conf()")
        usleep(200_000)
        #expect(try Self.value(single) == 1)
        // S11: as a dump that was restored elsewhere would show it.
        try postgres.sql("UPDATE rollcall_log SET value = '1 4711 1' WHERE key = ''")
        #expect(
            Self.why(try Self.run(single, Self.get)).contains("it was restored from a dump"))
        // As data files of before a fail-over would show it.
        let system = try postgres.sql("SELECT system_identifier FROM pg_control_system()")
        try postgres.sql("UPDATE rollcall_log SET value = '1 \(system) 9' WHERE key = ''")
        #expect(Self.why(try Self.run(single, Self.get)).contains("it is an older copy"))
        let nobody = Self.store("postgresql://127.0.0.1:1/x")
        defer { nobody.close() }
        #expect(Self.why(try Self.run(nobody, Self.get)).hasPrefix("not run: "))
        let senseless = Self.store("postgresql://x?colour=red")
        defer { senseless.close() }
        #expect(
            Self.why(try Self.run(senseless, Self.get)).hasPrefix(
                "not run: cluster.log.postgres.url: "))
    }

    @Test("S3: without its standby nothing is acknowledged or read; a cancelled wait is unknown")
    func withoutStandby() throws {
        let postgres = try RunningPostgres(isReplicated: true)
        let store = Self.store(postgres.url)
        defer { store.close() }
        guard case .answered = try Self.run(store, Self.put(1)) else {
            Issue.record("not put")
            return
        }
        postgres.kill(1)
        #expect(Self.why(try Self.run(store, Self.put(2))) == "unknown: no answer in time")
        // Somebody cancels what waits: the row is visible, and proves nothing.
        try postgres.sql(
            "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'")
        usleep(100_000)
        #expect(
            try postgres.sql("SELECT get_byte(value, 0) FROM rollcall_log WHERE key = 'k'") == "2")
        #expect(try Self.value(store) == nil)
        // A wait that is cancelled in time is told by a notice, and unknown.
        let patient = Self.store(postgres.url, timeout: 5000)
        defer { patient.close() }
        let outcome: KeyValueOutcome = try TurnLogExercise.wait { reply in
            patient.run(Self.put(3), reply: reply)
            usleep(1_000_000)
            _ = try? postgres.sql(
                "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'")
        }
        #expect(
            Self.why(outcome)
                == "unknown: canceling wait for synchronous replication due to user request (01000)"
        )
        // A standby alone is none to write at.
        try postgres.start(1)
        let standby = Self.store(postgres.url(1))
        defer { standby.close() }
        #expect(
            Self.why(try Self.run(standby, Self.get))
                == "not run: this PostgreSQL is in recovery: it is a standby, and takes no writes")
        let isBack = SharedLedger.wait(20) { (try? Self.value(store)) == 3 }
        #expect(isBack)
    }

    @Test(
        "S3, S11: a standby that becomes the primary is found; the old primary is not gone back to")
    func failOver() throws {
        let postgres = try RunningPostgres(isReplicated: true)
        let store = Self.store(postgres.url)
        defer { store.close() }
        guard case .answered(let answer) = try Self.run(store, Self.put(1)) else {
            Issue.record("not put")
            return
        }
        let news = Mailbox<KeyValueNews>()
        store.watch(prefix: [107], after: answer.revision) { news.put($0) }
        // The standby is promoted while the old primary lives: this waits for nobody's answer.
        try postgres.promote(1)
        try postgres.addStandby(of: 1)
        try postgres.waitForStandbys("*", at: 1)
        let isFound = SharedLedger.wait(40) {
            if case .answered = try? Self.run(store, Self.put(2)) { return true }
            return false
        }
        #expect(isFound)
        let told = SharedLedger.wait(10) {
            news.takeAll(waiting: 100).contains {
                if case .changed(let rows) = $0 { return rows.last?.value == [2] }
                return false
            }
        }
        #expect(told, "the watch does not follow")
        postgres.kill(1)
        // The old primary would take it.
        try postgres.sql("ALTER SYSTEM SET synchronous_standby_names = ''", at: 0)
        try postgres.sql("SELECT pg_reload_conf()", at: 0)
        usleep(1_200_000)
        let outcome = try Self.run(store, Self.put(3))
        guard case .notRun = outcome else {
            Issue.record("\(Self.why(outcome))")
            return
        }
    }
}
