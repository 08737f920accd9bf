/// The line that a replay begins with which does not begin at the beginning: a checkpoint. Source:
/// V7.
package enum StateLine {
    /// Appends the line and its line feed. Push tokens and whoever silenced something are not in
    /// it; the rest is as in the store.
    package static func append(_ engine: Engine, turn: Int64, to output: inout [UInt8]) {
        var engine = engine
        engine.forgetSecrets()
        EventLine.begin("state", engine.clock.wallNow, &output)
        JSONWriter.raw(",\"body\":", to: &output)
        var object = ObjectWriter(&output)
        object.integer("engine_version", Engine.version)
        object.integer("turn", turn)
        let checkpoint = Checkpoint(engine)
        object.array("slices", Array(0..<checkpoint.sliceCount)) { index, output in
            output.append(UInt8(ascii: "\""))
            Base64.append(checkpoint.slice(index), to: &output)
            output.append(UInt8(ascii: "\""))
        }
        object.end()
        output = object.bytes
        JSONWriter.raw("}\n", to: &output)
    }

    /// The reason why a line's state cannot be used.
    enum Fault: Error {
        case notJSON(JSONError)
        /// It was written by rules that we do not know.
        case newer(Int64)
        case damaged
    }

    /// Returns the engine of the body that stands at `bytes[range]`.
    /// - Throws: `Fault` if the body is not JSON, was written by a newer engine, or is damaged.
    static func engine(_ bytes: Span<UInt8>, _ range: Range<Int>) throws(Fault) -> Engine {
        var version = Engine.version
        var slices: [JSONCursor.StringToken] = []
        do throws(JSONError) {
            var cursor = JSONCursor(range: range, depthMax: 64)
            try cursor.open(UInt8(ascii: "{"), bytes)
            var more = try cursor.hasFirst(closing: UInt8(ascii: "}"), bytes)
            while more {
                let name = ShortWord(try cursor.key(bytes), bytes)
                if name == "slices" {
                    slices = try strings(&cursor, bytes)
                } else if name == "engine_version", cursor.peek(bytes) != UInt8(ascii: "\"") {
                    version = JSONText.natural(bytes, try cursor.number(bytes)) ?? 0
                } else {
                    try cursor.skipValue(bytes)
                }
                more = try cursor.hasNext(closing: UInt8(ascii: "}"), bytes)
            }
            try cursor.finish(bytes)
        } catch {
            throw .notJSON(error)
        }
        return try restore(version, slices, bytes)
    }

    private static func strings(
        _ cursor: inout JSONCursor, _ bytes: Span<UInt8>
    ) throws(JSONError) -> [JSONCursor.StringToken] {
        var strings: [JSONCursor.StringToken] = []
        try cursor.open(UInt8(ascii: "["), bytes)
        var more = try cursor.hasFirst(closing: UInt8(ascii: "]"), bytes)
        while more {
            strings.append(try cursor.string(bytes))
            more = try cursor.hasNext(closing: UInt8(ascii: "]"), bytes)
        }
        return strings
    }

    private static func restore(
        _ version: Int64, _ slices: [JSONCursor.StringToken], _ bytes: Span<UInt8>
    ) throws(Fault) -> Engine {
        guard version <= Engine.version else { throw .newer(version) }
        var reader = CheckpointReader(version: version)
        for slice in slices {
            guard !slice.isEscaped, let slice = Base64.decoded(bytes, slice.range) else {
                throw .damaged
            }
            reader.take(slice)
        }
        guard let engine = reader.finish() else { throw .damaged }
        return engine
    }
}

extension Engine {
    /// Puts a hash in the place of every push token: the rules only ask whether two are equal. And
    /// forgets who silenced something, what they said, and the names of requests.
    fileprivate mutating func forgetSecrets() {
        nudges.tokens.changeAll { token in
            token = ItemText.token(StableHash.of(token.span, 0..<token.count))
        }
        nudges.states.changeAll { state in
            state.deadToken = ItemText.hash(ofToken: state.deadToken)
        }
        alerting.notifications.forgetAuthors()
        requestKeys = RequestKeys()
    }
}
