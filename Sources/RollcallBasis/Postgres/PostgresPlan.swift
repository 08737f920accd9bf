import RollcallCluster
import RollcallCore

/// The statements of the turn log's table, and what their answers say.
///
///     key       bytea   primary key; the row of the empty key holds the last revision and the mark
///     value     bytea
///     revision  bigint  of the transaction that changed it last
///
/// Whoever changes something locks the empty key's row first, so that revisions come in the order of
/// their commits.
struct PostgresPlan {
    /// The table's name as it stands in a statement.
    let table: String
    /// For how long the server waits for a lock, or for us within a transaction.
    let timeout: Milliseconds

    // MARK: - The table

    /// The statements that make the table, if there is none.
    func creation(_ mark: PostgresMark) -> [PostgresStatement] {
        [
            PostgresStatement("BEGIN"), PostgresStatement("SELECT pg_advisory_xact_lock(7236551)"),
            PostgresStatement(
                """
                CREATE TABLE IF NOT EXISTS \(table) (key bytea PRIMARY KEY, value bytea NOT NULL,
                revision bigint NOT NULL) WITH (autovacuum_vacuum_scale_factor = 0,
                autovacuum_vacuum_threshold = 5000)
                """),
            PostgresStatement("CREATE INDEX IF NOT EXISTS \(indexName) ON \(table) (revision)"),
            PostgresStatement(
                "INSERT INTO \(table) VALUES ('', $1, 1) ON CONFLICT (key) DO NOTHING",
                [mark.bytes]),
            PostgresStatement("COMMIT"),
        ]
    }

