import CGnuTLS

/// SHA-256 (FIPS 180-4) and the HMAC of it (RFC 2104), by GnuTLS.
///
/// Neither can fail for want of memory or input: both say an error only if the library lacks the
/// algorithm, and no version that can be linked does. Source: gnutls.org manual, "Hash and MAC functions".
package enum SHA256 {
    /// Bytes of a digest.
    static let byteCount = 32

    /// Returns the digest of `bytes`.
    package static func digest(of bytes: [UInt8]) -> [UInt8] {
        result { gnutls_hash_fast(GNUTLS_DIG_SHA256, bytes, bytes.count, $0) }
    }

    /// Returns the HMAC of `bytes` under `key`.
    package static func hmac(of bytes: [UInt8], key: [UInt8]) -> [UInt8] {
        result { gnutls_hmac_fast(GNUTLS_MAC_SHA256, key, key.count, bytes, bytes.count, $0) }
    }

    private static func result(_ write: (UnsafeMutableRawPointer?) -> Int32) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: byteCount) { buffer, count in
            let code = write(buffer.baseAddress)
            precondition(code == 0, "GnuTLS has no SHA-256: error \(code)")
            count = byteCount
        }
    }
}
