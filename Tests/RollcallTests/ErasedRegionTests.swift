import Foundation
import RollcallCore
import Testing

@testable import Rollcall
@testable import RollcallBasis
@testable import RollcallStore
@testable import RollcallSupport

/// The region of somebody who is erased, in what is stored about alerts (I11).
@Suite struct ErasedRegionTests {
    private static let mark = "zz9-lane"

    private let directory = TemporaryDirectory()

    /// A store in which alerts about two regions fire, one of them that of "a" alone.
    private struct Scene {
        var story: HistoryStory
        var outbox: Outbox
        /// The checkpoint in which the alerts fire.
        var older: Int64 = 0

        init(_ directory: TemporaryDirectory) throws {
            story = try HistoryStory(directory)
            outbox = Outbox(store: story.store.number, now: RunningTime(milliseconds: 0))
            var policy = Policy()
            policy.alerts.isOfflineByRegion = true
            policy.alerts.noOnlineResponders.keepFiringFor = .seconds(0)
            policy.receivers = [Receiver(name: Array("hook".utf8), kind: .webhook)]
            try turn(
                at: 0,
                [
                    .start(), .policy(policy),
                    try HistoryStory.batches(
                        ["a"], sequence: 1, captured: 0, region: ErasedRegionTests.mark),
                    try HistoryStory.batches(["b", "c"], sequence: 1, captured: 0),
                ])
            try turn(at: 500)
            older = story.turn
            try checkpoint()
        }

        mutating func turn(at seconds: Int64, _ events: [Event] = []) throws {
            var pending = try story.pendingTurn(at: seconds, events)
            for case .notice(let at, let notice) in pending.decisions.map(\.decision) {
                outbox.decide(notice, at: at, now: story.engine.clock.now)
            }
            pending.outbox = outbox.takeChanges()
            try story.store.commit([pending])
        }

        mutating func checkpoint() throws {
            var writer = CheckpointWriter(last: nil)
            writer.begin(turn: story.turn, story.engine, .now())
            while writer.isWriting {
                try story.store.journal.begin()
                try writer.write(to: story.store.journal)
                try story.store.journal.commit()
                writer.wrote()
            }
        }

        /// Works the erasure off, and begins anew once on the way.
        mutating func workOff() throws {
            let journal = story.store.journal
            var writer = ErasureWriter(try journal.erasures())
            for piece in 0..<1000 where !writer.wantsLogCut {
                try journal.begin()
                try writer.write(to: journal, checkpoint: story.turn, story.engine)
                try journal.commit()
                writer.committed()
                if piece == 5 { writer = ErasureWriter(try journal.erasures()) }
            }
            #expect(writer.wantsLogCut)
            #expect(try journal.checkpointWAL(.truncate).isBusy == false)
        }
    }

    private func traces(of name: String) throws -> Int {
        let data = try Data(contentsOf: URL(fileURLWithPath: directory.store))
        var count = 0
        var rest = data[...]
        while let found = rest.range(of: Data(name.utf8)) {
            count += 1
            rest = rest[found.upperBound...]
        }
        return count
    }

    private static let kinds: [SQL] = [
        "SELECT count(*) FROM decisions WHERE kind = 4",
        "SELECT count(*) FROM decisions WHERE kind = 5",
        "SELECT count(*) FROM decisions WHERE kind = 6",
        "SELECT count(*) FROM outbox",
    ]