    /// An index is in its table's schema.
    private var indexName: String {
        let name = table.split(separator: ".").last ?? ""
        return "\"\(name.filter { $0 != "\"" }.prefix(50))_revision\""
    }

    // MARK: - Beginning

    /// The statements that begin a transaction that only reads: all it reads is of one instant. The
    /// message is a record of its own in the server's log, so that the commit waits for the standbys
    /// as that of a write does: it proves that all that was read is there, too.
    var readBeginning: [PostgresStatement] {
        [
            PostgresStatement("BEGIN ISOLATION LEVEL REPEATABLE READ READ WRITE"), setting,
            PostgresStatement("SELECT revision, value FROM \(table) WHERE key = ''"),
            PostgresStatement("SELECT pg_logical_emit_message(true, 'rollcall', '')"),
        ]
    }

    /// The statements that begin one that may change something, and read what is compared.
    func writeBeginning(
        _ comparisons: [KeyValueTransaction.Comparison]
    ) -> [PostgresStatement] {
        [
            PostgresStatement("BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE"), setting,
            PostgresStatement("SELECT revision, value FROM \(table) WHERE key = '' FOR UPDATE"),
        ] + Self.keys(of: comparisons).map { get($0) }
    }

    /// The statement that sets what holds within the transaction only, whatever the role, a pool,
    /// or the file says: notices are how the server tells that a commit did not wait.
    private var setting: PostgresStatement {
        PostgresStatement(
            """
            SELECT current_setting('synchronous_standby_names'), current_setting('fsync') = 'on',
            set_config('synchronous_commit', 'on', true),
            set_config('client_min_messages', 'notice', true),
            set_config('statement_timeout', '0', true),
            set_config('lock_timeout', '\(timeout.count)', true),
            set_config('idle_in_transaction_session_timeout', '\(timeout.count)', true)
            """)
    }

    /// A `Beginning` holds what a transaction's beginning found.
    struct Beginning: Equatable {
        var standbys: String
        var hasFsync: Bool
        var revision: Int64
        var mark: PostgresMark
    }

    /// Reads a beginning from the answers to its first three statements; nil if they make no sense.
    static func beginning(_ answers: [PostgresAnswer]) -> Beginning? {
        guard answers.count >= 3, let settings = answers[1].rows.first, settings.count >= 2,
            let standbys = settings[0], let hasFsync = settings[1]?.first,
            let row = answers[2].rows.first, row.count == 2,
            let revision = row[0].flatMap({ PostgresBinary.number($0) }),
            let mark = row[1].flatMap({ PostgresMark($0) })
        else { return nil }
        return Beginning(
            standbys: PostgresBinary.text(standbys), hasFsync: hasFsync == 1, revision: revision,
            mark: mark)
    }

    // MARK: - Comparing

    /// The keys that are compared, each once.
    private static func keys(of comparisons: [KeyValueTransaction.Comparison]) -> [[UInt8]] {
        var keys: [[UInt8]] = []
        for comparison in comparisons where !keys.contains(comparison.key) {
            keys.append(comparison.key)
        }
        return keys
    }

    /// True if all comparisons hold of what `writeBeginning` found; nil if that makes no sense.
    static func holds(
        _ comparisons: [KeyValueTransaction.Comparison], _ answers: [PostgresAnswer]
    ) -> Bool? {
        let keys = keys(of: comparisons)
        guard answers.count == 3 + keys.count else { return nil }
        var found: [[UInt8]: KeyValueRow] = [:]
        for (key, answer) in zip(keys, answers.dropFirst(3)) {
            guard let rows = rows(answer) else { return nil }
            found[key] = rows.first
        }
        return comparisons.allSatisfy { comparison in
            let row = found[comparison.key]
            switch comparison {
            case .value(_, let value): return row?.value == value
            case .revision(_, let revision): return row?.revision == revision
            case .absent: return row == nil
            }
        }
    }

    // MARK: - Operations

    private func get(_ key: [UInt8]) -> PostgresStatement {
        PostgresStatement("SELECT key, value, revision FROM \(table) WHERE key = $1", [key])
    }

    /// The statements of operations; what they change gets `revision`.
    func statements(
        _ operations: [KeyValueTransaction.Operation], revision: Int64
    ) -> [PostgresStatement] {
        operations.map { operation in
            switch operation {
            case .put(let key, let value):
                PostgresStatement(
                    """
                    INSERT INTO \(table) VALUES ($1, $2, $3) ON CONFLICT (key) DO UPDATE
                    SET value = excluded.value, revision = excluded.revision
                    """, [key, value, PostgresBinary.bytes(revision)])
            case .delete(let from, let to):
                PostgresStatement(
                    "DELETE FROM \(table) WHERE key >= $1 AND key < $2", [from, to])
            case .get(let key): get(key)
            case .range(let from, let to, let limit):
                PostgresStatement(
                    """
                    SELECT key, value, revision FROM \(table) WHERE key >= $1 AND key < $2
                    ORDER BY key LIMIT $3
                    """, [from, to, PostgresBinary.bytes(Int64(limit))])
            }
        }
    }

    /// The statement that moves the last revision on.
    func count(_ revision: Int64, _ mark: PostgresMark) -> PostgresStatement {
        PostgresStatement(
            "UPDATE \(table) SET revision = $1, value = $2 WHERE key = ''",
            [PostgresBinary.bytes(revision), mark.bytes])
    }

    /// Returns the statement that reads what was changed after a revision, revision by revision.
    func changes(
        prefix: [UInt8], after revision: Int64, limit: Int
    ) -> PostgresStatement {
        PostgresStatement(
            """
            SELECT key, value, revision FROM \(table) WHERE revision > $3 AND key >= $1 AND key < $2
            ORDER BY revision, key LIMIT $4
            """,
            [
                prefix, KeyValueRow.behind(prefix), PostgresBinary.bytes(revision),
                PostgresBinary.bytes(Int64(limit)),
            ])
    }

    /// The last revision, as the server shows it: nothing that a commit stands behind.
    var glance: PostgresStatement {
        PostgresStatement("SELECT revision FROM \(table) WHERE key = ''")
    }

    /// The rows of an answer; nil if they make no sense.
    static func rows(_ answer: PostgresAnswer) -> [KeyValueRow]? {
        var rows: [KeyValueRow] = []
        for row in answer.rows {
            guard row.count == 3, let key = row[0], let value = row[1],
                let revision = row[2].flatMap({ PostgresBinary.number($0) })
            else { return nil }
            rows.append(KeyValueRow(key: key, value: value, revision: revision))
        }
        return rows
    }

    /// Returns what the reads among operations found; nil if the answers make no sense.
    static func found(
        _ operations: [KeyValueTransaction.Operation], _ answers: [PostgresAnswer]
    ) -> [[KeyValueRow]]? {
        guard operations.count == answers.count else { return nil }
        var found: [[KeyValueRow]] = []
        for (operation, answer) in zip(operations, answers) where operation.isRead {
            guard let rows = rows(answer) else { return nil }
            found.append(rows)
        }
        return found
    }
}

extension KeyValueTransaction.Operation {
    /// True if it changes nothing.
    var isRead: Bool {
        switch self {
        case .get, .range: true
        case .put, .delete: false
        }
    }
}

extension KeyValueTransaction.Comparison {
    /// The key that is compared.
    var key: [UInt8] {
        switch self {
        case .value(let key, _), .revision(let key, _), .absent(let key): key
        }
    }
}
