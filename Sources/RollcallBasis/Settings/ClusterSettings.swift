import Glibc
import RollcallCore
import RollcallSupport

/// A watch on several machines, as one of its members is told of it. Source: S2, S8.
package struct ClusterSettings: Equatable, Sendable {
    /// Addresses of an etcd's members: `http://host:port` or `https://host:port`. Without any, and
    /// without a PostgreSQL, this is a watch on one machine (S16).
    package var endpoints: [[UInt8]] = []
    /// The start of the keys that the watch's log has in etcd.
    package var prefix = "/rollcall/main"
    /// A file of the authorities that may vouch for etcd; empty for the system's.
    package var authorityFile = ""
    /// The certificate by which etcd knows us, and its key; empty for none.
    package var certificateFile = ""
    package var keyFile = ""
    /// The user whom etcd asks for, and the file of the password; empty for none.
    package var user = ""
    package var passwordFile = ""
    /// The URL of the PostgreSQL that holds the log instead of an etcd, without a password; empty for
    /// none.
    package var postgresURL = ""
    /// The table of the log there, which may be `schema.table`.
    package var postgresTable = "rollcall_log"
    /// The file of the password of the URL's user; empty for none.
    package var postgresPasswordFile = ""
    /// True if a log on one machine only will do.
    package var isSingleCopy = false
    /// The name of this member; empty for that of the host.
    package var member = ""
    /// The URL at which the other members reach this one; nil if they do not.
    package var address: ExternalURL?
    /// A file with the token, of the scopes `read` and `admin`, that the other members ask for; empty for none.
    package var tokenFile = ""
    /// Without a beat of the leader for so long another member stands.
    package var silence = Milliseconds(2000)
    /// The name of the cell that this watch is in a fleet of many; empty for none (K1).
    package var cell = ""
    /// The cell that this one is split from, and where its log is: the prefix of its keys, or its table. Empty
    /// for none (K6).
    package var splitFrom = ""
    package var splitLog = ""
    /// The cells of which this watch is the fleet cell, by their names; none if it is not.
    package var cells: [CellMap.Cell] = []
    /// A file with the token, of the scopes `read`, `act` and `admin`, that the cells ask for; empty for none.
    package var cellsTokenFile = ""
    /// The addresses of the fleet cell's members, for a gateway; none for whatever else (K5).
    package var fleetCell: [[UInt8]] = []

    /// One machine.
    package init() {}

    /// True if there is a cluster.
    package var isOn: Bool { !endpoints.isEmpty || !postgresURL.isEmpty }

    /// The name of this member.
    package var memberName: [UInt8] {
        if !member.isEmpty { return Array(member.utf8) }
        var buffer = [CChar](repeating: 0, count: 256)
        guard gethostname(&buffer, buffer.count - 1) == 0 else { return Array("member".utf8) }
        return buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
    }
}

extension SettingKind where Value == String {
    /// A text, or nothing.
    static var textOrNone: SettingKind {
        SettingKind("must be a text", shown: { .word($0) }) { $0.text }
    }
}

extension ClusterSettings {
    /// Refuses what cannot work, at the place where it stands.
    static func check(
        _ tree: ConfigurationTree, _ configuration: inout Configuration
    ) throws(ConfigurationError) {
        let cluster = configuration.cluster
        let name = cluster.memberName
        // It is part of a key, and stands in the line of a header field.
        guard (1...64).contains(name.count), name.allSatisfy({ (0x21...0x7E).contains($0) }),
            !name.contains(UInt8(ascii: "/"))
        else {
            throw tree.fault("member", "must be 1 to 64 letters, digits or signs without /", "")
        }
        if !cluster.endpoints.isEmpty, !cluster.postgresURL.isEmpty {
            throw tree.fault("log", "must be in etcd or in postgres, not in both", "")
        }
        try checkCells(tree, cluster)
        configuration.policy.role = cluster.fleetRole
        configuration.policy.cell = Array(cluster.cell.utf8)
    }

    /// Refuses what a PostgreSQL cannot be reached by, and a password where everybody sees it.
    static func checkPostgres(
        _ tree: ConfigurationTree, _ configuration: inout Configuration
    ) throws(ConfigurationError) {
        let cluster = configuration.cluster
        let url = cluster.postgresURL
        if !url.isEmpty {
            guard let begin = ["postgresql://", "postgres://"].first(where: { url.hasPrefix($0) })
            else {
                throw tree.fault(
                    "url", "must be like postgresql://rollcall@db1/rollcall?sslmode=verify-full", ""
                )
            }
            let user = url.dropFirst(begin.count).prefix { $0 != "/" && $0 != "?" }.split(
                separator: "@", omittingEmptySubsequences: false
            ).dropLast().joined()
            if user.contains(":") || url.contains("password=") {
                throw tree.fault("url", "must not hold a password: password_file does", "")
            }
        }
        guard isTable(cluster.postgresTable) else {
            throw tree.fault("table", "must be like rollcall_north or watches.rollcall_north", "")
        }
    }

    /// Returns true of a table, or `schema.table`.
    static func isTable(_ text: String) -> Bool {
        let names = text.split(separator: ".", omittingEmptySubsequences: false)
        return (1...2).contains(names.count) && names.allSatisfy(isName)
    }

    /// Returns true of the start of a watch's keys in etcd.
    static func isPrefix(_ text: String) -> Bool {
        text.hasPrefix("/") && text.utf8.count <= 200
            && text.utf8.allSatisfy { (0x21...0x7E).contains($0) }
    }

    /// Returns true if PostgreSQL takes this as a name, and shows it as it was written.
    private static func isName(_ name: Substring) -> Bool {
        guard (1...63).contains(name.utf8.count), name.first?.isNumber == false else {
            return false
        }
        return name.utf8.allSatisfy {
            (0x61...0x7A).contains($0) || (0x30...0x39).contains($0) || $0 == UInt8(ascii: "_")
        }
    }

    /// Refuses what etcd cannot be reached by.
    static func checkEtcd(
        _ tree: ConfigurationTree, _ configuration: inout Configuration
    ) throws(ConfigurationError) {
        let cluster = configuration.cluster
        for endpoint in cluster.endpoints
        where ExternalURL(String(decoding: endpoint, as: UTF8.self)) == nil {
            throw tree.fault("endpoints", "must hold URLs like https://10.0.0.1:2379", "")
        }
        guard isPrefix(cluster.prefix) else {
            throw tree.fault("prefix", "must be like /rollcall/north, of 200 bytes at most", "")
        }
        if cluster.certificateFile.isEmpty != cluster.keyFile.isEmpty {
            throw tree.fault("cert_file", "needs key_file, and that needs it", "")
        }
        if cluster.user.isEmpty != cluster.passwordFile.isEmpty {
            throw tree.fault("user", "needs password_file, and that needs it", "")
        }
    }
}
