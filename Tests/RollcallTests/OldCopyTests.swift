import Glibc
import RollcallCore
import Synchronization
import Testing

@testable import Rollcall

/// Holds up who waits for its end.
private final class Hold: Sendable {
    private let isOver = Atomic(false)

    func wait() { while !isOver.load(ordering: .relaxed) { usleep(1000) } }

    func end() { isOver.store(true, ordering: .relaxed) }
}

/// What is told of a present that the state writer has no time to tell (J8, D1).
@Suite struct OldCopyTests {
    private static let page = Array(
        """
        # HELP rollcall_watching 1 while the watch can see; 0 while it is blind.
        rollcall_watching 1
        # TYPE rollcall_snapshot_age_seconds gauge
        rollcall_snapshot_age_seconds 0
        process_cpu_seconds_total 1.5

        """.utf8)

    private func told(_ age: Int64) -> [String] {
        let page = MetricsExposition.aged(Self.page, by: Milliseconds(age))
        return String(decoding: page, as: UTF8.self).split(separator: "\n").map(String.init)
            .filter { !$0.hasPrefix("#") }
    }

    @Test func `J8: a copy tells its age, and beyond 5 s it watches no more`() {
        #expect(
            told(250) == [
                "rollcall_watching 1", "rollcall_snapshot_age_seconds 0.25",
                "process_cpu_seconds_total 1.5",
            ])
        #expect(told(5000)[0] == "rollcall_watching 1")
        #expect(
            told(5001).prefix(2) == ["rollcall_watching 0", "rollcall_snapshot_age_seconds 5.001"])
        #expect(
            told(61_000).prefix(2) == ["rollcall_watching 0", "rollcall_snapshot_age_seconds 61"])
        #expect(MetricsExposition.aged([], by: .seconds(9)).isEmpty)
    }

    @Test func `a loop may stand still for 5 s before what it says is no present any more`() {
        let loopHealth = LoopHealth {}
        #expect(
            loopHealth.still(for: MetricsExposition.presentFor, at: .max) == nil,
            "it did not begin yet")
        loopHealth.turned(at: 1000)
        #expect(loopHealth.still(for: MetricsExposition.presentFor, at: 6000) == nil)
        #expect(loopHealth.still(for: MetricsExposition.presentFor, at: 6001) == Milliseconds(5001))
    }

    @Test func `J8: while the state writer is held up scrapes and probes say so`() throws {
        let directory = TemporaryDirectory()
        let server = try HistoryServer(directory)
        defer { server.stop() }
        func value(_ name: String) throws -> Double? {
            let answer = try server.answer("/metrics")
            #expect(answer.status == 200)
            let line = answer.body.split(separator: "\n").first { $0.hasPrefix("\(name) ") }
            return line.flatMap { Double($0.dropFirst(name.count + 1)) }
        }
        #expect(try value("rollcall_snapshot_age_seconds") == 0)
        #expect(try server.answer("/-/ready").status == 200)
        let hold = Hold()
        server.writer.ask { _ in hold.wait() }
        do {
            defer { hold.end() }
            #expect(isTrueSoon { (try? value("rollcall_snapshot_age_seconds") ?? 0) ?? 0 > 0 })
            #expect(try value("rollcall_watching") == 1)
            #expect(isTrueSoon { (try? value("rollcall_snapshot_age_seconds") ?? 0) ?? 0 > 5 })
            #expect(try value("rollcall_watching") == 0)
            let answer = try server.answer("/-/ready")
            #expect(answer.status == 503)
            #expect(answer.body.contains("the keeper has not answered for "))
            #expect(try server.answer("/-/healthy").status == 200)
        }
        #expect(isTrueSoon { (try? value("rollcall_snapshot_age_seconds")) == 0 })
        #expect(isTrueSoon { (try? server.answer("/-/ready").status) == 200 })
        #expect(try value("rollcall_watching") == 1)
    }
}
