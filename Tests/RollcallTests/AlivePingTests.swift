import Glibc
import RollcallCore
import Synchronization
import Testing

@testable import Rollcall
@testable import RollcallBasis

@Suite struct AlivePingTests {
    private static let fine = Health(
        committedAt: 1_000_000, evaluatedAt: 1_000_000, messageWaitsSince: nil, isBlind: false,
        isStoreFailing: false)

    private static func health(_ change: (inout Health) -> Void) -> Health {
        var health = fine
        change(&health)
        return health
    }

    private static func settings(_ url: String?, every: Int64) -> AlivePingSettings {
        var settings = AlivePingSettings()
        settings.url = url
        settings.every = Milliseconds(every)
        return settings
    }

    /// Pings that were due.
    private static func total(_ edge: EdgeStats) -> Int {
        AlivePing.Outcome.allCases.map { edge.pings($0) }.reduce(0, +)
    }

    // MARK: - Whether

    @Test func `a watch that works has no fault`() {
        #expect(Self.fine.fault(at: 1_000_000) == nil)
    }

    @Test func `what is fifteen seconds old is too old, a millisecond before it is not`() {
        #expect(Self.fine.fault(at: 1_014_999) == nil)
        #expect(Self.fine.fault(at: 1_015_000) == .noCommit)
        let evaluated = Self.health { $0.committedAt = 1_010_000 }
        #expect(evaluated.fault(at: 1_014_999) == nil)
        #expect(evaluated.fault(at: 1_015_000) == .noEvaluation)
    }

    @Test func `a critical message that waits for two minutes is a fault`() {
        let waits = Self.health { $0.messageWaitsSince = 880_001 }
        #expect(waits.fault(at: 1_000_000) == nil)
        #expect(waits.fault(at: 1_000_001) == .messageWaits)
    }

    @Test func `a blind watch and a failing store are faults, the store first`() {
        #expect(Self.health { $0.isBlind = true }.fault(at: 1_000_000) == .blind)
        let both = Self.health {
            $0.isBlind = true
            $0.isStoreFailing = true
        }
        #expect(both.fault(at: 1_000_000) == .storeFailing)
    }

    @Test func `a clock beyond all measure is no trap`() {
        let odd = Self.health { $0.committedAt = Int64.min }
        _ = odd.fault(at: Int64.max)
    }

    // MARK: - The thread

    @Test func `it is sent while the watch works, withheld while not, and each trouble told once`()
        throws
    {
        let server = try CannedServer(["/ping/t0ken": "OK"])
        defer { server.stop() }
        let board = HealthBoard()
        let capture = LogCapture()
        let edge = EdgeStats()
        let ping = AlivePing(
            board: board, edge: edge, log: capture.logger, clock: { 1_000_000 })
        // The clock stands still, so each order is due once.
        var order: Int64 = 1
        func next(_ change: ((inout Health) -> Void)?) -> Bool {
            if let change { board.publish(Self.health(change)) }
            let before = Self.total(edge)
            order += 1
            ping.follow(Self.settings("\(server.url)/ping/t0ken", every: order))
            return isTrueSoon { Self.total(edge) > before }
        }
        ping.start()
        #expect(next(nil))
        #expect(next { _ in })
        #expect(next { $0.isBlind = true })
        #expect(next { $0.isBlind = true })
        #expect(next { $0.isStoreFailing = true })
        #expect(next { _ in })
        ping.close()
        #expect(edge.pings(.sent) == 2 && edge.pings(.withheld) == 4)
        #expect(server.questions == ["/ping/t0ken", "/ping/t0ken"])
        // The last of them is written once its ping is counted.
        #expect(isTrueSoon { capture.lines.count == 5 })
        #expect(
            capture.lines == [
                "warning the alive ping is withheld reason=it has not begun to watch",
                "info the alive ping is sent again",
                "warning the alive ping is withheld reason=the watch is blind",
                "warning the alive ping is withheld reason=the store does not take commits",
                "info the alive ping is sent again",
            ])
    }

    @Test func `it is repeated, and a failure is told once, without the path`() throws {
        let server = try CannedServer([:])
        defer { server.stop() }
        let board = HealthBoard()
        board.publish(Self.fine)
        let capture = LogCapture()
        let time = Mutex<Int64>(1_000_000)
        let edge = EdgeStats()
        let ping = AlivePing(
            board: board, edge: edge, log: capture.logger, clock: { time.withLock { $0 } })
        ping.follow(Self.settings("\(server.url)/ping/t0ken", every: 20))
        ping.start()
        for count in 1...3 {
            #expect(isTrueSoon { edge.pings(.failed) == count })
            time.withLock { $0 += 20 }
        }
        ping.close()
        let place = server.url
        #expect(capture.lines == ["warning the alive ping failed error=\(place): answered 404"])
    }

    @Test func `without a URL nothing is sent`() {
        let edge = EdgeStats()
        let ping = AlivePing(board: HealthBoard(), edge: edge, log: LogCapture().logger)
        ping.start()
        ping.follow(Self.settings(nil, every: 10))
        usleep(100_000)
        ping.close()
        #expect(AlivePing.Outcome.allCases.allSatisfy { edge.pings($0) == 0 })
    }
}
