import Glibc

/// zlib, loaded at run time: libcurl stands on it, so it is wherever something is sent.
///
/// `@unchecked Sendable` is true because nothing changes once it is loaded, and zlib's functions may
/// be called from any thread. Source: zlib.h.
package final class ZlibLibrary: @unchecked Sendable {
    private typealias Compress =
        @convention(c) (
            UnsafeMutablePointer<UInt8>?, UnsafeMutablePointer<UInt>?, UnsafePointer<UInt8>?, UInt,
            CInt
        ) -> CInt
    private typealias Uncompress =
        @convention(c) (
            UnsafeMutablePointer<UInt8>?, UnsafeMutablePointer<UInt>?, UnsafePointer<UInt8>?, UInt
        ) -> CInt
    private typealias Bound = @convention(c) (UInt) -> UInt

    /// `Z_BEST_SPEED`: who sends a turn is waited for.
    private static let level: CInt = 1
    private static let file = "libz.so.1"

    /// The one of this process; nil if there is none. Never unloaded.
    package static let shared = ZlibLibrary()

    private let compress: Compress
    private let uncompress: Uncompress
    private let bound: Bound

    private init?() {
        guard let found = Self.functions("compress2", "uncompress", "compressBound") else {
            return nil
        }
        compress = unsafeBitCast(found[0], to: Compress.self)
        uncompress = unsafeBitCast(found[1], to: Uncompress.self)
        bound = unsafeBitCast(found[2], to: Bound.self)
    }

    /// Returns the library's functions of these names, in their order; nil if there is no library, or it
    /// lacks one.
    static func functions(_ names: String...) -> [UnsafeMutableRawPointer]? {
        guard let handle = dlopen(file, RTLD_NOW) else { return nil }
        let found = names.compactMap { dlsym(handle, $0) }
        return found.count == names.count ? found : nil
    }

    /// Returns the bytes compressed (RFC 1950); nil without memory.
    package func compressed(_ bytes: [UInt8]) -> [UInt8]? {
        let room = Int(bound(UInt(bytes.count)))
        return Self.filled(room) { output, count in
            bytes.withUnsafeBufferPointer {
                compress(output, count, $0.baseAddress, UInt(bytes.count), Self.level) == 0
            }
        }
    }

    /// Returns the `count` bytes that were compressed; nil if these are not so many, or damaged.
    package func expanded(_ bytes: ArraySlice<UInt8>, to count: Int) -> [UInt8]? {
        let output = Self.filled(count) { output, filled in
            bytes.withUnsafeBufferPointer {
                uncompress(output, filled, $0.baseAddress, UInt(bytes.count)) == 0
            }
        }
        return output?.count == count ? output : nil
    }

    private static func filled(
        _ room: Int, _ fill: (UnsafeMutablePointer<UInt8>?, UnsafeMutablePointer<UInt>) -> Bool
    ) -> [UInt8]? {
        var isWhole = false
        let bytes = [UInt8](unsafeUninitializedCapacity: room) { buffer, count in
            var filled = UInt(buffer.count)
            isWhole = fill(buffer.baseAddress, &filled)
            count = isWhole ? Int(filled) : 0
        }
        return isWhole ? bytes : nil
    }
}
