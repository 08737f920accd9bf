import Foundation
import RollcallCluster
import RollcallCore
import Synchronization
import Testing

@testable import RollcallBasis
@testable import RollcallSupport

/// S1 to S4, S8: three members on a real etcd of three, by the machine's clock.
///
/// Their turns are numbers; what they hold is a chain of entries. The rules themselves are tried in
/// virtual time; here it is the adapter, its threads and time-outs, and an etcd that really dies.
@Suite(.serialized, .enabled(if: RunningEtcd.isThere))
struct MembersOnEtcdTests {
    @Test("S1, S2, S4, S8: a leader that is stopped, an etcd that dies, a majority that is away")
    func faults() throws {
        let etcd = try RunningEtcd(members: 3)
        let ledger = SharedLedger()
        let hosts = (0..<3).map { number in
            var settings = EtcdSettings(endpoints: etcd.endpoints)
            settings.timeout = Milliseconds(1000)
            let store = EtcdStore(settings)
            return MemberHost(number, store, ledger) { store.close() }
        }
        defer { for host in hosts { host.isClosed.store(true, ordering: .relaxed) } }
        for host in hosts { host.start() }
        let leader = { hosts.first { $0.leads.load(ordering: .relaxed) } }
        let count = { ledger.count }
        let goesOn = { (seconds: Int) in ledger.goesOn(seconds) }
        #expect(goesOn(30), "nobody leads")
        for round in 0..<2 {
            // Its successor leads while it sleeps, and it steps down when it wakes.
            let stopped = try #require(leader())
            stopped.isPaused.store(true, ordering: .relaxed)
            usleep(300_000)
            let others = hosts.filter { $0 !== stopped }
            #expect(SharedLedger.wait(20) { others.contains { $0.leads.load(ordering: .relaxed) } })
            #expect(goesOn(20), "nobody took over")
            stopped.isPaused.store(false, ordering: .relaxed)
            #expect(SharedLedger.wait(10) { !stopped.leads.load(ordering: .relaxed) })
            etcd.kill(round)
            #expect(goesOn(30), "two of three etcds are not enough")
            try etcd.start(round)
        }
        // Without a majority nothing is acknowledged; with it everything goes on.
        usleep(500_000)
        etcd.kill(0)
        etcd.kill(1)
        usleep(1_500_000)
        let before = count()
        usleep(1_000_000)
        #expect(count() == before)
        try etcd.start(0)
        try etcd.start(1)
        #expect(goesOn(30), "it does not go on")
        for host in hosts { #expect(SharedLedger.wait(10) { host.chain.count > before / 2 }) }
        try ledger.judge(hosts)
        #expect(ledger.state.withLock { $0.leaders.count } >= 3)
    }
}
