import Testing

@testable import RollcallCore

/// Who tries when an address does not answer (D2).
@Suite struct OutageTests {
    private typealias Stage = OutboxStage
    private static let pager = [Stage.receiver("oncall", .pagerduty)]
    /// Seconds between probes, as the rule says.
    private static let waits: [Int64] = [1, 2, 4, 8, 15, 30, 60, 120, 240, 300, 300, 300]

    private func critical(_ incident: Int64) -> NoticeMember {
        Stage.member(incident, severity: "critical")
    }

    /// Milliseconds between attempts.
    private func gaps(_ attempts: [OutboxStage.Attempt]) -> [Int64] {
        zip(attempts, attempts.dropFirst()).map { $1.at - $0.at }
    }

    /// Each wait is what it should be, give or take a fifth.
    private func expect(_ gaps: [Int64], around waits: [Int64]) {
        #expect(gaps.count == waits.count)
        for (gap, wait) in zip(gaps, waits) {
            #expect((wait * 800...min(wait * 1200, 300_000)).contains(gap), "\(gap) for \(wait) s")
        }
    }

    @Test(arguments: [1, 10, 200])
    func `D2: waits follow the length of an outage, not the number of messages that met it`(
        count: Int64
    ) {
        var stage = Stage(Self.pager)
        for incident in 1...count { stage.decide(.fired, [incident]) }
        let attempts = stage.pass(seconds: 2000, attemptsMax: 13) { _, _ in .failed }
        expect(gaps(attempts), around: Self.waits)
    }

    @Test func `D2: while something critical waits it is tried every 30 s`() {
        var stage = Stage(Self.pager)
        stage.decide(.fired, [1])
        stage.decide(.fired, [critical(2)])
        let attempts = stage.pass(seconds: 400) { _, _ in .failed }
        expect(
            gaps(attempts),
            around: Array(
                (Self.waits.prefix(6) + repeatElement(30, count: 40)).prefix(attempts.count - 1)))
        #expect(attempts.count > 12)
    }

    @Test func `D2: what is critical and new need not wait for a pause of minutes`() {
        var stage = Stage(Self.pager)
        stage.decide(.fired, [1])
        let attempts = stage.pass(seconds: 620) { _, _ in .failed }
        #expect(attempts.count == 10)
        // The last pause would go on for minutes.
        #expect(stage.turn() == [])
        stage.decide(.fired, [critical(2)])
        #expect(stage.turn() == ["2 fired [2] #1"])
    }

    @Test(arguments: [8, 60] as [Int64])
    func `D2: a pager away while ten alerts fire gets its first page seconds after it is back`(
        away: Int64
    ) {
        var stage = Stage(Self.pager)
        for incident in 1...10 as ClosedRange<Int64> {
            stage.decide(.fired, [incident == 1 ? critical(1) : Stage.member(incident)])
        }
        let attempts = stage.pass(seconds: 600, took: Milliseconds(50)) { at, _ in
            at < away * 1000 ? .failed : .delivered
        }
        let told = attempts.filter { $0.verdict == .delivered }
        // Within a wait: of those after 8 s the longest is 8 s, after a minute 30 s.
        let longest: Int64 = away == 8 ? 8 : 30
        #expect(told.first.map { $0.at <= away * 1000 + longest * 1200 } == true)
        // The rest goes out behind it, one after the other, and each once.
        #expect(Set(told.map(\.notice)).count == 10 && told.count == 10)
        #expect(gaps(told) == [Int64](repeating: 50, count: 9))
    }

    @Test func `D2: probes rotate, critical first, then what was tried least recently`() {
        var stage = Stage(Self.pager)
        stage.decide(.fired, [1])
        stage.decide(.fired, [2])
        stage.decide(.fired, [critical(3)])
        stage.decide(.fired, [critical(4)])
        let attempts = stage.pass(seconds: 200) { _, _ in .failed }
        #expect(attempts.prefix(8).map(\.notice) == [3, 4, 1, 2, 3, 4, 1, 2])
    }

