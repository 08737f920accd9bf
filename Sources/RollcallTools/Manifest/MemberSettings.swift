import RollcallBasis

/// Settings of a member of several, where nobody gives any: those that a manifest writes itself.
enum MemberSettings {
    /// The files beside the settings that these name.
    static let files = ["backend.token", "members.token", "etcd-ca.pem", "etcd.pem", "etcd.key"]

    /// For a member in Kubernetes, whose name and address are variables.
    static let kubernetes = """
        web:
          tokens:
            - {name: backend, scopes: [ingest, read], token_file: backend.token}
            - {name: members, scopes: [read, admin], token_file: members.token}
        cluster:
          token_file: /etc/rollcall/members.token     # what members show each other
          silence: 2s                                 # after so long another one leads
          log:
            etcd:
              # CHANGE: the members of your etcd.
              endpoints: ["https://etcd-0.etcd:2379", "https://etcd-1.etcd:2379", "https://etcd-2.etcd:2379"]
              prefix: /rollcall/main                  # one for each watch
              ca_file: /etc/rollcall/etcd-ca.pem
              cert_file: /etc/rollcall/etcd.pem
              key_file: /etc/rollcall/etcd.key

        """

    /// For a member on a machine of its own, by systemd, which hands it the files.
    static let machine = """
        web:
          listen_address: 0.0.0.0:10112
          tokens:
            - {name: backend, scopes: [ingest, read], token_file: /run/credentials/rollcall.service/backend.token}
            - {name: members, scopes: [read, admin], token_file: /run/credentials/rollcall.service/members.token}
        cluster:
          token_file: /run/credentials/rollcall.service/members.token
          silence: 2s
          log:
            etcd:
              endpoints: ["https://m1:2379", "https://m2:2379", "https://m3:2379"]
              prefix: /rollcall/main
              ca_file: /run/credentials/rollcall.service/etcd-ca.pem
              cert_file: /run/credentials/rollcall.service/etcd.pem
              key_file: /run/credentials/rollcall.service/etcd.key

        """
}

extension ManifestSettings {
    /// These with the files that `cluster` names: they are files like those of secrets.
    var forMembers: ManifestSettings {
        var settings = self
        for file in [
            cluster.tokenFile, cluster.authorityFile, cluster.certificateFile, cluster.keyFile,
            cluster.passwordFile, cluster.postgresPasswordFile,
        ] + cluster.postgresFiles where !file.isEmpty && !files.contains(file) {
            settings.files.append(file)
        }
        return settings
    }

    /// Refuses settings with which several members would not be one watch.
    /// - Throws: `InputFileError.unusable` with what is missing.
    package func checkForMembers() throws(InputFileError) {
        let missing: String? =
            if !cluster.isOn {
                "cluster.log.etcd.endpoints, or cluster.log.postgres.url: several members need a log"
            } else if cluster.tokenFile.isEmpty {
                "cluster.token_file: members reach each other beyond loopback, by a token of read and admin"
            } else {
                nil
            }
        if let missing { throw .unusable(path: path, missing) }
    }
}

extension ClusterSettings {
    /// The files that the URL of PostgreSQL names: certificates, as libpq reads them. Of the file of passwords
    /// libpq asks that nobody's group reads it, which a Secret's volume cannot do: `password_file` is for that.
    var postgresFiles: [String] {
        guard let question = postgresURL.firstIndex(of: "?") else { return [] }
        let certificates: Set<Substring> = ["sslrootcert", "sslcert", "sslkey", "sslcrl"]
        var files: [String] = []
        let query = postgresURL[postgresURL.index(after: question)...]
        for pair: Substring in query.split(separator: "&") {
            let parts: [Substring] = pair.split(separator: "=", maxSplits: 1)
            guard parts.count == 2, certificates.contains(parts[0]),
                let bytes = Target.percentDecoded(parts[1].utf8)
            else { continue }
            let file = String(decoding: bytes, as: UTF8.self)
            // These are the authorities of the system.
            if parts[0] != "sslrootcert" || file != "system" { files.append(file) }
        }
        return files
    }
}
