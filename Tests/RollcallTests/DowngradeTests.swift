import Foundation
import Testing

@testable import Rollcall
@testable import RollcallBasis
@testable import RollcallCore
@testable import RollcallStore
@testable import RollcallSupport
@testable import RollcallTools

/// What may go wrong on the way back from an upgrade (J15).
@Suite struct DowngradeTests {
    private let directory = TemporaryDirectory()

    /// A store of version 10 that was brought up to date, and has a turn more; closed, without a log.
    private func upgraded(_ version: Int = 10) throws -> String {
        let path = try GoldenStore.unpack(version, into: directory)
        let store = try StateStore(path: path)
        let recovered = try store.recover()
        try GoldenStore.start(store, recovered.engine, after: recovered.lastTurn)
        try store.journal.close()
        return path
    }

    private func names(_ ending: String) -> [String] {
        directory.names.filter { $0.hasPrefix("rollcall.db\(ending)") }.sorted()
    }

    private func write(_ name: String, from offset: Int, _ count: Int) throws {
        let file = try #require(FileHandle(forUpdatingAtPath: directory.path + "/" + name))
        try file.seek(toOffset: UInt64(offset))
        file.write(Data(repeating: 0xFF, count: count))
        try file.close()
    }

    private func error(_ body: () throws -> Void) throws -> String {
        let found = #expect(throws: UpgradeError.self) { try body() }
        #expect(found?.exitCode == 1)
        return "\(try #require(found))"
    }

    /// The store with an erasure that is pending.
    private func erasing() throws -> String {
        let path = try upgraded()
        let store = try StateStore(path: path)
        try store.write { () throws(StoreError) in
            let at = Timestamp(milliseconds: 1_795_900_000_000)
            try store.journal.put(
                Erasure(number: 9_000, turn: 1, responder: 1, requestedAt: at))
        }
        try store.journal.close()
        return path
    }

