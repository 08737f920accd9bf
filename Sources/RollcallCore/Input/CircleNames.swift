/// The circles of a person as one sequence of bytes, so that equal sets are equal bytes.
package enum CircleNames {
    /// Sorts the names by their bytes, drops what is named twice, and joins them, each behind
    /// its length.
    package static func pack(_ names: [[UInt8]]) -> [UInt8] {
        var packed: [UInt8] = []
        // Most people name one, with every batch.
        if names.count == 1 {
            packed.reserveCapacity(names[0].count + 2)
            Varint.append(UInt64(names[0].count), to: &packed)
            packed.append(contentsOf: names[0])
            return packed
        }
        var last: [UInt8]?
        for name in names.sorted(by: { $0.lexicographicallyPrecedes($1) }) where name != last {
            Varint.append(UInt64(name.count), to: &packed)
            packed.append(contentsOf: name)
            last = name
        }
        return packed
    }

    /// True if there is one name in `packed`: such a set is the circle itself.
    package static func isOne(_ packed: Span<UInt8>) -> Bool {
        var at = 0
        return Varint.read(packed, &at, packed.count) == UInt64(packed.count - at)
    }

    /// The names in `packed`.
    package static func names(_ packed: [UInt8]) -> [[UInt8]] {
        var names: [[UInt8]] = []
        var at = 0
        while at < packed.count,
            let count = Varint.read(packed.span, &at, packed.count),
            count <= UInt64(packed.count - at)
        {
            names.append(Array(packed[at..<(at + Int(count))]))
            at += Int(count)
        }
        return names
    }
}
