import RollcallCore

/// `EtcdSettings` says how an etcd is reached.
package struct EtcdSettings: Sendable {
    /// Addresses of its members: `http://host:port` or `https://host:port`.
    package var endpoints: [String]
    /// A file of certificate authorities to be trusted beside the system's; nil for none.
    package var authorityFile: String?
    /// The certificate by which we are known to it; nil for none.
    package var clientCertificate: ClientCertificate?
    /// The user whose name and password it asks for; nil if it asks for none.
    package var user: (name: String, password: Secret)?
    /// Until an answer is whole; beyond it nobody knows what came of a request (S3).
    package var timeout = Milliseconds(2000)

    /// The members of an etcd at `endpoints`.
    package init(endpoints: [String]) { self.endpoints = endpoints }
}

extension EtcdSettings {
    /// The etcd that holds the log of a watch.
    /// - Throws: `SecretFault` if the password cannot be read.
    package init(_ cluster: ClusterSettings) throws(SecretFault) {
        self.init(endpoints: cluster.endpoints.map { String(decoding: $0, as: UTF8.self) })
        if !cluster.authorityFile.isEmpty { authorityFile = cluster.authorityFile }
        if !cluster.certificateFile.isEmpty {
            clientCertificate = ClientCertificate(
                certificate: cluster.certificateFile, key: cluster.keyFile)
        }
        if !cluster.user.isEmpty {
            let key = "cluster.log.etcd.password_file"
            user = (cluster.user, try SecretFile.read(cluster.passwordFile, of: key))
        }
        // A request that takes longer is of no use to who must beat in that time.
        timeout = Milliseconds(min(timeout.count, cluster.silence.count))
    }
}
