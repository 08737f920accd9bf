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
    /// The file of the library.
    static let name = "libz.so.1"

    /// The one of this process; nil if there is none. Never unloaded.
    package static let shared = ZlibLibrary()

    private let compress: Compress
    private let uncompress: Uncompress
    private let bound: Bound

    private init?() {
        guard let handle = dlopen(Self.name, RTLD_NOW), let compress = dlsym(handle, "compress2"),
            let uncompress = dlsym(handle, "uncompress"), let bound = dlsym(handle, "compressBound")
        else { return nil }
        self.compress = unsafeBitCast(compress, to: Compress.self)
        self.uncompress = unsafeBitCast(uncompress, to: Uncompress.self)
        self.bound = unsafeBitCast(bound, to: Bound.self)
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
