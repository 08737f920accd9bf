import RollcallCore

/// `PostgresSettings` says how a PostgreSQL that holds the log of a watch is reached.
package struct PostgresSettings: Sendable {
    /// A connection URL as libpq reads it, with TLS as its `sslmode` and `sslrootcert` say; of several
    /// hosts the one is taken that is the primary.
    package var url: String
    /// The password of the URL's user; nil if none is asked for.
    package var password: Secret?
    /// The table of the log, which may be `schema.table`.
    package var table = "rollcall_log"
    /// True if a log that is on one machine only will do.
    package var isSingleCopy = false
    /// Until an answer is whole; beyond it nobody knows what came of a commit (S3).
    package var timeout = Milliseconds(2000)
    /// Between two looks of a watch.
    var watchEvery = Milliseconds(50)

    /// The PostgreSQL at a URL.
    package init(url: String) { self.url = url }

    /// The table's name as it stands in a statement.
    var quotedTable: String {
        table.split(separator: ".").map { "\"\($0)\"" }.joined(separator: ".")
    }
}

extension PostgresSettings {
    /// The PostgreSQL that holds the log of a watch.
    /// - Throws: `SecretFault` if the password cannot be read.
    package init(_ cluster: ClusterSettings) throws(SecretFault) {
        self.init(url: cluster.postgresURL)
        if !cluster.postgresPasswordFile.isEmpty {
            password = try SecretFile.read(
                cluster.postgresPasswordFile, of: "cluster.log.postgres.password_file")
        }
        table = cluster.postgresTable
        isSingleCopy = cluster.isSingleCopy
        // A request that takes longer is of no use to who must beat in that time.
        timeout = Milliseconds(min(timeout.count, cluster.silence.count))
    }
}

/// The hosts of a connection URL, each as parameters of libpq.
///
/// libpq would try several hosts by itself, but with a time-out for each only where it may block.
struct PostgresHosts {
    /// The parameters for each of the hosts.
    let all: [[(name: String, value: String)]]

    /// The hosts of a URL that libpq has taken apart into `options`.
    init(_ options: [(name: String, value: String)], _ settings: PostgresSettings) {
        let perHost = ["host", "hostaddr", "port"]
        func list(_ name: String) -> [String] {
            let text = options.first { $0.name == name }?.value ?? ""
            return text.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
        }
        let lists = perHost.map(list)
        var shared = options.filter { !perHost.contains($0.name) }
        if let password = settings.password {
            shared.append(("password", String(decoding: password.bytes, as: UTF8.self)))
        }
        // A machine that is gone without a word is noticed in some seconds.
        for (name, value) in [
            ("application_name", "rollcall"), ("keepalives_idle", "2"),
            ("keepalives_interval", "1"), ("keepalives_count", "3"), ("tcp_user_timeout", "5000"),
        ] where !shared.contains(where: { $0.name == name }) {
            shared.append((name, value))
        }
        let count = max(1, lists[0].count, lists[1].count)
        all = (0..<count).map { index in
            var own = shared
            for (name, list) in zip(perHost, lists) {
                // One port may stand for all hosts.
                let value =
                    list.count == 1 && name == "port" ? list[0] : list.dropFirst(index).first
                if let value, !value.isEmpty { own.append((name, value)) }
            }
            return own
        }
    }
}
