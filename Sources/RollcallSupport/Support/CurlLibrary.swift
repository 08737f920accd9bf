import CCurl

/// libcurl, loaded at run time: it is no dependency of the build, and everything that sends nothing
/// works without it. Source: A12.
///
/// `@unchecked Sendable` is true because the table of functions never changes once it is loaded,
/// and libcurl's functions may be called from any thread with handles of their own.
package final class CurlLibrary: @unchecked Sendable {
    /// The names under which it is looked for, in this order: with OpenSSL, and Debian's other one
    /// with GnuTLS.
    package static let names = ["libcurl.so.4", "libcurl-gnutls.so.4"]
    /// Bytes of a loader's words at most.
    private static let troubleBytes = 512

    /// The one of this process. Swift runs this once, whichever thread comes first, as
    /// `curl_global_init` wants it.
    package static let shared = Result { () throws(CurlMissing) in try CurlLibrary(names: names) }

    /// The text of `curl_version`: its own version and those of what it stands on.
    package let version: String
    /// Never unloaded: see `rollcall_curl_load`.
    private let functions: OpaquePointer

    /// Loads the first of `names` that is there and has all that is used.
    /// - Throws: `CurlMissing`, with what the loader said, if none is.
    init(names: [String]) throws(CurlMissing) {
        var troubles: [String] = []
        for name in names {
            var loaded: OpaquePointer?
            let words = withUnsafeTemporaryAllocation(
                of: CChar.self, capacity: Self.troubleBytes
            ) { buffer in
                loaded = rollcall_curl_load(name, buffer.baseAddress, buffer.count)
                return loaded == nil ? buffer.baseAddress.map { String(cString: $0) } : nil
            }
            if let loaded {
                functions = loaded
                version = String(cString: rollcall_curl_version(loaded))
                return
            }
            troubles.append(words ?? name)
        }
        throw CurlMissing(troubles: troubles)
    }

    /// Calls `body` with the table of functions, which must not leave it.
    package func withFunctions<Value>(_ body: (OpaquePointer) -> Value) -> Value { body(functions) }
}

/// There is no libcurl: nothing can be sent, and the rest works.
package struct CurlMissing: Error, Equatable, CustomStringConvertible {
    /// The words of the loader, for each name that was tried.
    package let troubles: [String]

    package var description: String {
        "libcurl cannot be loaded (\(troubles.joined(separator: "; "))): install it "
            + "(on Debian, package libcurl4 or curl)"
    }
}
