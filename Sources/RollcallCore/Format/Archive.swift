/// Bytes being written or read in one and the same order: every type describes itself once, so
/// that what is read cannot differ from what was written.
///
/// Reading damaged bytes never traps: values become zero and `isDamaged` is set.
package struct Archive {
    /// The version that is written now; `Engine.version`.
    package static let newestVersion: Int64 = 8

    /// The bytes that were written, or that are read.
    package private(set) var bytes: [UInt8]
    /// True if the bytes ended too early or made no sense.
    package private(set) var isDamaged = false
    package let isReading: Bool
    /// The engine's version that wrote the bytes.
    let version: Int64
    private var at = 0
    /// True for a part that an older version may have written shorter.
    private var mayEndEarly = false
    /// Containers around what is being coded: those do not end early.
    private var nesting = 0

    /// An archive to be written.
    package init() {
        bytes = []
        isReading = false
        version = Self.newestVersion
    }

    /// An archive to be read from byte `first` on, written by an engine of `version`.
    package init(reading bytes: [UInt8], from first: Int = 0, version: Int64 = newestVersion) {
        self.bytes = bytes
        self.version = version
        isReading = true
        at = min(first, bytes.count)
    }

    /// The bytes of a part that any version wrote; see `codePart`.
    package init(part bytes: [UInt8]) {
        self.init(reading: bytes)
        mayEndEarly = true
    }

    /// The bytes that `body` writes.
    package static func bytes(_ body: (inout Archive) -> Void) -> [UInt8] {
        var archive = Archive()
        // Most are that long: of a mass of them each would grow four times.
        archive.reserve(128)
        body(&archive)
        return archive.bytes
    }

    /// Lets `body` read a part that any version wrote; false if the bytes are damaged.
    package static func reads(part bytes: [UInt8], _ body: (inout Archive) -> Void) -> Bool {
        var archive = Archive(part: bytes)
        body(&archive)
        return !archive.isDamaged && archive.isAtEnd
    }

    /// Codes a part that later versions may lengthen: what an older one did not write keeps the
    /// value that it has.
    package mutating func codePart(_ body: (inout Archive) -> Void) {
        // Version 1 knew no parts: its values followed each other.
        if isReading && version == 1 { return body(&self) }
        var part = Archive()
        if !isReading { body(&part) }
        var bytes = part.bytes
        code(&bytes)
        guard isReading else { return }
        part = Archive(part: bytes)
        body(&part)
        if part.isDamaged || !part.isAtEnd { isDamaged = true }
    }

    /// True once all bytes were read.
    package var isAtEnd: Bool { at == bytes.count }

    /// True if nothing is left of a part that may end early: values stay as they are.
    private var keeps: Bool { mayEndEarly && isAtEnd && nesting == 0 }

    /// Notes that what was read cannot be.
    package mutating func refuse() { isDamaged = true }

    /// Makes room for so many bytes.
    package mutating func reserve(_ count: Int) { bytes.reserveCapacity(count) }

    /// Forgets what was written, and keeps the room that it took.
    package mutating func removeAll() { bytes.removeAll(keepingCapacity: true) }

    /// Writes bytes as they are.
    package mutating func append(raw values: [UInt8]) { bytes.append(contentsOf: values) }

    /// Writes bytes as `code` writes an array of them.
    package mutating func append(_ values: ArraySlice<UInt8>) {
        Varint.append(UInt64(values.count) << 1, to: &bytes)
        bytes.append(contentsOf: values)
    }

    // MARK: - Numbers

    /// Codes a number: the smaller it is, the fewer bytes it takes.
    package mutating func code(_ value: inout UInt64) {
        if !isReading { return Varint.append(value, to: &bytes) }
        if keeps { return }
        var next = at
        let read = Varint.read(bytes.span, &next, bytes.count)
        if read == nil { isDamaged = true }
        at = read == nil ? bytes.count : next
        value = read ?? 0
    }

    /// Small magnitudes of either sign take few bytes.
    package mutating func code(_ value: inout Int64) {
        var folded = UInt64(bitPattern: value << 1 ^ value >> 63)
        code(&folded)
        value = Int64(bitPattern: folded >> 1) ^ -Int64(bitPattern: folded & 1)
    }

    /// A count or a place: sums of them, and one more, are numbers still, also of damaged bytes.
    package mutating func code(_ value: inout Int) {
        var wide = Int64(value)
        code(&wide)
        if wide.magnitude < 1 << 48 { value = Int(wide) } else { isDamaged = true }
    }

    /// Codes a number of any width.
    package mutating func code<Number: FixedWidthInteger>(_ value: inout Number) {
        var wide = Int64(truncatingIfNeeded: value)
        code(&wide)
        if let narrow = Number(exactly: wide) { value = narrow } else { isDamaged = true }
    }

    /// Codes a truth, in a byte.
    package mutating func code(_ value: inout Bool) {
        var number: UInt8 = value ? 1 : 0
        code(&number)
        value = number == 1
    }

    /// Codes a number by its bits.
    package mutating func code(_ value: inout Double) {
        var pattern = value.bitPattern
        code(&pattern)
        value = Double(bitPattern: pattern)
    }

    /// Codes a word by its number; one that is no word is damage.
    package mutating func code<Word: RawRepresentable<UInt8>>(_ value: inout Word) {
        var raw = value.rawValue
        code(&raw)
        if let word = Word(rawValue: raw) { value = word } else { isDamaged = true }
    }

    /// Codes a span.
    package mutating func code(_ value: inout Milliseconds) { code(&value.count) }

    /// Codes an instant.
    package mutating func code<Time: Instant>(_ value: inout Time) {
        var milliseconds = value.milliseconds
        code(&milliseconds)
        value = Time(milliseconds: milliseconds)
    }

    // MARK: - Containers

    /// Codes whether there is a value, and if so, by `body`, which begins to read with `empty`.
    package mutating func code<Value>(
        _ value: inout Value?, empty: Value, _ body: (inout Archive, inout Value) -> Void
    ) {
        if keeps { return }
        var isThere = value != nil
        code(&isThere)
        guard isThere else { return value = nil }
        var content = value ?? empty
        nesting += 1
        body(&self, &content)
        nesting -= 1
        value = content
    }

    /// The content of a value that is known to be there.
    package mutating func code<Value>(
        some value: inout Value?, empty: Value, _ body: (inout Archive, inout Value) -> Void
    ) {
        var content = value ?? empty
        body(&self, &content)
        value = content
    }

    /// Codes a count and the values by `body`, which begins to read each with `empty`.
    package mutating func code<Value>(
        _ values: inout [Value], empty: Value, _ body: (inout Archive, inout Value) -> Void
    ) {
        if keeps { return }
        var count = values.count
        code(&count)
        guard isReading else {
            for index in values.indices { body(&self, &values[index]) }
            return
        }
        values = []
        // Every value takes a byte at least.
        guard count >= 0, count <= bytes.count - at else { return refuse() }
        nesting += 1
        while values.count < count, !isDamaged {
            var value = empty
            body(&self, &value)
            values.append(value)
        }
        nesting -= 1
    }

    /// Codes a count and bytes.
    package mutating func code(_ values: inout [UInt8]) {
        if keeps { return }
        guard isReading else { return append(values[...]) }
        let range = range()
        values = Array(bytes[range])
    }

    /// Passes over bytes that `code` would read as an array of them, and returns where they stand.
    package mutating func range() -> Range<Int> {
        var count = 0
        code(&count)
        guard count >= 0, count <= bytes.count - at else {
            refuse()
            return at..<at
        }
        defer { at += count }
        return at..<(at + count)
    }

    /// Codes a count and numbers.
    package mutating func code(_ values: inout [Int]) {
        code(&values, empty: 0) { archive, value in archive.code(&value) }
    }

    /// Codes a count and numbers.
    package mutating func code(_ values: inout [Int64]) {
        code(&values, empty: 0) { archive, value in archive.code(&value) }
    }

    /// Codes a count and as many arrays of bytes.
    package mutating func code(_ values: inout [[UInt8]]) {
        code(&values, empty: []) { archive, value in archive.code(&value) }
    }
}
