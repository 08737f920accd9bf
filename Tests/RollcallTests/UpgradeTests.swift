import Foundation
import Logging
import Testing

@testable import Rollcall
@testable import RollcallBasis
@testable import RollcallCore
@testable import RollcallStore
@testable import RollcallSupport
@testable import RollcallTools

/// Stores that older versions left behind.
enum GoldenStore {
    /// Commits a turn more, a second after the last one: a start, and what `adds` folds behind it; with a sample
    /// if it `isSampled`. Returns the engine that it leaves.
    @discardableResult
    static func start(
        _ store: StateStore, _ engine: Engine, after last: Turn?, isSampled: Bool = false,
        adds: (inout PendingTurn, inout Engine, RunningTime) throws -> Void = { _, _, _ in }
    ) throws -> Engine {
        var engine = engine
        let turn = try #require(last)
        let now = RunningTime(milliseconds: turn.nowMilliseconds + 1000)
        var pending = PendingTurn()
        _ = pending.fold(.start(), into: &engine, at: now)
        try adds(&pending, &engine, now)
        engine.advance(to: now)
        pending.take(from: &engine)
        pending.close(number: turn.number + 1, engine)
        if isSampled { pending.sample = FleetSample(engine) }
        try store.commit([pending])
        return engine
    }

    /// Unpacks the store that `version` left after a kill; returns its path.
    static func unpack(_ version: Int, into directory: TemporaryDirectory) throws -> String {
        let golden = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("Golden")
        for suffix in ["", "-wal"] {
            let bytes = try Data(
                contentsOf: golden.appendingPathComponent("store-\(version)\(suffix)"))
            directory.write("rollcall.db\(suffix)", Array(bytes))
        }
        return directory.store
    }
}

/// An upgrade keeps a copy of the store, and the store can go back to it (J15).
@Suite struct UpgradeTests {
    private let directory = TemporaryDirectory()

    /// Versions of tables of which there are stores.
    static let versions = 1..<Int(JournalSchema.version)

    /// The store's file once an older program has moved the log into it, as it does at its end.
    static func reference(_ version: Int) throws -> [UInt8] {
        let directory = TemporaryDirectory()
        let path = try GoldenStore.unpack(version, into: directory)
        let connection = try SQLiteConnection(path: path, access: .readWrite)
        try JournalSchema.guardConnection(connection)
        #expect(try connection.text("PRAGMA wal_checkpoint(TRUNCATE)") == "0")
        try connection.close()
        #expect(directory.size("rollcall.db-wal") == 0)
        return directory.bytes("rollcall.db")
    }

    private func copyName(_ directory: TemporaryDirectory) -> String? {
        directory.names.first { $0.hasPrefix("rollcall.db.version-") }
    }

    @Test(arguments: versions)
    func `J15: each older store is kept as it was, goes forward, back, and forward again`(
        version: Int
    ) throws {
        let path = try GoldenStore.unpack(version, into: directory)
        let reference = try Self.reference(version)
        let store = try StateStore(path: path)
        let before = try store.recover()
        let copy = try #require(try StoreUpgrade.copies(of: path).first)
        #expect(copy.version.store == Int64(version))
        #expect(directory.bytes(copyName(directory) ?? "") == reference)
        var status = stat()
        #expect(stat(copy.path, &status) == 0 && status.st_mode & 0o777 == 0o600)
        let turn = try #require(before.lastTurn)
        try GoldenStore.start(store, before.engine, after: turn)
        // As a kill leaves it: with a log.
        let downgrade: StoreDowngrade
        do throws(UpgradeError) {
            _ = try StoreDowngrade(path)
            Issue.record("it is served")
        } catch {
            guard case .store(.secondInstance) = error else { throw error }
        }
        try store.journal.close()
        downgrade = try StoreDowngrade(path)
        #expect(downgrade.text.contains("What came since is not in it: 1 turns with 1 batches"))
        #expect(try downgrade.run().contains("is of version \(copy.version) again"))
        #expect(directory.bytes("rollcall.db") == reference)
        #expect(try StoreUpgrade.copies(of: path).isEmpty)
        let newer = try #require(directory.names.first { $0.contains(".newer-") })
        let kept = try SQLiteConnection(
            path: directory.path + "/" + newer, access: .readOnly)
        #expect(try kept.integer("SELECT max(number) FROM turns") == turn.number + 1)
        try kept.close()
        // Its lock, which the process that went back would have given up by ending.
        withExtendedLifetime(downgrade) {}
    }

