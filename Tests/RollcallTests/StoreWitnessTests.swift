import Foundation
import RollcallCore
import Testing

@testable import Rollcall

/// Somebody lays hands on the store's file between its opening and the first look at it: the file that
/// is looked for is the one that was opened (J6).
@Suite struct StoreWitnessTests {
    /// A store of which everything is in its file, with a log beside it, just opened again.
    private func opened(_ directory: TemporaryDirectory) throws -> Journal {
        let story = try ExportStory(path: directory.store)
        try story.tell()
        try story.close()
        return try StoreOpening(path: directory.store).store.journal
    }

    /// Has `body` at the file through a descriptor of its own process, as somebody else would: ours
    /// would drop SQLite's locks.
    private func disturb(_ directory: TemporaryDirectory, _ command: String) throws {
        let shell = Process()
        shell.executableURL = URL(fileURLWithPath: "/bin/sh")
        shell.arguments = ["-c", command, "sh", directory.store]
        try shell.run()
        shell.waitUntilExit()
        #expect(shell.terminationStatus == 0)
    }

    private func disturbance(_ journal: Journal) -> StoreError? {
        do throws(StoreError) {
            try journal.checkFiles()
            return nil
        } catch {
            return error
        }
    }

    @Test func `J6: a store that is cut before the first look is noticed by it`() throws {
        let directory = TemporaryDirectory()
        let journal = try opened(directory)
        try disturb(directory, "truncate --size=-4096 \"$1\"")
        #expect(disturbance(journal) == .disturbed(path: directory.store, .cut))
    }

    @Test func `J6: a store that is replaced by an older copy before the first look is noticed`()
        throws
    {
        let directory = TemporaryDirectory()
        let journal = try opened(directory)
        // The counter of changes is big-endian, at 24.
        try disturb(
            directory, "printf '\\0\\0\\0\\0' | dd of=\"$1\" bs=1 seek=24 conv=notrunc status=none")
        #expect(disturbance(journal) == .disturbed(path: directory.store, .overwritten))
    }

    @Test func `J6: a store that nobody touches is as it was`() throws {
        let directory = TemporaryDirectory()
        let journal = try opened(directory)
        #expect(disturbance(journal) == nil)
        try journal.close()
    }
}
