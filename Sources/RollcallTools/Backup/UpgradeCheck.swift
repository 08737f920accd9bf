import Glibc
import RollcallCore
import RollcallStore
import RollcallSupport

/// Tells what this version does to a store, and how long that takes. Source: J15.
package struct UpgradeCheck {
    /// Bytes that are copied to measure the disk.
    private static let sampleBytes: Int64 = 64 << 20
    /// The changes of each version of the tables, as an operator would say them.
    static let changes: [(version: Int64, words: String)] = [
        (2, "people can be erased"), (3, "gaps and dark time are kept; decisions get an index"),
        (4, "messages to receivers are kept until they arrived"),
        (5, "pushes to phones are kept likewise"), (6, "the fleet is counted once a minute"),
        (7, "rows carry checksums from then on"), (8, "what is on its way is counted"),
        (9, "checksums of small tables are made anew, erasures know regions"),
        (10, "regions are counted once a minute"),
        (11, "history is packed, in the background, after the start"),
    ]

    private let path: String
    /// False if `storage.upgrade_copy` says so.
    private let keepsCopy: Bool
    private let plan: StoreUpgrade.Plan?
    private let version: StoreUpgrade.Version?
    private var free: Int64?
    private let copies: [StoreUpgrade.Copy]
    /// People who are being erased: once that is over there is no copy.
    private var erasing: Int64 = 0
    /// Seconds for rows that are written anew or read for an index.
    private var rowSeconds = 0.0
    /// Seconds that copying and comparing a byte take here; nil if that cannot be measured.
    private var secondsAByte: Double?

    /// Looks at the store at `given`, which may be served meanwhile, for an upgrade that keeps a copy or
    /// does not.
    /// - Throws: `UpgradeError` if there is none, it is none, or it is of a newer version.
    package init(_ given: String, keepsCopy: Bool = true) throws(UpgradeError) {
        self.keepsCopy = keepsCopy
        do throws(StoreError) {
            path = try StoreFile.resolve(given)
            guard StoreFile.size(path) > 0 else {
                throw StoreError.damaged("there is no store, or an empty one")
            }
            let connection = try SQLiteConnection(path: path, access: .readOnly)
            try JournalSchema.guardConnection(connection)
            let found = try JournalSchema.inspect(connection)
            plan = try StoreUpgrade.plan(connection, found)
            version = try StoreUpgrade.version(connection, found)
            free = StoreUpgrade.bytesFree(beside: path)
            copies = try StoreUpgrade.copies(of: path)
            // What a cut off upgrade left goes before there is a new copy.
            if let plan, let bytes = free {
                free =
                    bytes + Int64(StoreFile.size(plan.copyPath))
                    + Int64(StoreFile.size(plan.copyPath + ".partial"))
            }
            if let plan {
                rowSeconds = try Self.rowSeconds(connection, plan.from.store)
                if plan.from.store >= 2 {
                    erasing = try connection.integer(
                        "SELECT count(*) FROM erasures WHERE finished_ms = 0")
                }
            }
        } catch {
            throw .unusable(path: given, error.finding)
        }
        if plan != nil, keepsCopy { secondsAByte = Self.measure(path) }
    }

    /// Seconds for rows that are read for an index, or whose checksums are made anew: measured with a million of
    /// each.
    private static func rowSeconds(
        _ connection: SQLiteConnection, _ version: Int64
    ) throws(StoreError) -> Double {
        var seconds = 0.0
        if version < 3 {
            seconds +=
                0.5e-6 * Double(try connection.integer("SELECT max(id) - min(id) FROM decisions"))
        }
        if version < 9, version >= 6 {
            seconds += 5e-6 * Double(try connection.integer("SELECT count(*) FROM samples"))
        }
        return seconds
    }

    /// Brings the store at `path` up to date, as a start does, with a copy or without; `say` hears how it
    /// goes. Returns how it stands.
    /// - Throws: `UpgradeError` if the store refuses.
    package static func upgrade(
        _ path: String, keepsCopy: Bool = true, _ say: @escaping @Sendable (String) -> Void
    ) throws(UpgradeError) -> String {
        do throws(StoreError) {
            let watch = StoreUpgrade.Watch(keepsCopy: keepsCopy) { step in
                switch step {
                case .kept(let plan): say("A copy is kept as \(plan.copyPath).")
                case .done(let plan): say("\(plan.path) was of version \(plan.from).")
                case .begins, .copied: break
                }
            }
            let journal = try Journal(path: path, vfs: nil, upgrade: watch)
            try journal.close()
        } catch {
            throw .store(error)
        }
        return "\(path) is of version \(StoreUpgrade.Version.current).\n"
    }

    /// True if it can be brought up to date now, or need not.
    package var isPossible: Bool {
        guard keepsCopy, let plan, let free else { return true }
        return free >= plan.bytesWanted
    }

    // MARK: - How long

    /// Copies a part of the store into a file without a name, as the upgrade will all of it.
    private static func measure(_ path: String) -> Double? {
        let source = open(path, O_RDONLY | O_CLOEXEC)
        guard source >= 0 else { return nil }
        // Whoever serves the store is another process, whose locks this one cannot drop.
        defer { close(source) }
        let slash = path.lastIndex(of: "/")
        let directory = slash.map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
        let name = "\(directory)/.rollcall-upgrade-\(getpid())"
        let target = open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard target >= 0 else { return nil }
        unlink(name)
        defer { close(target) }
        var chunk = [UInt8](repeating: 0, count: 4 << 20)
        var done: Int64 = 0
        let began = ContinuousClock.now
        while done < sampleBytes {
            let count = pread(source, &chunk, chunk.count, off_t(done))
            guard count > 0 else { break }
            guard pwrite(target, chunk, count, off_t(done)) == count else { return nil }
            done += Int64(count)
        }
        guard done > 0, fsync(target) == 0 else { return nil }
        // Comparing reads both once more.
        let took = (ContinuousClock.now - began) / .seconds(1)
        return took * 2 / Double(done)
    }

    /// Seconds by what was measured, and between which it most likely lies.
    private var seconds: (about: Double, least: Double, most: Double)? {
        guard let plan, let secondsAByte else { return nil }
        let about = Double(plan.bytes) * secondsAByte + rowSeconds
        // A sample comes from memory, the rest from the disk; or the disk was busy just then.
        return (about, about / 2, about * 4 + 1)
    }

    private static func span(_ seconds: Double) -> String {
        seconds < 1
            ? "less than 1 s"
            : seconds < 120
                ? "\(Int(seconds.rounded(.up))) s" : "\(Int((seconds / 60).rounded(.up))) min"
    }

    // MARK: - Telling

    /// For people.
    package var text: String {
        guard let plan else {
            let now = version.map { "is of version \($0), which is this program's" } ?? "is empty"
            return "\(path) \(now): nothing changes.\n" + copiesText
        }
        var lines = [
            "\(path) is of version \(plan.from). The first start of this program brings it to "
                + "\(StoreUpgrade.Version.current), in one transaction."
        ]
        for change in Self.changes where change.version > plan.from.store {
            lines.append("  \(change.version): \(change.words)")
        }
        if plan.from.engine < StoreUpgrade.Version.current.engine {
            lines.append("  what is decided from then on is decided by newer rules")
        }
        guard keepsCopy else {
            lines.append(
                "No copy is kept before that (storage.upgrade_copy: false): there is no way back.")
            return lines.joined(separator: "\n") + "\n" + copiesText
        }
        lines.append(
            "Before that a copy of \(plan.bytes) bytes is kept as \(plan.copyPath), for 7 days or until "
                + "somebody is erased.")
        let room = free.map { "\($0) are" } ?? "nobody knows how many are"
        lines.append(
            isPossible
                ? "\(plan.bytesWanted) bytes must be free for it, and \(room)."
                : "THERE IS NO ROOM: \(plan.bytesWanted) bytes must be free for it, and \(room). Free "
                    + "some, or say storage.upgrade_copy: false, and there is no way back.")
        if erasing > 0 {
            lines.append(
                "\(erasing) people are being erased: the copy goes as soon as that is over, and with it the "
                    + "way back. Let the older program finish it first.")
        }
        lines.append(timeText)
        lines.append("To go back: stop the server, then rollcall downgrade \(path)")
        return lines.joined(separator: "\n") + "\n" + copiesText
    }

    private var timeText: String {
        guard let seconds else {
            return "How long that takes cannot be measured here: the folder may not be written."
        }
        if seconds.most < 2 { return "It takes a second or two at most." }
        return "It takes about \(Self.span(seconds.about)), most likely from "
            + "\(Self.span(seconds.least)) to \(Self.span(seconds.most)), as a part of the store that was "
            + "copied just now tells. Meanwhile nothing is taken, and backends send again."
    }

    private var copiesText: String {
        copies.map {
            "A copy of version \($0.version) of \(RFC3339.string($0.at)) is there: \($0.path)\n"
        }.joined()
    }

    /// For machines.
    package var json: String {
        func words(_ version: StoreUpgrade.Version?) -> JSONTree {
            version.map { ["store": .integer($0.store), "engine": .integer($0.engine)] } ?? nil
        }
        let kept = keepsCopy ? plan : nil
        let tree: JSONTree = [
            "store": .text(path), "version": words(version), "to": words(.current),
            "upgrade": .boolean(plan != nil), "possible": .boolean(isPossible),
            "bytes": plan.map { .integer($0.bytes) } ?? nil,
            "bytes_wanted": kept.map { .integer($0.bytesWanted) } ?? nil,
            "bytes_free": free.map { .integer($0) } ?? nil,
            "copy": kept.map { .text($0.copyPath) } ?? nil,
            "seconds": seconds.map {
                [
                    "about": .number($0.about), "least": .number($0.least),
                    "most": .number($0.most),
                ]
            } ?? nil,
            "copies": .list(
                copies.map {
                    [
                        "file": .text($0.path), "version": words($0.version),
                        "bytes": .integer($0.bytes), "at": .text(RFC3339.string($0.at)),
                    ]
                }),
        ]
        return tree.printed
    }
}
