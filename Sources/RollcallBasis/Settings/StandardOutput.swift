import Glibc

/// Standard output, written whole.
package enum StandardOutput {
    /// Writes and empties `bytes`.
    /// - Throws: `InputFileError.cannotWrite` if the system does not take them; they are gone all
    ///   the same.
    package static func write(_ bytes: inout [UInt8]) throws(InputFileError) {
        let failure = write(bytes, to: STDOUT_FILENO)
        bytes.removeAll(keepingCapacity: true)
        if failure != 0 { throw .cannotWrite(errno: failure) }
    }

    /// Writes all of `bytes`; returns the system's error number, 0 for none.
    package static func write(_ bytes: [UInt8], to descriptor: CInt) -> CInt {
        bytes.withUnsafeBytes { buffer in
            var at = 0
            while at < buffer.count {
                let count = Glibc.write(
                    descriptor, buffer.baseAddress.map { $0 + at }, buffer.count - at)
                if count < 0 && errno != EINTR { return errno }
                at += max(0, count)
            }
            return 0
        }
    }
}
