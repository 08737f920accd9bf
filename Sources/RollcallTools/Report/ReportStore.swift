import Glibc
import RollcallCore
import RollcallStore
import RollcallSupport

/// Tells what a store is made of, read without a lock and without writing: sizes, counts, versions. Of no row
/// anything but its number, its time and its state.
struct ReportStore {
    private static let endings: Set<String> = [
        "", "-wal", "-shm", "-journal", ".lock", ".epoch", ".suspect", ".partial",
    ]
    private static let kept = [".corrupt-", ".replaced-", ".newer-", ".version-"]
    /// Bytes of a store of which all pages are looked at.
    private static let bytesChecked: Int64 = 64 << 20

    /// Its path.
    let path: String
    let now: Timestamp

    /// The process that left its number in the lock; nil if there is none.
    var process: Int? {
        SmallFile.line("\(path).lock").flatMap { line in
            Int(line.prefix { $0.isNumber })
        }
    }

    /// Its files.
    func sayFiles(_ lines: ReportLines) {
        let slash = path.lastIndex(of: "/")
        let folder = slash.map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
        let name = slash.map { String(path[path.index(after: $0)...]) } ?? path
        guard let names = SmallFile.names(in: folder) else {
            return lines.say("not had: its folder: \(String(cString: strerror(errno)))")
        }
        var others = 0
        for found in names where found.hasPrefix(name) {
            let ending = String(found.dropFirst(name.count))
            guard Self.endings.contains(ending) || Self.kept.contains(where: ending.hasPrefix)
            else {
                others += 1
                continue
            }
            var status = stat()
            guard lstat("\(folder)/\(found)", &status) == 0 else { continue }
            let age = now.milliseconds / 1000 - Int64(status.st_mtim.tv_sec)
            lines.say(
                "STORE\(ending): \(status.st_size) bytes, mode "
                    + "\(String(status.st_mode & 0o7777, radix: 8)), "
                    + "\(status.st_uid == geteuid() ? "ours" : "another user's"), "
                    + "written \(age) s ago")
        }
        if others > 0 { lines.say("and \(others) files with other endings") }
        if !names.contains(name) { lines.say("not had: there is no store of this name") }
        if access(path, R_OK) != 0, names.contains(name) {
            lines.say("not had: the store may not be read: \(String(cString: strerror(errno)))")
        }
    }

    /// Says what SQLite knows of it.
    func sayContent(_ lines: ReportLines, _ words: @Sendable (String) -> String) {
        guard StoreFile.size(path) > 0 else { return lines.say("not had: it is empty, or no file") }
        do throws(StoreError) {
            let connection = try SQLiteConnection(path: path, access: .readOnly)
            try JournalSchema.guardConnection(connection)
            lines.say("version: \(try connection.integer("PRAGMA user_version"))")
            lines.say("this program's version: \(JournalSchema.version), engine \(Engine.version)")
            lines.say("pages: \(try connection.integer("PRAGMA page_count"))")
            lines.say("bytes a page: \(try connection.integer("PRAGMA page_size"))")
            lines.say("free pages: \(try connection.integer("PRAGMA freelist_count"))")
            lines.say("journal mode: \(words(try connection.text("PRAGMA journal_mode") ?? ""))")
            _ = try JournalSchema.inspect(connection)
            try sayTables(connection, lines)
            try sayIntegrity(connection, lines, words)
        } catch {
            lines.say("not had: \(words(error.finding))")
        }
    }

    private func sayTables(
        _ connection: SQLiteConnection, _ lines: ReportLines
    ) throws(StoreError) {
        let known = Self.counts.filter { count in
            (try? connection.integer(count.isThere)) == 1
        }
        for count in known {
            var numbers: [String] = []
            for (name, sql) in count.questions {
                do throws(StoreError) {
                    numbers.append("\(name) \(try connection.integer(sql))")
                } catch {
                    numbers.append("\(name) cannot be read")
                }
            }
            lines.say("\(count.table): \(numbers.joined(separator: ", "))")
        }
        let missing = Self.counts.count - known.count
        if missing > 0 { lines.say("\(missing) tables of newer versions are not there") }
    }

