import RollcallCore
import RollcallStore
import RollcallSupport

/// A turn as the body of an entry of a log (S7): compressed where that makes it shorter.
///
///     0, the turn's bytes                        as they are
///     1, how many they are, zlib's bytes         compressed
package enum TurnBody {
    /// Bytes of a turn at most: beyond that nobody makes room for what an entry says of itself.
    static let bytesMax = 512 << 20
    /// Fewer bytes are left as they are.
    private static let bytesMin = 256

    /// Returns the body of a turn.
    package static func bytes(of pending: PendingTurn) -> [UInt8] { packed(pending.logBytes) }

    /// Returns the turn in a body; nil if it is damaged.
    package static func turn(of body: [UInt8]) -> PendingTurn? {
        unpacked(body).flatMap { PendingTurn(logBytes: $0) }
    }

    static func packed(_ bytes: [UInt8], _ zlib: ZlibLibrary? = .shared) -> [UInt8] {
        if bytes.count >= bytesMin, let short = zlib?.compressed(bytes),
            short.count + 16 < bytes.count
        {
            var body: [UInt8] = [1]
            body.reserveCapacity(short.count + 16)
            Varint.append(UInt64(bytes.count), to: &body)
            return body + short
        }
        return [0] + bytes
    }

    static func unpacked(_ body: [UInt8], _ zlib: ZlibLibrary? = .shared) -> [UInt8]? {
        switch body.first {
        case 0: return Array(body.dropFirst())
        case 1:
            var at = 1
            guard let zlib,
                let count = Varint.read(body.span, &at, body.count).flatMap({ Int(exactly: $0) }),
                (1...bytesMax).contains(count)
            else { return nil }
            return zlib.expanded(body[at...], to: count)
        default: return nil
        }
    }
}
