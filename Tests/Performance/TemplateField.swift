/// Where a text that is the same each time has something that is not.
///
/// What differs is written over it in place, since who writes shares the machine with what is
/// measured.
struct TemplateField {
    /// The bytes of the field.
    let range: Range<Int>

    /// The one stretch of `count` marks in `template`.
    init(_ mark: Unicode.Scalar, _ count: Int, in template: [UInt8]) {
        let mark = UInt8(ascii: mark)
        guard let start = template.firstIndex(of: mark), let end = template.lastIndex(of: mark),
            end + 1 - start == count
        else { preconditionFailure("the template has one field of each mark") }
        range = start..<(end + 1)
    }

    /// Some bytes.
    init(_ range: Range<Int>) { self.range = range }

    /// Writes a number with as many digits as there is room for.
    func write(_ value: Int, to bytes: UnsafeMutableRawBufferPointer) {
        var rest = value
        for index in range.reversed() {
            bytes[index] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10)
            rest /= 10
        }
    }

    /// Writes a text that just fits.
    func write(_ text: [UInt8], to bytes: UnsafeMutableRawBufferPointer) {
        UnsafeMutableRawBufferPointer(rebasing: bytes[range]).copyBytes(from: text)
    }
}
