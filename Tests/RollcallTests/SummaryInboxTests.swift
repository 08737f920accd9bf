import Testing

@testable import Rollcall
@testable import RollcallCore

/// What cells say, until a turn folds it. Source: K2.
@Suite struct SummaryInboxTests {
    private static func wall(_ milliseconds: Int64) -> Timestamp {
        Timestamp(milliseconds: 1_795_219_200_000 + milliseconds)
    }

    private static func summary(
        _ cell: String, through: Int64, changes: [Int64] = [], isWhole: Bool = false
    ) -> Summary {
        var summary = Summary()
        summary.cell = Array(cell.utf8)
        summary.position = through
        summary.through = wall(through)
        summary.isWhole = isWhole
        summary.changes = changes.map {
            Summary.Change(at: wall($0), region: Array("north".utf8))
        }
        return summary
    }

    private static func stamps(_ summaries: [Summary]) -> [[Int64]] {
        summaries.map { $0.changes.map { $0.at - wall(0) }.map(\.count) }
    }

    @Test func `K2: time stands where the cell that said least has said everything`() {
        var inbox = SummaryInbox()
        #expect(inbox.through(Self.wall(5000)) == Self.wall(5000))
        inbox.put(Self.summary("a", through: 4900), at: Self.wall(5000))
        inbox.put(Self.summary("b", through: 4100), at: Self.wall(5000))
        #expect(inbox.through(Self.wall(5000)) == Self.wall(4100))
        // Three seconds behind it is held as it was.
        #expect(inbox.through(Self.wall(7099)) == Self.wall(4100))
        #expect(inbox.through(Self.wall(7100)) == Self.wall(4900))
        #expect(inbox.through(Self.wall(8000)) == Self.wall(8000))
    }

    @Test func `K2: of what lies behind that only so much is taken`() {
        var inbox = SummaryInbox()
        let now = Self.wall(3000)
        inbox.put(Self.summary("b", through: 2000, changes: [1100, 1500, 1900]), at: now)
        inbox.put(Self.summary("a", through: 1500, changes: [1200]), at: now)
        #expect(Self.stamps(inbox.take(through: Self.wall(1500))) == [[1200], [1100, 1500]])
        #expect(inbox.take(through: Self.wall(1600)).isEmpty)
        #expect(!inbox.isEmpty)
        #expect(Self.stamps(inbox.take(through: Self.wall(2000))) == [[1900]])
        #expect(inbox.isEmpty)
    }

    @Test func `K2: one that says everything is of its end, and hides nothing said before it`() {
        var inbox = SummaryInbox()
        let now = Self.wall(3000)
        inbox.put(Self.summary("a", through: 1000, changes: [900]), at: now)
        inbox.put(Self.summary("a", through: 2000, changes: [2000], isWhole: true), at: now)
        #expect(Self.stamps(inbox.take(through: Self.wall(1999))) == [[900]])
        #expect(Self.stamps(inbox.take(through: Self.wall(2000))) == [[2000]])
    }

    @Test func `K2: what a clock that is ahead says counts from now on`() {
        var inbox = SummaryInbox()
        inbox.put(
            Self.summary("a", through: 3_600_000, changes: [500, 3_599_000]), at: Self.wall(1000))
        #expect(inbox.through(Self.wall(1000)) == Self.wall(1000))
        #expect(Self.stamps(inbox.take(through: Self.wall(1000))) == [[500, 1000]])
    }

    @Test func `K2: what no clock can show is not heard`() {
        var summary = Self.summary("a", through: 10, changes: [5])
        #expect(Event.summaries([summary]).isCredible)
        for through in [Int64.min, -1, .max] {
            summary.through = Timestamp(milliseconds: through)
            #expect(!Event.summaries([summary]).isCredible, "\(through)")
        }
        summary = Self.summary("a", through: 10, changes: [5])
        summary.changes[0].at = Timestamp(milliseconds: .min)
        #expect(!Event.summaries([summary]).isCredible)
        summary = Self.summary("a", through: 10)
        summary.lastBatchAt = Timestamp(milliseconds: .max)
        #expect(!Event.summaries([summary]).isCredible)
    }

