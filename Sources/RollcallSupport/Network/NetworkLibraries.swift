import CGnuTLS
import CMicroHTTPD

/// The versions of the libraries that the network stands on, as they are loaded.
package enum NetworkLibraries {
    /// Names and versions; none of libcurl, which is loaded only if somebody needs it.
    package static var versions: [(name: String, version: String)] {
        [
            ("libmicrohttpd", MHD_get_version().map { String(cString: $0) } ?? ""),
            ("GnuTLS", gnutls_check_version(nil).map { String(cString: $0) } ?? ""),
        ]
    }
}
