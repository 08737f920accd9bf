import Glibc
import RollcallCore
import Testing

@testable import Rollcall
@testable import RollcallStore

/// The file that tells a store which was restored from an older copy (N2).
@Suite struct EpochFileTests {
    private let directory = TemporaryDirectory()

    private func reading(
        wall: Int64 = 1_795_230_000_000, elapsed: Int64 = 5_000_000, boot: String = "b-1"
    ) -> EpochFile.Reading {
        EpochFile.Reading(
            wall: Timestamp(milliseconds: wall), elapsed: elapsed, boot: boot)
    }

    private func page(store: UInt64 = 9, claims: Int64 = 5) -> EpochFile.Page {
        EpochFile.Page(store: store, claims: claims, reading: reading())
    }

    private func verdict(
        _ page: EpochFile.Page?, claims: Int64 = 5, turn: Int64 = 40,
        _ now: EpochFile.Reading? = nil
    ) -> EpochFile.Verdict {
        EpochFile.verdict(page, store: 9, claims: claims, turn: turn, now ?? reading())
    }

    @Test func `what is written is read, and only its owner may`() throws {
        let file = EpochFile(storePath: directory.store)
        #expect(file.page() == nil)
        try file.write(page(claims: 1))
        try file.write(page(claims: 2))
        #expect(file.page() == page(claims: 2))
        #expect(directory.names == ["rollcall.db.epoch"])
        var status = stat()
        #expect(stat(file.path, &status) == 0)
        #expect(status.st_mode & 0o777 == 0o600)
        let text = String(decoding: directory.bytes("rollcall.db.epoch"), as: UTF8.self)
        #expect(
            text == """
                rollcall epoch 2
                turn 0000000000000000000
                store 9
                claims 2
                wall_ms 1795230000000
                elapsed_ms 5000000
                boot b-1

                """)
        try file.write(EpochFile.Page(store: .max, claims: 0, reading: reading(boot: "")))
        #expect(file.page()?.store == .max)
    }

    @Test func `a store that knows of less than the file was restored`() {
        #expect(!verdict(page()).isRestored)
        #expect(!verdict(page(), claims: 6).isRestored)
        #expect(verdict(page(), claims: 4).isRestored)
        #expect(verdict(page(store: 8), claims: 9).isRestored)
        var noted = page()
        noted.turn = 42
        #expect(verdict(noted, turn: 40) == EpochFile.Verdict(isRestored: true, turnsLost: 2))
        #expect(verdict(noted, turn: 42) == EpochFile.Verdict())
        #expect(verdict(noted, turn: 43) == EpochFile.Verdict())
        // Of another store's turns nothing follows.
        noted.store = 8
        #expect(verdict(noted, turn: 1) == EpochFile.Verdict(isRestored: true, isAnothers: true))
        // Nothing was ever sent, or all of it was and nobody noted it.
        #expect(!verdict(nil, claims: 0).isRestored)
        #expect(verdict(nil, claims: 1).isRestored)
    }

    @Test func `a wall that went further than the machine's clock stepped`() {
        let hour: Int64 = 3_600_000
        func step(wall: Int64, elapsed: Int64, boot: String = "b-1") -> Int64 {
            let now = reading(
                wall: 1_795_230_000_000 + wall, elapsed: 5_000_000 + elapsed, boot: boot)
            return verdict(page(), now).step.count
        }
        #expect(step(wall: hour, elapsed: hour) == 0)
        #expect(step(wall: hour + 60_000, elapsed: hour) == 0)
        #expect(step(wall: hour + 60_001, elapsed: hour) == 60_001)
        #expect(step(wall: 0, elapsed: hour) == 0)
        #expect(step(wall: 3 * hour, elapsed: hour) == 2 * hour)
        // Another start of the machine has another clock.
        #expect(step(wall: 3 * hour, elapsed: hour, boot: "b-2") == 0)
        let unknown = EpochFile.Page(store: 9, claims: 5, reading: reading(boot: ""))
        let later = reading(wall: 1_795_240_000_000, boot: "")
        #expect(verdict(unknown, later).step.count == 0)
    }

    @Test func `a file that makes no sense is none`() throws {
        let file = EpochFile(storePath: directory.store)
        let text = page().text
        for other in [
            "", "rollcall epoch 2\n", text + "more\n", text.replacing("epoch 2", with: "epoch 3"),
            text.replacing("epoch 2", with: "epoch 1"), text.replacing("turn 0", with: "turn -"),
            text.replacing("turn 0", with: "turn "),
            text.replacing("claims 5", with: "claims -1"), text.replacing("claims 5", with: "x 5"),
            text.replacing("store 9", with: "store g"),
            text.replacing("wall_ms 1795230000000", with: "wall_ms 1795230000000000000000"),
            text.replacing("elapsed_ms 5000000", with: "elapsed_ms 999999999999999999"),
            String(repeating: "x", count: 5000),
        ] {
            directory.write("rollcall.db.epoch", other)
            #expect(file.page() == nil, "\(other)")
        }
        directory.write("rollcall.db.epoch", text)
        #expect(file.page() == page())
        // Neither a link nor a pipe is followed.
        directory.write("other", text)
        unlink(file.path)
        symlink(directory.path + "/other", file.path)
        #expect(file.page() == nil)
        unlink(file.path)
        directory.makeFIFO("rollcall.db.epoch")
        #expect(file.page() == nil)
    }

    @Test func `a turn is noted in its place, and by the first version none was`() throws {
        let file = EpochFile(storePath: directory.store)
        file.note(turn: 7)
        #expect(!file.isThere)
        try file.write(page())
        for turn in [1, 4711, Int64.max, 12] {
            file.note(turn: turn)
            var wanted = page()
            wanted.turn = turn
            #expect(file.page() == wanted)
        }
        // The next page is another file.
        try file.write(page())
        file.note(turn: 13)
        #expect(file.page()?.turn == 13)
        let old = page().text.replacing("epoch 2", with: "epoch 1")
            .replacing("turn 0000000000000000000\n", with: "")
        directory.write("rollcall.db.epoch", old)
        #expect(file.page() == page())
    }

    @Test func `where it cannot be written that is told`() throws {
        let file = EpochFile(storePath: directory.path + "/gone/rollcall.db")
        let error = try thrown { try file.write(page()) }
        #expect(error == .file(call: "open", path: directory.path + "/gone", errno: ENOENT))
        mkdir(directory.store + ".epoch.new", 0o700)
        defer { rmdir(directory.store + ".epoch.new") }
        let other = EpochFile(storePath: directory.store)
        #expect(
            try thrown { try other.write(page()) }
                == .file(call: "open", path: other.path + ".new", errno: EISDIR))
    }
}
