import Foundation
import RollcallCluster
import RollcallCore
import Testing

@testable import RollcallBasis
@testable import RollcallSupport

/// S1 to S4, S8: three members on a real PostgreSQL and its synchronous standby, by the machine's
/// clock; as on etcd.
@Suite(.serialized, .enabled(if: RunningPostgres.isThere))
struct MembersOnPostgresTests {
    @Test("S1, S2, S4, S8: a leader that is stopped, a primary that dies, a standby that is away")
    func faults() throws {
        let postgres = try RunningPostgres(isReplicated: true)
        let ledger = SharedLedger()
        let hosts = (0..<3).map { number in
            var settings = PostgresSettings(url: postgres.url)
            settings.timeout = Milliseconds(1000)
            let store = PostgresStore(settings)
            return MemberHost(number, store, ledger) { store.close() }
        }
        defer { for host in hosts { host.isClosed.store(true, ordering: .relaxed) } }
        for host in hosts { host.start() }
        let leader = { hosts.first { $0.leads.load(ordering: .relaxed) } }
        #expect(ledger.goesOn(30), "nobody leads")
        for _ in 0..<2 {
            // Its successor leads while it sleeps, and it steps down when it wakes.
            let stopped = try #require(leader())
            stopped.isPaused.store(true, ordering: .relaxed)
            usleep(300_000)
            let others = hosts.filter { $0 !== stopped }
            #expect(SharedLedger.wait(20) { others.contains { $0.leads.load(ordering: .relaxed) } })
            #expect(ledger.goesOn(20), "nobody took over")
            stopped.isPaused.store(false, ordering: .relaxed)
            #expect(SharedLedger.wait(10) { !stopped.leads.load(ordering: .relaxed) })
        }
        // The primary dies under load, and comes back.
        postgres.kill(0)
        usleep(300_000)
        try postgres.start(0)
        #expect(ledger.goesOn(30), "it does not go on with the primary")
        // Without a standby nothing is acknowledged; with it everything goes on.
        postgres.kill(1)
        usleep(1_500_000)
        let before = ledger.count
        usleep(1_000_000)
        #expect(ledger.count == before)
        try postgres.start(1)
        #expect(ledger.goesOn(30), "it does not go on with the standby")
        // The standby becomes the primary, of a standby of its own.
        postgres.kill(0)
        try postgres.promote(1)
        try postgres.addStandby(of: 1)
        try postgres.waitForStandbys("*", at: 1)
        #expect(ledger.goesOn(40), "it does not go on at the new primary")
        for host in hosts { #expect(SharedLedger.wait(10) { host.chain.count > before / 2 }) }
        try ledger.judge(hosts)
        #expect(ledger.state.withLock { $0.leaders.count } >= 3)
    }
}
