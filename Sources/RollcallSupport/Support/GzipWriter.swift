/// A compressor of gzip by zlib, loaded at run time. Source: RFC 1952, zlib.h, V16.
///
/// It keeps its 256 KiB and its piece of output from one answer to the next, and is for one thread at
/// a time.
package final class GzipWriter {
    private typealias Begin =
        @convention(c) (
            UnsafeMutableRawPointer?, CInt, CInt, CInt, CInt, CInt, UnsafePointer<CChar>?, CInt
        ) -> CInt
    private typealias Step = @convention(c) (UnsafeMutableRawPointer?, CInt) -> CInt
    private typealias Other = @convention(c) (UnsafeMutableRawPointer?) -> CInt

    /// zlib's functions.
    ///
    /// `@unchecked Sendable` is true because nothing changes once they are loaded, and any thread may
    /// call them on a stream of its own.
    private struct Functions: @unchecked Sendable {
        let begin: Begin
        let step: Step
        let reset: Other
        let end: Other

        init?() {
            guard
                let found = ZlibLibrary.functions(
                    "deflateInit2_", "deflate", "deflateReset", "deflateEnd")
            else { return nil }
            begin = unsafeBitCast(found[0], to: Begin.self)
            step = unsafeBitCast(found[1], to: Step.self)
            reset = unsafeBitCast(found[2], to: Other.self)
            end = unsafeBitCast(found[3], to: Other.self)
        }
    }

    /// Between speed and size: pages of metrics are as long as they are alike from line to line.
    private static let level: CInt = 4
    /// `Z_DEFLATED`, the only one.
    private static let method: CInt = 8
    /// `DEF_MEM_LEVEL`: 128 KiB, beside as much for the window.
    private static let memory: CInt = 8
    /// `Z_FINISH`: all that is to be compressed is there.
    private static let finish: CInt = 4
    private static let ended: CInt = 1
    private static let pieceBytes = 64 << 10

    private static let functions = Functions()
    /// True if there is a zlib.
    package static let isAvailable = functions != nil

    private let functions: Functions
    /// Never moves: zlib compares its address with the one that it was begun with.
    private let stream: UnsafeMutablePointer<ZlibStream>
    private var piece = [UInt8](repeating: 0, count: pieceBytes)

    /// A compressor with its memory; nil if there is no zlib, or no memory.
    package init?() {
        guard let functions = Self.functions else { return nil }
        self.functions = functions
        stream = .allocate(capacity: 1)
        stream.initialize(to: ZlibStream())
        let result = functions.begin(
            stream, Self.level, Self.method, ZlibStream.gzipBits, Self.memory, 0,
            ZlibStream.version, ZlibStream.bytes)
        guard result == 0 else { return nil }
    }

    deinit {
        _ = functions.end(stream)
        stream.deallocate()
    }

    /// Returns the bytes as a gzip file of one member, without name and time; nil if zlib fails, which
    /// it does not with memory that it has already.
    package func compressed(_ bytes: [UInt8]) -> [UInt8]? {
        guard functions.reset(stream) == 0 else { return nil }
        var output: [UInt8] = []
        let isWhole = bytes.withUnsafeBufferPointer { input in
            piece.withUnsafeMutableBufferPointer { piece in
                stream.pointee.nextIn = input.baseAddress
                stream.pointee.availableIn = CUnsignedInt(input.count)
                return compress(through: piece, to: &output)
            }
        }
        return isWhole ? output : nil
    }

    private func compress(
        through piece: UnsafeMutableBufferPointer<UInt8>, to output: inout [UInt8]
    ) -> Bool {
        while true {
            stream.pointee.nextOut = piece.baseAddress
            stream.pointee.availableOut = CUnsignedInt(piece.count)
            let result = functions.step(stream, Self.finish)
            output += piece.prefix(piece.count - Int(stream.pointee.availableOut))
            if result == Self.ended { return true }
            // `Z_OK`: there is more than there was room for.
            guard result == 0 else { return false }
        }
    }
}
