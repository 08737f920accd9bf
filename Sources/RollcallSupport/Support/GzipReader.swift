/// The reason why compressed bytes are not taken.
package enum GzipFault: Error, Equatable {
    /// They are no gzip, do not hold what their checksum says, or something else follows.
    case damaged
    /// They end too early.
    case cut
    /// The bytes that come out are more than allowed, or in too many members.
    case tooLarge
    /// There is no zlib, or no memory.
    case unavailable
}

/// zlib's reader of gzip, loaded at run time. Source: RFC 1952, zlib.h, P8.
///
/// `@unchecked Sendable` is true because nothing changes once it is loaded, and zlib's functions may
/// be called from any thread on streams of their own. Source: zlib.h.
package final class GzipReader: @unchecked Sendable {
    private typealias Begin =
        @convention(c) (UnsafeMutableRawPointer?, CInt, UnsafePointer<CChar>?, CInt) -> CInt
    private typealias Step = @convention(c) (UnsafeMutableRawPointer?, CInt) -> CInt
    private typealias Other = @convention(c) (UnsafeMutableRawPointer?) -> CInt

    /// Members of one file at most: each may hold nothing, and costs some time all the same.
    static let membersMax = 16_384
    private static let ended: CInt = 1
    private static let bufferError: CInt = -5

    /// The one of this process; nil if there is no zlib. Never unloaded.
    package static let shared = GzipReader()

    private let begin: Begin
    private let step: Step
    private let reset: Other
    private let end: Other

    private init?() {
        guard
            let found = ZlibLibrary.functions(
                "inflateInit2_", "inflate", "inflateReset", "inflateEnd")
        else { return nil }
        begin = unsafeBitCast(found[0], to: Begin.self)
        step = unsafeBitCast(found[1], to: Step.self)
        reset = unsafeBitCast(found[2], to: Other.self)
        end = unsafeBitCast(found[3], to: Other.self)
    }

    /// Returns what was compressed: "a gzip file consists of a series of \"members\"", of which all are
    /// taken. Source: RFC 1952 §2.2.
    ///
    /// Of what is larger than `bytesMax` no more comes out than one byte beyond it. It takes room for
    /// as much as the last member says that it holds, at most `bytesMax`, and grows only for who says
    /// less than comes.
    /// - Throws: `GzipFault` if it is not whole, or larger.
    package func expanded(_ bytes: [UInt8], bytesMax: Int) throws(GzipFault) -> [UInt8] {
        var stream = ZlibStream()
        guard
            begin(&stream, ZlibStream.gzipBits, ZlibStream.version, ZlibStream.bytes) == 0
        else { throw .unavailable }
        defer { _ = end(&stream) }
        var output: [UInt8] = []
        output.reserveCapacity(min(Self.saidSize(bytes), bytesMax) + 1)
        var piece = [UInt8](repeating: 0, count: min(bytesMax + 1, 64 << 10))
        let fault = bytes.withUnsafeBufferPointer { input -> GzipFault? in
            piece.withUnsafeMutableBufferPointer { piece -> GzipFault? in
                stream.nextIn = input.baseAddress
                stream.availableIn = CUnsignedInt(input.count)
                return expand(&stream, through: piece, to: &output, bytesMax)
            }
        }
        if let fault { throw fault }
        return output
    }

    private func expand(
        _ stream: inout ZlibStream, through piece: UnsafeMutableBufferPointer<UInt8>,
        to output: inout [UInt8], _ bytesMax: Int
    ) -> GzipFault? {
        var members = 0
        while true {
            let room = min(piece.count, bytesMax + 1 - output.count)
            stream.nextOut = piece.baseAddress
            stream.availableOut = CUnsignedInt(room)
            let result = step(&stream, 0)
            output.append(contentsOf: piece.prefix(room - Int(stream.availableOut)))
            switch result {
            case 0, Self.ended: if output.count > bytesMax { return .tooLarge }
            // No progress: there is room, so there is nothing to read.
            case Self.bufferError: return .cut
            default: return .damaged
            }
            guard result == Self.ended else { continue }
            if stream.availableIn == 0 { return nil }
            members += 1
            if members == Self.membersMax { return .tooLarge }
            guard reset(&stream) == 0 else { return .damaged }
        }
    }

    /// Returns how many bytes the last member says it holds, modulo 2³². Source: RFC 1952 §2.3.1.
    private static func saidSize(_ bytes: [UInt8]) -> Int {
        bytes.suffix(4).reversed().reduce(0) { $0 << 8 | Int($1) }
    }
}
