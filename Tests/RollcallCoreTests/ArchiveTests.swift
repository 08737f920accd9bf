import Testing

@testable import RollcallCore

/// What a checkpoint is made of.
@Suite struct ArchiveTests {
    @Test(arguments: [Int64.max, -1 << 48, 1 << 48])
    func `a count that cannot be is damage, and no sum of such traps`(count: Int64) {
        var slots = WriteWindow()
        slots.add(refused: 7, now: RunningTime(milliseconds: 1))
        slots.add(refused: 7, now: RunningTime(milliseconds: 2))
        let bytes = Archive.bytes { slots.code(&$0) }
        let seven = Archive.bytes { archive in
            var seven: Int64 = 7
            archive.code(&seven)
        }
        let wrong = Archive.bytes { archive in
            var count = count
            archive.code(&count)
        }
        let damaged = [UInt8](
            bytes.split(separator: seven, omittingEmptySubsequences: false)
                .joined(separator: wrong))
        var archive = Archive(reading: damaged)
        var read = WriteWindow()
        read.code(&archive)
        #expect(archive.isDamaged)
        #expect(damaged.count > bytes.count)
    }
}
