import RollcallCore

/// A `RingSlot` holds what stands in a slot.
enum RingSlot {
    case whole([UInt8])
    /// The entry is in that many parts, whose bytes together have that hash.
    case parts(count: Int, hash: UInt64)

    var bytes: [UInt8] {
        switch self {
        case .whole(let entry): return [1] + entry
        case .parts(let count, let hash):
            var bytes: [UInt8] = [2]
            Varint.append(UInt64(count), to: &bytes)
            Varint.append(hash, to: &bytes)
            return bytes
        }
    }

    init?(bytes: [UInt8]) {
        switch bytes.first {
        case 1: self = .whole(Array(bytes.dropFirst()))
        case 2:
            var at = 1
            guard
                let count = Varint.read(bytes.span, &at, bytes.count).flatMap({ Int(exactly: $0) }),
                let hash = Varint.read(bytes.span, &at, bytes.count), at == bytes.count
            else { return nil }
            self = .parts(count: count, hash: hash)
        default: return nil
        }
    }
}