    @Test(arguments: [false, true])
    func `D2: one message that an address cannot take holds nobody up`(isCritical: Bool) {
        var stage = Stage(Self.pager)
        stage.decide(.fired, [isCritical ? critical(1) : Stage.member(1)])
        for incident in 2...200 as ClosedRange<Int64> { stage.decide(.fired, [incident]) }
        let attempts = stage.pass(seconds: 3600) { _, notice in notice == 1 ? .failed : .delivered }
        let told = attempts.filter { $0.verdict == .delivered }
        #expect(told.count == 199)
        #expect(told.last.map { $0.at < 10_000 } == true)
        // It goes on being tried; alone it cannot be told from an outage.
        let failed = attempts.count - told.count
        #expect((isCritical ? 100...160 : 12...30).contains(failed))
    }

    @Test func `D2: too many requests stop it again, and Retry-After is heeded up to five minutes`()
    {
        for (wish, wanted) in [(120, 120_000), (300, 300_000), (90_000, 300_000)] {
            var stage = Stage(Self.pager)
            for incident in 1...5 as ClosedRange<Int64> {
                stage.decide(.fired, [critical(incident)])
            }
            var answers: [OutboxVerdict] = [.delivered, .delivered, .failed]
            let attempts = stage.pass(seconds: 3600, retryAfter: Int64(wish)) { _, _ in
                answers.isEmpty ? .delivered : answers.removeFirst()
            }
            #expect(attempts.map(\.notice) == [1, 2, 3, 4, 5, 3])
            #expect(gaps(attempts) == [0, 0, Int64(wanted), 0, 0])
        }
    }

    @Test func `D2: a receiver's wish outlasts a restart, waits of our own do not`() {
        for (wish, wanted) in [(nil, 0), (200, 200_000)] as [(Int64?, Int64)] {
            var stage = Stage(Self.pager)
            stage.decide(.fired, [1])
            _ = stage.pass(seconds: 30, retryAfter: wish) { _, _ in .failed }
            stage.restart(Self.pager)
            stage.decide(.fired, [2])
            let due = stage.waitForDue()
            #expect(wish == nil ? due == 0 : (wanted - 30_000...wanted).contains(due))
        }
    }

    @Test func `D2: waits are spread by a fifth, and differ by store and message`() {
        let times = OutboxTimes()
        for (failures, wait) in [(1, 1), (2, 2), (5, 15), (8, 120), (10, 300), (60, 300)] {
            let waits = (0..<400).map {
                times.probe(after: failures, isUrgent: false, seed: UInt64($0)).count
            }
            let bounds = Int64(wait) * 800...min(Int64(wait) * 1200, 300_000)
            #expect(waits.allSatisfy { bounds.contains($0) })
            #expect(Set(waits).count > 150)
        }
        #expect(times.probe(after: 10, isUrgent: true, seed: 1).count <= 36_000)
    }

    // MARK: - What it costs

    @Test func `twenty thousand messages go out in order, and what they tell is known`() {
        let count = Effort.count(20_000)
        var stage = Stage(Self.pager, messagesMax: 40_000)
        for incident in 1...count { stage.decide(.fired, [incident]) }
        let attempts = stage.pass(seconds: 10, attemptsMax: Int(count) + 1) { _, _ in .delivered }
        #expect(attempts.map(\.notice) == Array(1...count))
        stage.restart(Self.pager)
        for incident in 1...count { stage.decide(.resolved, [incident]) }
        let ends = stage.pass(seconds: 10, attemptsMax: Int(count) + 1) { _, _ in .delivered }
        #expect(ends.map(\.notice) == Array(count + 1...2 * count))
        #expect(stage.rows.values.allSatisfy { $0.state == .over })
    }

    @Test func `ten thousand dead letters come in one turn, the oldest first`() {
        var stage = Stage(Self.pager, messagesMax: 10_000)
        for incident in 1...20_000 as ClosedRange<Int64> { stage.decide(.fired, [incident]) }
        let lines = stage.turn()
        #expect(lines == (1...10_000).map { "\($0) expired" } + ["10001 fired [10001] #1"])
    }

    @Test func `a chat that knows twenty thousand is told of the first of them and how many`() {
        var stage = Stage([Stage.receiver("oncall", .slack)], messagesMax: 40_000)
        for first in stride(from: Int64(1), through: 20_000, by: 50) {
            stage.decide(.fired, Array(first..<first + 50))
        }
        _ = stage.pass(seconds: 10) { _, _ in .delivered }
        stage.decide(.fired, [20_001])
        let first = (1...99).map { "\($0)" }.joined(separator: " ")
        #expect(stage.turn() == ["401 fired [20001] of [\(first)] and 19901 more #1"])
    }
}