    @Test func `an erased person's region is in nothing that is stored about alerts`() throws {
        var scene = try Scene(directory)
        let others = scene.story.engine.alerting.board.all.count
        try scene.turn(
            at: 520, [.erase(.id(Array("a".utf8)), source: EventSource.standard)])
        let left = scene.story.engine.alerting.board.all.map(\.key)
        #expect(left.allSatisfy { $0.subject != .region(Array(Self.mark.utf8)) })
        #expect(left.count < others)
        try scene.checkpoint()
        let before = try Self.kinds.map { try #require(try scene.story.integers($0).first) }
        #expect(before.allSatisfy { $0 > 0 })
        #expect(try scene.story.store.journal.checkpointWAL(.truncate).isBusy == false)
        #expect(try traces(of: Self.mark) > 4)

        try scene.workOff()
        #expect(try traces(of: Self.mark) == 0)
        #expect(try traces(of: "north") > 4)
        // Nothing but the name is gone, and all of it can still be read.
        let after = try Self.kinds.map { try #require(try scene.story.integers($0).first) }
        #expect(after == before)
        #expect(try scene.story.store.journal.messages().count == Int(after[3]))
        let recovered = try scene.story.store.recover()
        #expect(recovered.differences == 0)
        #expect(recovered.engine.alerting.board.all.count == left.count)
        try scene.story.store.journal.close()
    }

    /// 0 s a in zz9-lane; 505 s a in zz8-lane, b in south; 1005 s b in north; 1010 s a is erased.
    @Test func `I11: every region that the erased person was in goes, and no other that is empty`()
        throws
    {
        var scene = try Scene(directory)
        try scene.turn(
            at: 505,
            [
                try HistoryStory.batches(["a"], sequence: 2, captured: 505, region: "zz8-lane"),
                try HistoryStory.batches(["b"], sequence: 2, captured: 505, region: "south"),
            ])
        try scene.turn(at: 1000)
        try scene.turn(
            at: 1005, [try HistoryStory.batches(["b"], sequence: 3, captured: 1005)])
        try scene.turn(
            at: 1010, [.erase(.id(Array("a".utf8)), source: EventSource.standard)])
        try scene.checkpoint()
        let journal = scene.story.store.journal
        #expect(try journal.checkpointWAL(.truncate).isBusy == false)
        let others = try traces(of: "south")
        #expect(others > 4)
        #expect(try traces(of: "zz8-lane") > 4)
        try scene.workOff()
        #expect(try traces(of: Self.mark) == 0)
        #expect(try traces(of: "zz8-lane") == 0)
        // Stored alerts, their messages and a row still say where it was.
        #expect(try traces(of: "south") == others)
        #expect(try scene.story.store.recover().differences == 0)
        try journal.close()
    }

    @Test func `an older checkpoint loses the alerts of the region, and no others`() throws {
        var scene = try Scene(directory)
        let firing = scene.story.engine.alerting.board.all.count
        try scene.turn(
            at: 520, [.erase(.id(Array("a".utf8)), source: EventSource.standard)])
        try scene.checkpoint()
        try scene.workOff()
        let journal = scene.story.store.journal
        let older = try #require(try journal.newestCheckpoint(notAfterTurn: scene.older))
        #expect(older.turn == scene.older)
        var reader = CheckpointReader(version: older.engineVersion)
        try journal.readSlices(of: older) { reader.take(Array($0)) }
        let engine = try #require(reader.finish())
        #expect(engine.alerting.board.all.count == firing - 2)
        #expect(
            engine.alerting.board.all.allSatisfy { $0.key.subject == .region(Array("north".utf8)) })
        try journal.close()
    }

    @Test func `decisions and messages are looked at in pieces, up to the checkpoint`() throws {
        var scene = try Scene(directory)
        try scene.turn(
            at: 520, [.erase(.id(Array("a".utf8)), source: EventSource.standard)])
        let (journal, engine) = (scene.story.store.journal, scene.story.engine)
        let decisions = Int64(
            try scene.story.integers("SELECT id FROM decisions WHERE responder = 0").count)
        let last = scene.story.turn
        func forget(
            _ limit: Int64, through turn: Int64, after: Int64 = 0
        ) throws -> Int64? {
            try journal.begin()
            let next = try journal.forgetRegions(
                .any, engine, through: turn, after: after, limit: limit)
            try journal.commit()
            return next
        }
        // What a restart decides again, and compares, stays as it is.
        #expect(try forget(decisions, through: scene.older) == nil)
        #expect(try scene.story.store.recover().differences == 0)
        #expect(try forget(decisions + 1, through: last) == nil)
        let next = try #require(try forget(decisions, through: last))
        #expect(try forget(decisions, through: last, after: next) == nil)
        let messages = Int64(try scene.story.integers("SELECT notice FROM outbox").count)
        try journal.begin()
        #expect(
            try journal.forgetRegions(
                .any, engine, after: MessagePlace(), limit: messages + 1) == nil)
        let place = try #require(
            try journal.forgetRegions(.any, engine, after: MessagePlace(), limit: messages))
        #expect(try journal.forgetRegions(.any, engine, after: place, limit: messages) == nil)
        try journal.commit()
        try journal.close()
    }

    @Test func `I11: who is back after a shorter retention is erased from the store again`() throws
    {
        var story = try HistoryStory(directory)
        let erase = Event.erase(.id(Array("a".utf8)), source: EventSource.standard)
        var policy = Policy()
        policy.retention = .seconds(7 * HistoryStory.day)
        try story.turn(
            at: 0,
            [.policy(policy), try HistoryStory.batches(["a"], sequence: 1, captured: 0)])
        let first = try story.pendingTurn(at: 10, [erase])
        #expect(first.erasures.count == 1)
        try story.store.commit([first])
        let back = 8 * HistoryStory.day
        try story.turn(
            at: back, [try HistoryStory.batches(["a"], sequence: 2, captured: back)])
        policy.retention = .seconds(30 * HistoryStory.day)
        let again = try story.pendingTurn(at: back + 10, [.policy(policy), erase])
        #expect(again.erasures.count == 1)
        try story.store.commit([again])
        try story.store.journal.close()
    }
}
