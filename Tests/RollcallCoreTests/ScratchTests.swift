import Foundation
import Testing
@testable import RollcallCore
@Suite struct ScratchTests {
    @Test func scratch() throws {
        var reader = CheckpointReader(version: 3)
        for n in 0..<4 {
            let b = [UInt8](try Data(contentsOf: URL(fileURLWithPath: "/tmp/g3-\(n)")))
            reader.take(b)
            print("SLICE", n, reader.finish() != nil)
        }
        let b = [UInt8](try Data(contentsOf: URL(fileURLWithPath: "/tmp/g3-0")))
        var archive = Archive(reading: b, version: 3)
        var head = CheckpointHead(Engine())
        head.code(&archive)
        print("HEAD", archive.isDamaged, archive.isAtEnd)
    }
}
