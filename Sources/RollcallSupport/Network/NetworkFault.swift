import Glibc

/// A `NetworkFault` says why a connection does not come about, or ends. It names hosts and what is
/// wrong with them, never what was sent.
package enum NetworkFault: Error, Equatable, CustomStringConvertible {
    /// The name has no address; the resolver's words.
    case name(String)
    /// The system's number of what failed.
    case system(call: String, errno: Int32)
    /// It did not come about in time.
    case timedOut
    /// The other side has closed it.
    case closed
    /// The certificate is not one to be trusted for this host; why.
    case certificate(String)
    /// There is no encrypted connection; the library's words.
    case encryption(String)
    /// The file of certificate authorities cannot be read, or holds none.
    case authorities(String)

    package var description: String {
        switch self {
        case .name(let words): "its name cannot be resolved: \(words)"
        case .system(let call, let number): "\(call): \(String(cString: strerror(number)))"
        case .timedOut: "it cannot be reached in time"
        case .closed: "it has closed the connection"
        case .certificate(let words): "its certificate is not trusted: \(ConsoleText.safe(words))"
        case .encryption(let words): "no TLS: \(ConsoleText.safe(words))"
        case .authorities(let path): "\(path): cannot be read, or holds no certificate"
        }
    }
}