    @Test(arguments: versions)
    func `J15: a kill at any step leaves a store that is brought up to date, and one whole copy`(
        version: Int
    ) throws {
        let path = try GoldenStore.unpack(version, into: directory)
        let reference = try Self.reference(version)
        let images = Images(of: directory)
        let watch = StoreUpgrade.Watch { _ in images.take() }
        let whole = try StateStore(path: path, vfs: nil, upgrade: watch)
        let people = try whole.recover().engine.roster.count
        try whole.journal.close()
        #expect(images.all.count >= 4)
        for image in images.all {
            let opening = try StoreOpening(path: image.store)
            #expect(opening.loss == nil)
            #expect(opening.recovered.engine.roster.count == people)
            #expect(image.bytes(copyName(image) ?? "") == reference)
            #expect(!image.names.contains { $0.hasSuffix(".partial") })
            try opening.store.journal.close()
        }
    }

    /// The directory as a kill would leave it at some moments.
    private final class Images: @unchecked Sendable {
        private let directory: TemporaryDirectory
        private(set) var all: [TemporaryDirectory] = []

        init(of directory: TemporaryDirectory) { self.directory = directory }

        func take() {
            let image = TemporaryDirectory()
            for name in directory.names where !name.hasSuffix(".lock") && !name.hasSuffix("-shm") {
                directory.copy(name, to: image)
            }
            all.append(image)
        }
    }

    @Test func `J15: without a copy there is none, and a store of now needs none`() throws {
        let path = try GoldenStore.unpack(9, into: directory)
        let store = try StateStore(path: path, vfs: nil, upgrade: .init(keepsCopy: false))
        try store.journal.close()
        #expect(copyName(directory) == nil)
        let again = try StateStore(path: path)
        try again.journal.close()
        #expect(copyName(directory) == nil)
        #expect(throws: UpgradeError.self) { try StoreDowngrade(path) }
    }

    @Test func `J15: newer rules alone are an upgrade, too`() throws {
        let path = try GoldenStore.unpack(10, into: directory)
        let store = try StateStore(path: path, vfs: nil, upgrade: .init(keepsCopy: false))
        let connection = store.journal.connection
        #expect(try StoreUpgrade.plan(connection, .older(10)) != nil)
        try connection.run("UPDATE turns SET engine_version = \(Decade.seven)")
        // What an upgrade brought up to date and nobody has written since is no older store.
        #expect(try StoreUpgrade.plan(connection, .current) == nil)
        try connection.run("DELETE FROM meta WHERE key = 'upgraded_turn'")
        let plan = try #require(try StoreUpgrade.plan(connection, .current))
        #expect(plan.from == StoreUpgrade.Version(store: JournalSchema.version, engine: 7))
        try connection.run("UPDATE turns SET engine_version = engine_version + 1")
        #expect(try StoreUpgrade.plan(connection, .current) == nil)
        try store.journal.close()
    }

    private enum Decade: Int64 { case seven = 7 }