    private func sayIntegrity(
        _ connection: SQLiteConnection, _ lines: ReportLines, _ words: (String) -> String
    ) throws(StoreError) {
        let bytes =
            try connection.integer("PRAGMA page_count") * connection.integer("PRAGMA page_size")
        let checks: [(String, SQL)] =
            bytes <= Self.bytesChecked
            ? [("all of it", "PRAGMA integrity_check(5)")]
            : [
                ("meta", "PRAGMA integrity_check(meta)"),
                ("checkpoints", "PRAGMA integrity_check(checkpoints)"),
                ("erasures", "PRAGMA integrity_check(erasures)"),
            ]
        for (what, sql) in checks {
            lines.say("integrity of \(what): \(words(try connection.text(sql) ?? ""))")
        }
        guard case .current = try JournalSchema.inspect(connection) else { return }
        for table in RowChecksum.Table.small {
            do throws(StoreError) {
                try RowChecksum.check(table, connection)
                lines.say("checksums of \(table): right")
            } catch {
                lines.say("checksums of \(table): \(words(error.finding))")
            }
        }
    }

    /// The questions about a table. Numbers of rows are those of the first and the last id, where counting
    /// would read all of it.
    private struct Count {
        let table: String
        let isThere: SQL
        let questions: [(String, SQL)]
    }

    private static let counts: [Count] = [
        Count(
            table: "journal",
            isThere: "SELECT count(*) FROM sqlite_schema WHERE name = 'journal'",
            questions: [
                ("first", "SELECT min(id) FROM journal"), ("last", "SELECT max(id) FROM journal"),
            ]),
        Count(
            table: "turns", isThere: "SELECT count(*) FROM sqlite_schema WHERE name = 'turns'",
            questions: [
                ("first", "SELECT min(number) FROM turns"),
                ("last", "SELECT max(number) FROM turns"),
                ("last at (ms)", "SELECT wall_ms FROM turns ORDER BY number DESC LIMIT 1"),
                ("engine", "SELECT engine_version FROM turns ORDER BY number DESC LIMIT 1"),
            ]),
        Count(
            table: "decisions",
            isThere: "SELECT count(*) FROM sqlite_schema WHERE name = 'decisions'",
            questions: [
                ("first", "SELECT min(id) FROM decisions"),
                ("last", "SELECT max(id) FROM decisions"),
            ]),
        Count(
            table: "checkpoints",
            isThere: "SELECT count(*) FROM sqlite_schema WHERE name = 'checkpoints'",
            questions: [
                ("complete", "SELECT count(*) FROM checkpoints WHERE state = 1"),
                ("others", "SELECT count(*) FROM checkpoints WHERE state <> 1"),
                ("newest turn", "SELECT max(turn) FROM checkpoints WHERE state = 1"),
                (
                    "its slices",
                    "SELECT slices FROM checkpoints WHERE state = 1 ORDER BY turn DESC LIMIT 1"
                ),
                (
                    "its engine",
                    "SELECT engine_version FROM checkpoints WHERE state = 1 ORDER BY turn DESC LIMIT 1"
                ),
            ]),
        Count(
            table: "erasures",
            isThere: "SELECT count(*) FROM sqlite_schema WHERE name = 'erasures'",
            questions: [
                ("all", "SELECT count(*) FROM erasures"),
                ("not finished", "SELECT count(*) FROM erasures WHERE finished_ms = 0"),
            ]),
        Count(
            table: "gaps", isThere: "SELECT count(*) FROM sqlite_schema WHERE name = 'gaps'",
            questions: [
                ("last", "SELECT max(number) FROM gaps"),
                ("open", "SELECT count(*) FROM gaps WHERE closed_ms = 0"),
            ]),
        Count(
            table: "outbox", isThere: "SELECT count(*) FROM sqlite_schema WHERE name = 'outbox'",
            questions: [
                ("last", "SELECT max(notice) FROM outbox"),
                (
                    "not over",
                    "SELECT count(*) FROM outbox WHERE state < \(OutboxMessage.State.over)"
                ),
            ]),
        Count(
            table: "pushes", isThere: "SELECT count(*) FROM sqlite_schema WHERE name = 'pushes'",
            questions: [
                (
                    "not over",
                    "SELECT count(*) FROM pushes WHERE state < \(PushMessage.State.over)"
                )
            ]),
        Count(
            table: "samples", isThere: "SELECT count(*) FROM sqlite_schema WHERE name = 'samples'",
            questions: [
                ("first minute", "SELECT min(minute) FROM samples"),
                ("last minute", "SELECT max(minute) FROM samples"),
            ]),
        Count(
            table: "segments",
            isThere: "SELECT count(*) FROM sqlite_schema WHERE name = 'segments'",
            questions: [
                ("complete", "SELECT count(*) FROM segments WHERE state = 1"),
                ("others", "SELECT count(*) FROM segments WHERE state <> 1"),
                ("first turn", "SELECT min(first_turn) FROM segments"),
                ("last turn", "SELECT max(last_turn) FROM segments"),
                ("last row", "SELECT max(last_row) FROM segments"),
            ]),
    ]
}
