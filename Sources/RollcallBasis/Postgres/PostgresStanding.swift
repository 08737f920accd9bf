/// A `PostgresStanding` holds what a server says of itself when it is connected to: whether a
/// commit there outlives it.
struct PostgresStanding: Equatable {
    /// True if it is a standby.
    var isInRecovery = false
    /// `synchronous_standby_names`: whom a commit waits for.
    var standbys = ""
    /// True if it writes through to its disk.
    var hasFsync = true
    /// The number of the data directory, the same at all standbys and in no other one.
    var system: Int64 = 0
    /// Raised by each fail-over, and by each restored copy.
    var timeline: Int64 = 0
    /// True if the log's table is there.
    var hasTable = false

    /// The statement that asks for it.
    static func question(_ table: String) -> PostgresStatement {
        PostgresStatement(
            """
            SELECT pg_is_in_recovery(), current_setting('synchronous_standby_names'),
            current_setting('fsync') = 'on', (SELECT system_identifier FROM pg_control_system()),
            CASE WHEN pg_is_in_recovery() THEN '0'
            ELSE substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) END,
            to_regclass($1) IS NOT NULL
            """, [Array(table.utf8)])
    }

    init() {}

    /// The standing in the answer to `question`; nil if it makes no sense.
    init?(_ answer: PostgresAnswer) {
        guard let row = answer.rows.first, row.count == 6, let isInRecovery = row[0]?.first,
            let standbys = row[1], let hasFsync = row[2]?.first,
            let system = row[3].flatMap({ PostgresBinary.number($0) }),
            let timeline = row[4].flatMap({ Int64(PostgresBinary.text($0), radix: 16) }),
            let hasTable = row[5]?.first
        else { return nil }
        self.isInRecovery = isInRecovery == 1
        self.standbys = PostgresBinary.text(standbys)
        self.hasFsync = hasFsync == 1
        self.system = system
        self.timeline = timeline
        self.hasTable = hasTable == 1
    }

    /// Returns why nothing may be asked of this server, after another one of `lastTimeline` was
    /// seen; nil if it may.
    func refusal(isSingleCopy: Bool, lastTimeline: Int64) -> String? {
        if isInRecovery {
            return "this PostgreSQL is in recovery: it is a standby, and takes no writes"
        }
        if timeline < lastTimeline {
            return "this PostgreSQL is on timeline \(timeline), and another one on \(lastTimeline) "
                + "was the primary since: it is an old primary, or an older copy"
        }
        return Self.refusal(standbys: standbys, hasFsync: hasFsync, isSingleCopy: isSingleCopy)
    }

    /// Returns why a commit would not outlive the server's machine; nil if it does, or need not.
    static func refusal(standbys: String, hasFsync: Bool, isSingleCopy: Bool) -> String? {
        if !hasFsync {
            return "fsync is off at this PostgreSQL: what it acknowledges is lost with its power"
        }
        if standbys.allSatisfy({ $0 == " " }), !isSingleCopy {
            return
                "synchronous_standby_names is empty at this PostgreSQL: what it acknowledges is on "
                + "one machine; name a standby there, or set cluster.log.postgres.single_copy"
        }
        return nil
    }
}

/// The mark of the log in its table, beside the last revision: the server that it was made in, and the
/// highest timeline on which it was written.
struct PostgresMark: Equatable {
    var system: Int64
    var timeline: Int64

    /// The mark of a log that is written at a server.
    init(system: Int64, timeline: Int64) {
        self.system = system
        self.timeline = timeline
    }

    /// The mark of some bytes; nil if they make no sense.
    init?(_ bytes: [UInt8]) {
        let words = PostgresBinary.text(bytes).split(separator: " ")
        guard words.count == 3, words[0] == "1", let system = Int64(words[1]),
            let timeline = Int64(words[2])
        else { return nil }
        self.init(system: system, timeline: timeline)
    }

    /// As it stands in the table: text, since people read it.
    var bytes: [UInt8] { Array("1 \(system) \(timeline)".utf8) }

    /// Returns why the log in this table is none to go on with at a server; nil if it is (S11).
    func refusal(at standing: PostgresStanding) -> String? {
        if system != standing.system {
            return "the log was made in another PostgreSQL (system \(system), not "
                + "\(standing.system)): it was restored from a dump"
        }
        if timeline > standing.timeline {
            return "the log was written on timeline \(timeline), and this PostgreSQL is on "
                + "\(standing.timeline): it is an older copy"
        }
        return nil
    }
}

/// Values in PostgreSQL's binary form.
enum PostgresBinary {
    /// The bytes of a bigint.
    static func bytes(_ number: Int64) -> [UInt8] {
        (0..<8).map { UInt8(truncatingIfNeeded: number >> Int64(8 * (7 - $0))) }
    }

    /// The number of a bigint's bytes; nil if they are not eight.
    static func number(_ bytes: [UInt8]) -> Int64? {
        guard bytes.count == 8 else { return nil }
        return bytes.reduce(0) { $0 << 8 | Int64($1) }
    }

    /// The text of a text's bytes.
    static func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }
}
