/// The line of a turn of the state writer, as an export writes it: that there was one, and what it
/// decided. Source: J2, §9.
package struct TurnLine: Equatable, Sendable {
    package var number: Int64 = 0
    /// The version of the rules that decided.
    package var engineVersion: Int64 = 0
    /// The lines of what it decided; nil in a line that does not tell.
    package var decided: [[UInt8]]?

    /// The turn of a number, by the rules of a version.
    package init(number: Int64, engineVersion: Int64, decided: [[UInt8]]?) {
        self.number = number
        self.engineVersion = engineVersion
        self.decided = decided
    }

    /// Appends the line and its line feed. It was not late: what is late the journal says itself.
    package func append(at: Timestamp, to output: inout [UInt8]) {
        EventLine.begin("turn", at, &output)
        JSONWriter.raw(",\"body\":", to: &output)
        var object = ObjectWriter(&output)
        object.integer("number", number)
        object.integer("engine_version", engineVersion)
        object.integer("late_ms", 0)
        if let decided { object.array("decided", decided) { $1 += $0 } }
        object.end()
        output = object.bytes
        JSONWriter.raw("}\n", to: &output)
    }

    /// Reads the body that stands at `bytes[range]`.
    /// - Throws: `JSONError` if it is no JSON object.
    init(_ bytes: Span<UInt8>, _ range: Range<Int>) throws(JSONError) {
        var cursor = JSONCursor(range: range, depthMax: 64)
        try cursor.open(UInt8(ascii: "{"), bytes)
        var more = try cursor.hasFirst(closing: UInt8(ascii: "}"), bytes)
        while more {
            let name = ShortWord(try cursor.key(bytes), bytes)
            let next = cursor.peek(bytes)
            if name == "decided", next == UInt8(ascii: "[") {
                decided = try Self.lines(&cursor, bytes)
            } else if (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(next) {
                let value = JSONText.natural(bytes, try cursor.number(bytes)) ?? 0
                if name == "number" { number = value }
                if name == "engine_version" { engineVersion = value }
            } else {
                try cursor.skipValue(bytes)
            }
            more = try cursor.hasNext(closing: UInt8(ascii: "}"), bytes)
        }
        try cursor.finish(bytes)
    }

    /// Returns the elements of an array, each as the bytes that it has.
    /// - Throws: `JSONError` if no array comes next, or one that is not JSON.
    private static func lines(
        _ cursor: inout JSONCursor, _ bytes: Span<UInt8>
    ) throws(JSONError) -> [[UInt8]] {
        var lines: [[UInt8]] = []
        try cursor.open(UInt8(ascii: "["), bytes)
        var more = try cursor.hasFirst(closing: UInt8(ascii: "]"), bytes)
        while more {
            _ = cursor.peek(bytes)
            let start = cursor.position
            try cursor.skipValue(bytes)
            let line = bytes.extracting(start..<cursor.position)
            lines.append(line.withUnsafeBufferPointer { Array($0) })
            more = try cursor.hasNext(closing: UInt8(ascii: "]"), bytes)
        }
        return lines
    }
}
