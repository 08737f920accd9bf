extension RawSpan {
    /// True if all bytes are those of `other`; eight at a time.
    ///
    /// With every batch an id and two or three names are held against those that are known.
    @inline(__always)
    func isSame(as other: RawSpan) -> Bool {
        guard byteCount == other.byteCount else { return false }
        guard byteCount >= 8 else {
            for index in 0..<byteCount
            where unsafeLoad(fromByteOffset: index, as: UInt8.self)
                != other.unsafeLoad(fromByteOffset: index, as: UInt8.self)
            {
                return false
            }
            return true
        }
        var offset = 0
        // The last eight may overlap those before them.
        while true {
            let mine = unsafeLoadUnaligned(fromByteOffset: offset, as: UInt64.self)
            let its = other.unsafeLoadUnaligned(fromByteOffset: offset, as: UInt64.self)
            if mine != its { return false }
            if offset == byteCount - 8 { return true }
            offset = min(offset + 8, byteCount - 8)
        }
    }

    /// True if the bytes come before those of `other`, by bytes and then by length; eight at a time.
    @inline(__always)
    func precedes(_ other: RawSpan) -> Bool {
        let shared = min(byteCount, other.byteCount)
        var offset = 0
        while offset + 8 <= shared {
            let mine = unsafeLoadUnaligned(fromByteOffset: offset, as: UInt64.self)
            let its = other.unsafeLoadUnaligned(fromByteOffset: offset, as: UInt64.self)
            if mine != its { return mine.bigEndian < its.bigEndian }
            offset += 8
        }
        while offset < shared {
            let mine = unsafeLoad(fromByteOffset: offset, as: UInt8.self)
            let its = other.unsafeLoad(fromByteOffset: offset, as: UInt8.self)
            if mine != its { return mine < its }
            offset += 1
        }
        return byteCount < other.byteCount
    }

    /// Returns how many of the first `most` bytes are those of `other`.
    func sharedPrefix(with other: RawSpan, upTo most: Int) -> Int {
        let most = min(most, byteCount, other.byteCount)
        var count = 0
        while count < most,
            unsafeLoad(fromByteOffset: count, as: UInt8.self)
                == other.unsafeLoad(fromByteOffset: count, as: UInt8.self)
        {
            count += 1
        }
        return count
    }

    /// The first eight bytes as a number that rises with them; zeros stand where there are fewer.
    var firstBytes: UInt64 {
        guard byteCount < 8 else {
            return unsafeLoadUnaligned(fromByteOffset: 0, as: UInt64.self).bigEndian
        }
        var number: UInt64 = 0
        for place in 0..<byteCount {
            number |=
                UInt64(unsafeLoad(fromByteOffset: place, as: UInt8.self)) << UInt64(56 - 8 * place)
        }
        return number
    }
}
