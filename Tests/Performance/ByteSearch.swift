import Glibc

extension UnsafeRawBufferPointer {
    /// Where the first occurrence of `text` ends; nil if there is none. The Glibc module has no
    /// memmem(3).
    func end(of text: StaticString, in range: Range<Int>) -> Int? {
        guard let base = baseAddress else { return nil }
        let count = text.utf8CodeUnitCount
        var start = range.lowerBound
        while range.upperBound - start >= count {
            let first = Int32(text.utf8Start.pointee)
            guard let found = memchr(base + start, first, range.upperBound - start - count + 1)
            else { return nil }
            if memcmp(found, text.utf8Start, count) == 0 { return base.distance(to: found) + count }
            start = base.distance(to: found) + 1
        }
        return nil
    }

    /// The digits behind the first occurrence of `name`; nil if there are none.
    func number(after name: StaticString, in range: Range<Int>) -> Int? {
        guard var index = end(of: name, in: range) else { return nil }
        var value: Int?
        while index < range.upperBound, case let digit = self[index] &- UInt8(ascii: "0"),
            digit <= 9
        {
            value = (value ?? 0) &* 10 &+ Int(digit)
            index += 1
        }
        return value
    }
}