    @Test func `J15: copies go by their age, and with an erasure; stores that gave way later`()
        throws
    {
        for name in [
            "", ".version-10.8", ".version-9.6.partial", ".newer-20261128T000000Z", ".epoch",
        ] {
            directory.write("rollcall.db\(name)", "x")
        }
        directory.write("rollcall.dbx.version-1.1", "x")
        let path = directory.store
        #expect(
            try StoreUpgrade.deleteCopies(
                of: path, before: .distantPast, newerBefore: .distantPast) == [])
        let later = ClockReading.now().wall + Milliseconds(60_000)
        #expect(
            try StoreUpgrade.deleteCopies(of: path, before: later, newerBefore: .distantPast)
                == ["rollcall.db.version-10.8", "rollcall.db.version-9.6.partial"])
        #expect(
            try StoreUpgrade.deleteCopies(of: path) == ["rollcall.db.newer-20261128T000000Z"])
        #expect(
            directory.names.sorted() == [
                "rollcall.db", "rollcall.db.epoch", "rollcall.dbx.version-1.1",
            ])
    }

    @Test func `J15: a check says what will be done and needs, and changes nothing`() throws {
        let path = try GoldenStore.unpack(10, into: directory)
        let bytes = directory.bytes("rollcall.db")
        let check = try UpgradeCheck(path)
        #expect(check.isPossible)
        #expect(check.text.contains("is of version 10 (engine "))
        #expect(check.text.contains("11: history is packed"))
        #expect(check.text.contains("It takes a"))
        #expect(directory.bytes("rollcall.db") == bytes && copyName(directory) == nil)
        let store = try StateStore(path: path)
        try store.journal.close()
        #expect(try UpgradeCheck(path).text.contains("nothing changes."))
        #expect(try UpgradeCheck(path).text.contains("A copy of version 10 (engine "))
    }

    @Test func `J15: a check has words for each version of the tables`() {
        #expect(UpgradeCheck.changes.map(\.version) == Array(2...JournalSchema.version))
    }

    @Test func `J15: what a cut off upgrade left is not counted as lack of room`() throws {
        let path = try GoldenStore.unpack(10, into: directory)
        directory.write("rollcall.db.version-10.8.partial", "x")
        let size: Int64 = 1 << 42
        try #require(truncate(path + ".version-10.8.partial", off_t(size)) == 0)
        let json = try JSONTree(reading: Array(try UpgradeCheck(path).json.utf8))
        #expect(try #require(json["bytes_free"]?.whole) > size)
        try StateStore(path: path).journal.close()
        #expect(!directory.names.contains { $0.hasSuffix(".partial") })
    }

    @Test func `J15: a check, too, goes by what is set of the copy`() throws {
        let path = try GoldenStore.unpack(10, into: directory)
        let check = try UpgradeCheck(path, keepsCopy: false)
        #expect(check.isPossible && check.text.contains("there is no way back."))
        #expect(!check.text.contains("rollcall downgrade"))
        #expect(
            check.json.contains(#""copy":null"#) && check.json.contains(#""bytes_wanted":null"#))
        _ = try UpgradeCheck.upgrade(path, keepsCopy: false) { _ in }
        #expect(copyName(directory) == nil)
    }

    /// `rollcall upgrade` by root, of a store that a server of another user serves.
    @Test(.enabled(if: geteuid() == 0))
    func `J15: what root makes beside a store is its owner's`() throws {
        let path = try GoldenStore.unpack(10, into: directory)
        for name in directory.names { chown(directory.path + "/" + name, 65534, 65534) }
        try StateStore(path: path).journal.close()
        let made = directory.names
        #expect(made.contains("rollcall.db.lock") && copyName(directory) != nil)
        for name in made {
            var status = stat()
            #expect(lstat(directory.path + "/" + name, &status) == 0)
            #expect(status.st_uid == 65534, "\(name)")
        }
    }

    /// The manager waits for two minutes from each word on.
    @Test func `J15: whoever waits for a start hears of copying and of comparing`() {
        let words = Words()
        let log = Logger(label: "") { _ in SwiftLogNoOpLogHandler() }
        let watch = UpgradeLog.watch(Configuration(), log) { words.heard.append($0) }
        // No multiple of what is copied at once.
        let bytes: Int64 = 200 << 20 | 4096
        for before in [0, bytes] {
            words.heard = []
            for offset in stride(from: StoreUpgrade.pieceBytes, through: bytes, by: 4 << 20) {
                watch.say(.copied(before + offset, of: bytes * 2))
            }
            #expect(words.heard.count >= 3, "\(words.heard)")
        }
    }

    private final class Words: @unchecked Sendable { var heard: [String] = [] }

    @Test func `J15: who was erased since the copy is in it, so it is not put back`() throws {
        let path = try GoldenStore.unpack(10, into: directory)
        let store = try StateStore(path: path)
        try store.write { () throws(StoreError) in
            try store.journal.put(
                Erasure(number: 99, turn: 1, responder: 1, requestedAt: Timestamp(milliseconds: 1)))
        }
        try store.journal.close()
        #expect {
            try StoreDowngrade(path)
        } throws: { error in
            "\(error)".contains("people were erased since the copy was made")
        }
    }
}

extension PowerCutTests {
    @Test(arguments: UpgradeTests.versions)
    func `J15: a power cut while a store is brought up to date leaves the older or the newer one`(
        version: Int
    ) throws {
        let directory = TemporaryDirectory()
        let path = try GoldenStore.unpack(version, into: directory)
        let vfs = RecordingDisk.install()
        let from = Position()
        let watch = StoreUpgrade.Watch { step in
            guard case .begins = step else { return }
            RecordingDisk.noteDirectorySync()
            from.value = RecordingDisk.position
        }
        let store = try StateStore(path: path, vfs: vfs, upgrade: watch)
        let people = try store.recover().engine.roster.count
        try store.journal.close()
        let calls = RecordingDisk.calls
        var dice = SeededDice(seed: UInt64(version))
        var disk = CrashDisk()
        for (place, call) in calls.enumerated() {
            disk.take(call)
            guard place >= from.value, dice.chance(1, in: 4) else { continue }
            let image = TemporaryDirectory()
            for (name, bytes) in disk.image(&dice) where !name.hasSuffix("-shm") {
                image.write(name, bytes)
            }
            let opening = try StoreOpening(path: image.store)
            #expect(opening.loss == nil, "cut behind call \(place)")
            #expect(opening.recovered.engine.roster.count == people, "cut behind call \(place)")
            try opening.store.journal.close()
        }
        #expect(from.value > 0 && calls.count > from.value)
    }

    private final class Position: @unchecked Sendable { var value = 0 }
}
