import RollcallCluster
import RollcallCore
import Testing

@testable import RollcallBasis

/// S3: what a COMMIT's outcome is taken for, and what is asked of a PostgreSQL. Without one.
struct PostgresCommitTests {
    private static func setting(_ standbys: String, fsync: UInt8 = 1) -> PostgresAnswer {
        PostgresAnswer("SELECT 1", [[Array(standbys.utf8), [fsync]]])
    }

    private static func outcome(
        _ answers: [PostgresAnswer], _ notices: [PostgresWords] = [], isSingleCopy: Bool = false
    ) -> PostgresCommit {
        PostgresCommit(.success(answers), notices: notices, isSingleCopy: isSingleCopy)
    }

    private static func outcome(_ fault: PostgresFault) -> PostgresCommit {
        PostgresCommit(.failure(fault), notices: [], isSingleCopy: false)
    }

    private static func refused(_ severity: String, _ state: String) -> PostgresFault {
        .refused(PostgresWords(severity: severity, state: state, message: "no"))
    }

    @Test("S3: only a commit without any notice, at a server that waits for a standby, has landed")
    func landed() {
        let commit = PostgresAnswer("COMMIT")
        #expect(Self.outcome([commit, Self.setting("ANY 1 (a, b)")]) == .landed)
        #expect(Self.outcome([commit, Self.setting("")], isSingleCopy: true) == .landed)
        guard case .unknown = Self.outcome([commit, Self.setting(" ")]),
            case .unknown = Self.outcome([commit, Self.setting("*", fsync: 0)]),
            case .unknown = Self.outcome([commit]), case .unknown = Self.outcome([]),
            case .unknown = Self.outcome([PostgresAnswer("SELECT 1"), Self.setting("*")])
        else {
            Issue.record("taken for an answer")
            return
        }
        let notice = PostgresWords(
            severity: "WARNING", state: "01000",
            message: "canceling wait for synchronous replication due to user request")
        #expect(
            Self.outcome([commit, Self.setting("*")], [notice])
                == .unknown(
                    "canceling wait for synchronous replication due to user request (01000)"))
        #expect(
            Self.outcome([commit, Self.setting("*")], [notice], isSingleCopy: true)
                == .unknown("\(notice)"))
    }

    @Test("S3: what the server rolled back was certainly not run; all else is unknown")
    func faults() {
        #expect(
            Self.outcome([PostgresAnswer("ROLLBACK"), Self.setting("*")])
                == .undone("the server rolled the transaction back"))
        for state in ["40001", "40P01"] {
            #expect(Self.outcome(Self.refused("ERROR", state)) == .undone("no (\(state))"))
        }
        for fault: PostgresFault in [
            Self.refused("ERROR", "40003"), Self.refused("ERROR", "57014"),
            Self.refused("ERROR", "53100"), .lost("gone"), .timedOut,
        ] {
            #expect(Self.outcome(fault) == .unknown("\(fault)"))
        }
    }

    @Test("A PostgreSQL is refused in recovery, on an older timeline, without fsync or standby")
    func standing() {
        var standing = PostgresStanding()
        standing.standbys = "*"
        standing.timeline = 3
        #expect(standing.refusal(isSingleCopy: false, lastTimeline: 3) == nil)
        #expect(standing.refusal(isSingleCopy: false, lastTimeline: 4) != nil)
        standing.hasFsync = false
        #expect(standing.refusal(isSingleCopy: true, lastTimeline: 0) != nil)
        standing.hasFsync = true
        standing.standbys = ""
        #expect(standing.refusal(isSingleCopy: false, lastTimeline: 0) != nil)
        #expect(standing.refusal(isSingleCopy: true, lastTimeline: 0) == nil)
        standing.isInRecovery = true
        #expect(standing.refusal(isSingleCopy: true, lastTimeline: 0) != nil)
        #expect(PostgresMark(PostgresMark(system: -5, timeline: 2).bytes)?.system == -5)
        #expect(PostgresMark(Array("2 1 1".utf8)) == nil)
        #expect(PostgresBinary.number(PostgresBinary.bytes(.min)) == .min)
        #expect(PostgresBinary.number([1]) == nil)
    }

    @Test("Each host of a URL is a way of its own; what the URL does not say is said for it")
    func hosts() throws {
        let library = try PostgresLibrary.shared.get()
        let options = try library.options(
            of: "postgresql://me@h1,h2:6000/db?sslmode=verify-full&keepalives_idle=9")
        var settings = PostgresSettings(url: "")
        settings.password = try Secret(Array("s3cret".utf8))
        let hosts = PostgresHosts(options, settings).all
        #expect(hosts.count == 2)
        let found = hosts.map { host in
            ["host", "port", "user", "dbname", "sslmode", "keepalives_idle", "password"].map {
                name in host.first { $0.name == name }?.value ?? "-"
            }.joined(separator: " ")
        }
        #expect(
            found == [
                "h1 - me db verify-full 9 s3cret", "h2 6000 me db verify-full 9 s3cret",
            ])
    }

    @Test("The settings take one engine, no password in the URL, and names of tables")
    func settings() throws {
        func words(_ log: String) -> String {
            do {
                let configuration = try Configuration(
                    yaml: "cluster: {member: a, log: {\(log)}}")
                return configuration.cluster.isOn ? "on" : "off"
            } catch {
                return "\(error)"
            }
        }
        let url = "url: 'postgresql://me@h1:5432,h2/db?sslmode=verify-full'"
        #expect(words("postgres: {\(url)}") == "on")
        #expect(words("postgres: {\(url), table: watches.north_1, single_copy: true}") == "on")
        #expect(words("postgres: {table: north}") == "off")
        #expect(
            words("postgres: {\(url)}, etcd: {endpoints: ['http://h:1']}").contains("not in both"))
        for wrong in [
            "url: 'http://h'", "url: 'postgresql://me:secret@h/db'",
            "url: 'postgresql://h/db?password=secret'",
        ] {
            #expect(words("postgres: {\(wrong)}").contains("cluster.log.postgres.url must"))
            #expect(!words("postgres: {\(wrong)}").contains("secret"))
        }
        for wrong in ["a.b.c", "'a\"b'", "A", "1a", "a."] {
            #expect(
                words("postgres: {table: \(wrong)}").contains("cluster.log.postgres.table must"))
        }
    }
}
