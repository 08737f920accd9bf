/// A stretch of an item's own bytes.
package struct ByteRange: Hashable, Sendable {
    /// Offset of the first byte in the list that holds the item.
    package var offset: UInt32
    /// Number of bytes.
    package var count: UInt32

    /// Makes the span of `count` bytes from `offset` on.
    package init(offset: Int, count: Int) {
        self.offset = UInt32(truncatingIfNeeded: offset)
        self.count = UInt32(truncatingIfNeeded: count)
    }

    /// No bytes.
    package static let empty = ByteRange(offset: 0, count: 0)

    /// The stretch as a range of indices.
    package var indices: Range<Int> { Int(offset)..<(Int(offset) + Int(count)) }
}
