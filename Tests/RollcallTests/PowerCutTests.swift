import Foundation
import RollcallCore
import Testing

@testable import Rollcall
@testable import RollcallBasis
@testable import RollcallStore

/// The power is cut anywhere in a store's life: every turn whose commit returned is there, whole, and
/// nothing else is half there (J2, J3, J5; G1, F8).
///
/// As many images of the disk as `ROLLCALL_POWER_CUTS` says; 300 without. `ROLLCALL_SEED` has it
/// begin elsewhere.
@Suite(.serialized) struct PowerCutTests {
    /// What a store says after a power cut.
    private enum Outcome {
        case whole
        /// A turn that was acknowledged is not there.
        case lost
        case damaged(String)
    }

    private static let imagesALife = 500
    /// In memory if there is such a place: the disk that is tested is a model.
    private static let folder =
        FileManager.default.isWritableFile(atPath: "/dev/shm") ? "/dev/shm" : "/tmp"

    @Test func `whenever the power is cut, every acknowledged turn is there, and all of it`() throws
    {
        let images = Self.number("ROLLCALL_POWER_CUTS") ?? 300
        let seed = Self.number("ROLLCALL_SEED") ?? 1
        var faults: [String] = []
        var nudges = 0
        for story in 0..<((images + Self.imagesALife - 1) / Self.imagesALife) {
            let own = UInt64(seed + story)
            let told = try PowerCutStory(seed: own)
            nudges += told.nudges
            #expect(told.checkpoints > 2)
            #expect(told.cuts > 0)
            #expect(told.logsCut > 0)
            try Self.each(min(Self.imagesALife, images), of: told, seed: own) { cut, outcome in
                switch outcome {
                case .whole: break
                case .lost: faults.append("seed \(own), \(cut): a turn is lost")
                case .damaged(let detail): faults.append("seed \(own), \(cut): \(detail)")
                }
            }
        }
        #expect(faults == [])
        #expect(nudges > 0)
    }

    /// What shows that the test above can fail.
    @Test func `a store whose commits are not synced loses acknowledged turns`() throws {
        let told = try PowerCutStory(seed: 1, isSafe: false)
        var lost = 0
        var faults: [String] = []
        try Self.each(100, of: told, seed: 1) { cut, outcome in
            switch outcome {
            case .whole: break
            case .lost: lost += 1
            case .damaged(let detail): faults.append("\(cut): \(detail)")
            }
        }
        #expect(lost > 0)
        // What is left is in order all the same: less, and nothing wrong.
        #expect(faults == [])
    }

    private static func number(_ name: String) -> Int? {
        ProcessInfo.processInfo.environment[name].flatMap { Int($0) }
    }

    /// Cuts the power so many times, anywhere, and has each image evaluated.
    private static func each(
        _ count: Int, of story: PowerCutStory, seed: UInt64,
        _ evaluate: (_ cut: String, Outcome) -> Void
    ) throws {
        var dice = SeededDice(seed: seed ^ 0xC07)
        var positions = (0..<count).map { _ in dice.roll(story.calls.count + 1) }
        positions.sort()
        var disk = CrashDisk()
        var done = 0
        for (number, position) in positions.enumerated() {
            while done < position {
                disk.take(story.calls[done])
                done += 1
            }
            let image = disk.image(&dice)
            let outcome = outcome(of: image, at: position, story, goesOn: number % 8 == 0)
            evaluate("after call \(position)", outcome)
        }
    }

    private static func outcome(
        of image: CrashDisk.Image, at position: Int, _ story: PowerCutStory, goesOn: Bool
    ) -> Outcome {
        let directory = TemporaryDirectory(below: folder)
        for (name, bytes) in image { directory.write(name, bytes) }
        do throws(StoreError) {
            let store = try StateStore(path: directory.store)
            let check = try store.journal.connection.text("PRAGMA integrity_check")
            guard check == "ok" else { return .damaged("integrity_check: \(check ?? "")") }
            let recovered = try store.recover()
            let turn = recovered.lastTurn?.number ?? 0
            let acknowledged = story.commits.last { $0.position <= position }?.turn ?? 0
            if let detail = trouble(recovered, turn, story) { return .damaged(detail) }
            let verdict = try verdict(store, turn, noted: acknowledged, at: position, story)
            guard turn >= acknowledged else { return .lost }
            guard !verdict.isRestored else { return .damaged("the epoch file is ahead") }
            if goesOn, let detail = try goOn(store, recovered, turn) { return .damaged(detail) }
            return .whole
        } catch {
            return .damaged("\(error)")
        }
    }

    /// What is wrong with what came back, but for its age.
    private static func trouble(
        _ recovered: StateStore.Recovered, _ turn: Int64, _ story: PowerCutStory
    ) -> String? {
        if recovered.differences > 0 { return "\(recovered.differences) decisions differ" }
        guard let state = story.states[turn] else { return "turn \(turn) was never begun" }
        guard turn > 0, PowerCutStory.state(recovered.engine) != state else { return nil }
        return "another state than that of turn \(turn)"
    }

    /// What the epoch file says that stands beside the store by then, with the last turn that was
    /// acknowledged noted in it.
    private static func verdict(
        _ store: StateStore, _ turn: Int64, noted: Int64, at position: Int,
        _ story: PowerCutStory
    ) throws(StoreError) -> EpochFile.Verdict {
        guard var page = story.epochs.last(where: { $0.position <= position })?.page else {
            return EpochFile.Verdict()
        }
        page.turn = noted
        return EpochFile.verdict(
            page, store: store.number, claims: try store.journal.pushClaims(), turn: turn,
            page.reading)
    }

    /// Opens a store that was just closed. A process that another test starts has our descriptors until
    /// its program begins, and with them the lock.
    private static func opened(_ path: String) throws(StoreError) -> StateStore {
        for _ in 0..<2000 {
            do throws(StoreError) {
                return try StateStore(path: path)
            } catch .secondInstance(path: _, process: getpid()) {
                usleep(1000)
            }
        }
        return try StateStore(path: path)
    }

    /// Writes another turn, and comes back to it.
    private static func goOn(
        _ store: StateStore, _ recovered: StateStore.Recovered, _ turn: Int64
    ) throws(StoreError) -> String? {
        var engine = recovered.engine
        var pending = PendingTurn()
        let now = engine.openInstant
        _ = pending.fold(.start(), into: &engine, at: now)
        engine.advance(to: now)
        pending.take(from: &engine)
        pending.close(number: turn + 1, engine)
        try store.commit([pending])
        try store.journal.close()
        let again = try opened(store.journal.connection.path).recover()
        guard again.lastTurn?.number == turn + 1, again.differences == 0 else {
            return "what was written afterwards is not there"
        }
        return PowerCutStory.state(again.engine) == PowerCutStory.state(engine)
            ? nil : "another state after going on"
    }
}
