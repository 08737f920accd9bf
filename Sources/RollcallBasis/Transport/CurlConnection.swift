import CCurl
import Glibc
import RollcallCore

/// The options that hold for the connection of every transfer, whatever is spoken on it.
extension CurlOptions {
    /// Sets how long it is waited, and that nobody stands in between. `sockets` must live until the
    /// transfer's end.
    mutating func connection(
        connect: Milliseconds, whole: Milliseconds, _ sockets: TransferSockets
    ) {
        // "no matter what": a time-out in a name look-up must not come as a signal to us.
        number(ROLLCALL_CURLOPT_NOSIGNAL, 1)
        // Else the end of a look-up that takes too long is waited for all the same.
        newer(ROLLCALL_CURLOPT_QUICK_EXIT, 1)
        number(ROLLCALL_CURLOPT_CONNECTTIMEOUT_MS, Int(connect.count))
        number(ROLLCALL_CURLOPT_TIMEOUT_MS, Int(whole.count))
        number(ROLLCALL_CURLOPT_SSLVERSION, ROLLCALL_CURL_TLS_1_2)
        // "Setting the proxy string to "" (an empty string) explicitly disables the use of a
        // proxy, even if there is an environment variable set for it." Through one, the address
        // that counts would be the proxy's choice.
        text(ROLLCALL_CURLOPT_PROXY, "")
        opener(openSocket)
        pointer(ROLLCALL_CURLOPT_OPENSOCKETDATA, Unmanaged.passUnretained(sockets).toOpaque())
    }

    /// Sets who may vouch for the server; returns the path of a file that cannot be read, if there is
    /// one.
    mutating func authorities(_ authorities: Authorities) -> String? {
        guard let extra = authorities.extra else {
            if let system = authorities.system { text(ROLLCALL_CURLOPT_CAINFO, system) }
            return nil
        }
        let bundle: [UInt8]
        do throws(Authorities.Unreadable) {
            bundle = try authorities.bundle(with: extra)
        } catch {
            return error.path
        }
        guard !blob(ROLLCALL_CURLOPT_CAINFO_BLOB, bundle) else { return nil }
        // GnuTLS has no blobs in Debian's libcurl: one file, and the folder beside it.
        text(ROLLCALL_CURLOPT_CAINFO, extra)
        text(ROLLCALL_CURLOPT_CAPATH, Authorities.folder)
        return nil
    }
}

extension HTTPCallError.Cause {
    /// There is no memory for a transfer.
    static var noMemory: HTTPCallError.Cause {
        .other(code: CInt(ROLLCALL_CURLE_OUT_OF_MEMORY.rawValue), "out of memory")
    }

    /// The cause if no connection stood, or none that can be trusted; nil if it is another.
    init?(
        unconnected code: rollcall_curl_code, errno: CInt, _ sockets: TransferSockets,
        _ authorities: Authorities, words: String
    ) {
        switch code {
        case ROLLCALL_CURLE_URL_MALFORMAT: self = .wrongURL
        case ROLLCALL_CURLE_COULDNT_RESOLVE_HOST: self = .unknownHost
        case ROLLCALL_CURLE_COULDNT_CONNECT:
            if let banned = sockets.banned {
                self = .banned(address: banned.address, banned.ban.rawValue)
            } else {
                self = .notConnected(errno: errno)
            }
        case ROLLCALL_CURLE_SSL_CONNECT_ERROR, ROLLCALL_CURLE_PEER_FAILED_VERIFICATION:
            self = .insecure(words)
        case ROLLCALL_CURLE_SSL_CACERT_BADFILE:
            self = .unusableAuthorities(path: authorities.system ?? "the system's certificates")
        default: return nil
        }
    }
}
