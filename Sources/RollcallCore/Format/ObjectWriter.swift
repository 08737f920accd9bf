/// Appends the members of one JSON object.
struct ObjectWriter {
    private(set) var bytes: [UInt8]
    private var isEmpty = true

    /// Begins an object at the end of `output`, which it takes meanwhile.
    init(_ output: inout [UInt8]) {
        bytes = []
        swap(&bytes, &output)
        bytes.append(UInt8(ascii: "{"))
    }

    mutating func end() { bytes.append(UInt8(ascii: "}")) }

    mutating func word(_ name: StaticString, _ word: StaticString) {
        key(name)
        JSONWriter.word(word, to: &bytes)
    }

    mutating func text(_ name: StaticString, _ text: [UInt8]) {
        key(name)
        JSONWriter.string(text, to: &bytes)
    }

    mutating func flag(_ name: StaticString, _ value: Bool) {
        key(name)
        JSONWriter.raw(value ? "true" : "false", to: &bytes)
    }

    mutating func integer(_ name: StaticString, _ value: Int64) {
        key(name)
        JSONWriter.integer(value, to: &bytes)
    }

    mutating func integers(_ name: StaticString, _ values: [Int64]) {
        array(name, values) { JSONWriter.integer($0, to: &$1) }
    }

    mutating func array<Value>(
        _ name: StaticString, _ values: [Value], _ body: (Value, inout [UInt8]) -> Void
    ) {
        key(name)
        JSONWriter.list(values, to: &bytes, body)
    }

    /// A value that is JSON already.
    mutating func json(_ name: StaticString, _ value: [UInt8]) {
        key(name)
        bytes.append(contentsOf: value)
    }

    /// A number of ten-thousandths, without trailing zeros.
    mutating func fraction(_ name: StaticString, _ tenThousandths: Int64) {
        key(name)
        JSONWriter.fraction(tenThousandths, to: &bytes)
    }

    /// An instant that is known; nothing of `distantPast`.
    mutating func time(_ name: StaticString, _ at: Timestamp) {
        guard at > .distantPast else { return }
        key(name)
        bytes.append(UInt8(ascii: "\""))
        RFC3339.append(at, to: &bytes)
        bytes.append(UInt8(ascii: "\""))
    }

    mutating func object(_ name: StaticString, _ body: (inout ObjectWriter) -> Void) {
        key(name)
        var inner = ObjectWriter(&bytes)
        body(&inner)
        inner.end()
        bytes = inner.bytes
    }

    private mutating func key(_ name: StaticString) {
        if !isEmpty { bytes.append(UInt8(ascii: ",")) }
        isEmpty = false
        JSONWriter.word(name, to: &bytes)
        bytes.append(UInt8(ascii: ":"))
    }
}
