import Glibc
import RollcallCore
import Testing

@testable import RollcallBasis
@testable import RollcallStore

/// Two threads at a checkpoint: the one that reads, and the one that puts together.
@Suite struct CheckpointRestorerTests {
    /// More people than may wait in slices that are taken apart.
    private static let engine: Engine = {
        var engine = Engine()
        for first in stride(from: 0, to: 12_000, by: 1000) {
            let lines = (first..<(first + 1000)).map {
                "{\"responder_id\":\"r-\($0)\",\"circles\":[\"c-\($0 / 3)\",\"d-\($0 % 7)\"]}"
            }
            let bytes = Array("[\(lines.joined(separator: ","))]".utf8)
            guard let scan = try? ItemScanner.scan(bytes.span, kind: .batch) else { continue }
            let now = RunningTime(milliseconds: 1_795_230_000_000 + Int64(first))
            _ = engine.fold(.items(scan.items, source: Array("default".utf8)), at: now)
            engine.advance(to: now)
            _ = engine.takeDecisions()
        }
        return engine
    }()

    private func slices(_ engine: Engine) -> [[UInt8]] {
        let checkpoint = Checkpoint(engine)
        return (0..<checkpoint.sliceCount).map { checkpoint.slice($0) }
    }

    private func restored(
        _ slices: [[UInt8]], failingWith error: StoreError? = nil
    ) throws(StoreError) -> Engine? {
        try CheckpointRestorer.engine(version: Engine.version) { (take) throws(StoreError) in
            for slice in slices { slice.withUnsafeBytes { take($0) } }
            if let error { throw error }
        }
    }

    @Test func `what comes back is what was cut`() throws {
        let slices = slices(Self.engine)
        #expect(slices.count > 16)
        let engine = try #require(try restored(slices))
        #expect(engine.roster.count == 12_000)
        let isSame = self.slices(engine) == slices
        #expect(isSame)
    }

    @Test func `J5: who waits for whom makes no difference`() throws {
        // Eight slices lie between the two at most, and from four on both take them apart.
        let slices = slices(Self.engine)
        for pause: UInt32 in [0, 50, 2000] {
            let engine = try CheckpointRestorer.engine(version: Engine.version) { take in
                for (index, slice) in slices.enumerated() {
                    if index.isMultiple(of: 5) { usleep(pause) }
                    slice.withUnsafeBytes { take($0) }
                }
            }
            let isSame = try self.slices(#require(engine)) == slices
            #expect(isSame)
        }
    }

    @Test func `a slice that is missing, damaged or twice there makes none of it`() throws {
        let slices = slices(Self.engine)
        for place in [0, 1, slices.count / 2, slices.count - 2] {
            var missing = slices
            missing.remove(at: place)
            var damaged = slices
            damaged[place].removeLast()
            var twice = slices
            twice.insert(slices[place], at: place)
            for wrong in [missing, damaged, twice] {
                let isNone = try restored(wrong) == nil
                #expect(isNone)
            }
        }
        let isNone = try restored([]) == nil
        #expect(isNone)
    }

    @Test func `who reads may fail, and nobody is left waiting`() throws {
        let error = try thrown {
            try restored(slices(Self.engine), failingWith: .damaged("page 7"))
        }
        #expect(error == .damaged("page 7"))
    }
}