    @Test func `J15: a second name that was left behind goes with the next start, or the next try`()
        throws
    {
        let path = try upgraded()
        let left = path + ".newer-20261128T000000Z"
        #expect(link(path, left) == 0)
        // One that is another store stays.
        directory.write("rollcall.db.newer-20261127T000000Z", "x")
        #expect(
            try StoreUpgrade.deleteCopies(
                of: path, before: .distantPast, newerBefore: .distantPast) == [
                    "rollcall.db.newer-20261128T000000Z"
                ])
        #expect(link(path, left) == 0)
        let bytes = directory.bytes("rollcall.db")
        _ = try StoreDowngrade(path).run()
        let kept = names(".newer-")
        #expect(kept.count == 2 && kept.contains("rollcall.db.newer-20261127T000000Z"))
        #expect(!kept.contains("rollcall.db.newer-20261128T000000Z"))
        #expect(kept.contains { directory.bytes($0) == bytes })
    }

    @Test func `J15: a damaged copy is not put back, and nothing is left of looking at it`() throws
    {
        let path = try upgraded()
        let copy = try #require(names(".version-").first)
        let (bytes, whole) = (directory.bytes("rollcall.db"), directory.bytes(copy))
        for damage in ["page", "cut", "empty"] {
            switch damage {
            case "page": try write(copy, from: 4096 * 5, 4096)
            case "cut": directory.write(copy, Array(whole.prefix(60_000)))
            default: directory.write(copy, "")
            }
            let text = try error { _ = try StoreDowngrade(path).run() }
            #expect(text.contains("\(copy): the copy is damaged, and is not put back"), "\(text)")
            #expect(directory.bytes("rollcall.db") == bytes, "\(damage)")
            #expect(names(".version-") == [copy] && names(".newer-") == [], "\(damage)")
            directory.write(copy, whole)
        }
        #expect(try StoreDowngrade(path).run().contains("is of version 10"))
    }

    @Test func `J15, I11: people are counted, also of a store whose turns cannot be read`() throws {
        let path = try erasing()
        let words = "rollcall.db: 1 people were erased since the copy was made, or are being erased"
        #expect(try error { _ = try StoreDowngrade(path) }.contains(words))
        let connection = try SQLiteConnection(path: path, access: .readOnly)
        let page = try connection.integer(
            "SELECT rootpage FROM sqlite_schema WHERE name = 'turns'")
        try connection.close()
        try write("rollcall.db", from: 4096 * (Int(page) - 1), 4096)
        #expect(try error { _ = try StoreDowngrade(path) }.contains(words))
    }

    @Test func `J15, I11: where nobody knows who is being erased, it has to be said twice`() throws
    {
        let path = try erasing()
        for ending in ["-wal", "-shm"] { directory.remove("rollcall.db" + ending) }
        try write("rollcall.db", from: 0, 4096)
        let downgrade = try StoreDowngrade(path)
        #expect(downgrade.text.contains("How much came since cannot be read."))
        #expect(downgrade.text.contains("Ask for it again once the older program serves."))
        let bytes = directory.bytes("rollcall.db")
        #expect(try error { _ = try downgrade.run() }.contains("--yes --unread goes back"))
        #expect(directory.bytes("rollcall.db") == bytes)
        #expect(try downgrade.run(unread: true).contains("is of version 10"))
        #expect(directory.bytes(try #require(names(".newer-").first)) == bytes)
    }

    @Test func `J15: it goes back version by version, and never to one that is no older`() throws {
        let path = try upgraded()
        let other = TemporaryDirectory()
        let older = try GoldenStore.unpack(9, into: other)
        try StateStore(path: older).journal.close()
        let nine = try #require(try StoreUpgrade.copies(of: older).first)
        directory.write("rollcall.db.version-9.6", other.bytes("rollcall.db.version-9.6"))
        for copy in names(".version-") + ["rollcall.db"] {
            try StoreSurgery.run(directory.path + "/" + copy, "DELETE FROM erasures")
        }
        #expect(nine.version == StoreUpgrade.Version(store: 9, engine: 6))
        #expect(try StoreDowngrade(path).run().contains("is of version 10"))
        let ten = directory.bytes("rollcall.db")
        try backToNine(path)
        #expect(names(".newer-").contains { directory.bytes($0) == ten })
        directory.write("rollcall.db.version-10.8", ten)
        #expect {
            try StoreDowngrade(path)
        } throws: { error in
            if case UpgradeError.noCopy = error { true } else { false }
        }
    }

    /// Its lock goes with the one that took it.
    private func backToNine(_ path: String) throws {
        let downgrade = try StoreDowngrade(path)
        // Another story: its numbers are not those of the copy.
        #expect(downgrade.text.contains("It is another store than the copy is of: turn 32 of "))
        #expect(try downgrade.run().contains("is of version 9"))
    }

    @Test func `J15: the log that one left which was killed is kept, not deleted`() throws {
        let path = try upgraded()
        // The file has its new name, and the log has not.
        directory.remove("rollcall.db-shm")
        let log: [UInt8] = [0x37, 0x7F, 0x06, 0x82] + [UInt8](repeating: 7, count: 5000)
        directory.write("rollcall.db-wal", log)
        #expect(rename(path, path + ".newer-20261128T000000Z") == 0)
        #expect(try StoreDowngrade(path).run(unread: true).contains("is of version 10"))
        #expect(names(".newer-").contains { $0.hasSuffix("-wal") && directory.bytes($0) == log })
        #expect(directory.size("rollcall.db-wal") <= 0)
    }

    @Test func `J15: a log that does not begin as one is nothing that was read`() throws {
        let path = try upgraded()
        directory.write("rollcall.db-wal", [UInt8](repeating: 7, count: 5000))
        let downgrade = try StoreDowngrade(path)
        #expect(downgrade.text.contains("How much came since cannot be read."))
        _ = try downgrade.run(unread: true)
        #expect(names(".newer-").contains { $0.hasSuffix("-wal") })
    }

    @Test func `J15: who reads the store is named as what is in the way`() throws {
        let path = try upgraded()
        let store = try StateStore(path: path)
        try store.write { () throws(StoreError) in
            try store.journal.set([1], forKey: "x")
        }
        let reader = try SQLiteConnection(path: path, access: .readOnly)
        try reader.run("BEGIN")
        _ = try reader.integer("SELECT count(*) FROM turns")
        try? store.journal.close()
        let text = try error { _ = try StoreDowngrade(path).run() }
        #expect(text.contains("so that its log cannot be moved into it: end what reads it"))
        try reader.close()
        #expect(try StoreDowngrade(path).run().contains("is of version 10"))
    }

    @Test func `J15: a folder that cannot be read is no folder without copies`() {
        let path = directory.path + "/none/rollcall.db"
        #expect(throws: StoreError.self) { try StoreUpgrade.copies(of: path) }
        #expect(throws: StoreError.self) { try StoreUpgrade.deleteCopies(of: path) }
    }
}
