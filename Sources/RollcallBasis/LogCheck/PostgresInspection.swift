import RollcallCore
import RollcallSupport

/// Asks the PostgreSQL of a log how it is set up.
struct PostgresInspection {
    /// A host that does not answer by then is left.
    private static let patience: Int64 = 2000
    private static let question = PostgresStatement(
        """
        SELECT current_setting('server_version'), current_setting('full_page_writes') = 'on',
        current_setting('data_checksums') = 'on', (SELECT count(*) FROM pg_stat_replication
        WHERE sync_state IN ('sync', 'quorum'))
        """)

    private let settings: PostgresSettings

    /// The PostgreSQL that settings describe.
    init(_ settings: PostgresSettings) { self.settings = settings }

    /// Asks each host.
    func check() -> LogCheck {
        var check = LogCheck()
        let hosts: PostgresHosts
        let library: PostgresLibrary
        do throws(PostgresMissing) {
            library = try PostgresLibrary.shared.get()
            hosts = PostgresHosts(try library.options(of: settings.url), settings)
        } catch {
            check.unasked.append("PostgreSQL: \(error)")
            return check
        }
        var hasPrimary = false
        for parameters in hosts.all {
            let name = parameters.first { $0.name == "host" }?.value ?? "the standard host"
            do throws(PostgresFault) {
                let until = ClockReading.now().elapsed + Self.patience
                let session = try PostgresSession(library, parameters, until: until)
                let answers = try session.run(
                    [PostgresStanding.question(settings.quotedTable), Self.question], until: until)
                guard answers.count == 2, let standing = PostgresStanding(answers[0]),
                    let row = answers[1].rows.first, row.count == 4
                else { throw .lost("an answer that makes no sense") }
                hasPrimary = hasPrimary || !standing.isInRecovery
                examine(name, standing, row, &check)
            } catch {
                check.unasked.append("PostgreSQL at \(name): \(error)")
            }
        }
        if !hasPrimary, !check.found.isEmpty {
            check.refused.append("none of the PostgreSQLs that answer is the primary")
        }
        return check
    }

    private func examine(
        _ name: String, _ standing: PostgresStanding, _ row: [[UInt8]?], _ check: inout LogCheck
    ) {
        let version = row[0].map { PostgresBinary.text($0) } ?? ""
        guard !standing.isInRecovery else {
            check.found.append("PostgreSQL \(version) at \(name), a standby")
            return
        }
        let synchronous = row[3].flatMap { PostgresBinary.number($0) } ?? 0
        check.found.append(
            "PostgreSQL \(version) at \(name), the primary, with \(synchronous) synchronous "
                + (synchronous == 1 ? "standby" : "standbys"))
        if let refusal = standing.refusal(isSingleCopy: settings.isSingleCopy, lastTimeline: 0) {
            check.refused.append(refusal)
        }
        if row[1]?.first != 1 {
            check.refused.append(
                "full_page_writes is off at \(name): a crash may leave half of a page")
        }
        if row[2]?.first != 1 {
            check.weak.append("data_checksums is off at \(name): what rots is not noticed")
        }
        if settings.isSingleCopy {
            check.weak.append("single_copy: the log is on one machine, and is lost with it")
        } else if synchronous == 0 {
            check.refused.append(
                "no synchronous standby is connected to \(name): nothing can be acknowledged")
        }
    }
}
