import RollcallCore

/// How an etcd is reached.
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