    @Test func `K2: more than the journal takes at once is taken turn by turn`() {
        var inbox = SummaryInbox()
        let name = [UInt8](repeating: 0x61, count: 128)
        for cell in ["a", "b", "c"] {
            var summary = Self.summary(cell, through: 10)
            summary.changes = (0..<40_000).map { _ in
                Summary.Change(at: Self.wall(5), region: name)
            }
            inbox.put(summary, at: Self.wall(10))
        }
        var taken: [[String]] = []
        while !inbox.isEmpty, taken.count < 9 {
            let turn = inbox.take(through: Self.wall(10))
            let size = turn.reduce(0) { $0 + $1.journalBytes.count }
            #expect(size < 32 << 20)
            taken.append(turn.map { String(decoding: $0.cell, as: UTF8.self) })
        }
        #expect(taken.joined().sorted() == ["a", "b", "c"])
        #expect(taken.count > 1)
        // So it is with what lies before the end of what they said.
        for cell in ["a", "b", "c"] {
            var summary = Self.summary(cell, through: 100)
            summary.changes = (0..<40_000).map { _ in
                Summary.Change(at: Self.wall(20), region: name)
            }
            inbox.put(summary, at: Self.wall(100))
        }
        var changes = 0
        for _ in 0..<9 {
            let turn = inbox.take(through: Self.wall(50))
            #expect(turn.reduce(0) { $0 + $1.journalBytes.count } < 32 << 20)
            #expect(turn.allSatisfy { $0.changes.last?.at ?? $0.through <= $0.through })
            changes += turn.reduce(0) { $0 + $1.changes.count }
        }
        #expect(changes == 120_000)
    }

    @Test func `K6, J3: what two halves of a cell say from one instant on can be read again`() {
        var inbox = SummaryInbox()
        let now = Self.wall(3000)
        inbox.put(Self.summary("a", through: 1000, changes: [900]), at: now)
        inbox.put(Self.summary("b", through: 1200, changes: [1100], isWhole: true), at: now)
        let said = inbox.take(
            through: Self.wall(2000), splits: [(Array("a".utf8), Array("b".utf8))])
        #expect(Self.stamps(said) == [[2000], [2000]])
        #expect(Event.summaries(said).isCredible)
        #expect(Summary.list(journalBytes: Summary.journalBytes(of: said)) == said)
    }

    @Test func `K6, C1: who fell silent did so when they did, whenever it counts`() {
        var inbox = SummaryInbox()
        let now = Self.wall(30_000)
        var said = Self.summary("a", through: 10_000)
        var change = Summary.Change(at: Self.wall(9000), kind: .silent, region: Array("north".utf8))
        for (ago, people) in [(0, 2), (20_000, -1), (45_000, -3)] as [(Int64, Int)] {
            var silent = SilentPeople()
            (silent.ago, silent.people) = (Milliseconds(ago), people)
            change.silent.append(silent)
        }
        said.changes = [change]
        inbox.put(said, at: now)
        inbox.put(Self.summary("b", through: 12_000, isWhole: true), at: now)
        let taken = inbox.take(
            through: Self.wall(29_000), splits: [(Array("a".utf8), Array("b".utf8))])
        // Whoever is 60 s ago by then is none of them any more.
        #expect(taken.first?.changes.first?.silent.map(\.ago.count) == [20_000, 40_000])
        // One whose clock is ahead says it of now.
        said.through = Self.wall(40_000)
        said.changes[0].at = Self.wall(35_000)
        var other = SummaryInbox()
        other.put(said, at: now)
        let clamped = other.take(through: now).first?.changes.first
        #expect(clamped?.silent.map(\.ago.count) == [0, 15_000, 40_000])
    }
}
