/// A map as JSON: what a cell is handed, what is answered of it, and the body of a line of a replay.
extension CellMap {
    /// The map as one JSON object.
    package var json: [UInt8] {
        var output: [UInt8] = []
        var object = ObjectWriter(&output)
        write(to: &object)
        object.end()
        return object.bytes
    }

    func write(to object: inout ObjectWriter) {
        object.integer("version", version)
        object.integer("slots", Int64(PersonSlot.count))
        object.array("cells", Array(cells.enumerated())) { element, output in
            var cell = ObjectWriter(&output)
            cell.text("name", element.element.name)
            cell.array("urls", element.element.urls) { JSONWriter.string($0, to: &$1) }
            cell.array("slots", ranges(of: element.offset)) { range, output in
                JSONWriter.string(Self.text(range), to: &output)
            }
            cell.fraction("share", share(of: element.offset))
            cell.end()
            output = cell.bytes
        }
    }

    /// Reads an object as `json` writes it; what is beside it is passed over.
    /// - Throws: `JSONError` if it is none, or says what no map can say.
    package init(json bytes: Span<UInt8>, _ range: Range<Int>) throws(JSONError) {
        var version: Int64 = 0
        var cursor = JSONCursor(range: range, depthMax: 8)
        var named: [(cell: Cell, ranges: [ClosedRange<Int>])] = []
        var slots: Int64 = 0
        try Self.members(&cursor, bytes) { (name, cursor) throws(JSONError) in
            switch (name, cursor.peek(bytes)) {
            case ("version", Self.digits): version = try Self.natural(&cursor, bytes)
            case ("slots", Self.digits): slots = try Self.natural(&cursor, bytes)
            case ("cells", UInt8(ascii: "[")):
                try Self.elements(&cursor, bytes) { (cursor) throws(JSONError) in
                    if named.count == Self.cellsMax {
                        throw cursor.error("more than \(Self.cellsMax) cells")
                    }
                    named.append(try Self.cell(&cursor, bytes))
                }
            default: try cursor.skipValue(bytes)
            }
        }
        try cursor.finish(bytes)
        guard slots == PersonSlot.count else {
            throw cursor.error("slots must be \(PersonSlot.count)")
        }
        named.sort { $0.cell.name.lexicographicallyPrecedes($1.cell.name) }
        var owners = [UInt16?](repeating: nil, count: PersonSlot.count)
        for (place, ranges) in named.map(\.ranges).enumerated() {
            for slot in ranges.joined() {
                if owners[slot] != nil { throw cursor.error("slot \(slot) is of two cells") }
                owners[slot] = UInt16(place)
            }
        }
        if let missing = owners.firstIndex(of: nil) {
            throw cursor.error("slot \(missing) is of no cell")
        }
        self.init(
            version: version, cells: named.map(\.cell), owners: owners.compactMap { $0 })
        if !isCredible { throw cursor.error("a version, a name, an address or slots of a cell") }
    }

    // MARK: - Parts

    private static let digits = UInt8(ascii: "0")...UInt8(ascii: "9")

    private static func cell(
        _ cursor: inout JSONCursor, _ bytes: Span<UInt8>
    ) throws(JSONError) -> (cell: Cell, ranges: [ClosedRange<Int>]) {
        var cell = Cell(name: [], urls: [])
        var ranges: [ClosedRange<Int>] = []
        try members(&cursor, bytes) { (name, cursor) throws(JSONError) in
            switch (name, cursor.peek(bytes)) {
            case ("name", UInt8(ascii: "\"")): cell.name = try text(&cursor, bytes)
            case ("urls", UInt8(ascii: "[")):
                try elements(&cursor, bytes) { (cursor) throws(JSONError) in
                    cell.urls.append(try text(&cursor, bytes))
                }
            case ("slots", UInt8(ascii: "[")):
                try elements(&cursor, bytes) { (cursor) throws(JSONError) in
                    guard let range = range(try text(&cursor, bytes)) else {
                        throw cursor.error("slots must be like \"0-1365\"")
                    }
                    ranges.append(range)
                }
            default: try cursor.skipValue(bytes)
            }
        }
        return (cell, ranges)
    }

    /// A range as it is written: `0-1365`, or one number.
    private static func text(_ range: ClosedRange<Int>) -> [UInt8] {
        var output: [UInt8] = []
        JSONWriter.integer(Int64(range.lowerBound), to: &output)
        if range.count > 1 {
            output.append(UInt8(ascii: "-"))
            JSONWriter.integer(Int64(range.upperBound), to: &output)
        }
        return output
    }

    private static func range(_ text: [UInt8]) -> ClosedRange<Int>? {
        let ends = text.split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
            .map { JSONText.natural(Array($0).span, 0..<$0.count) }
        guard (1...2).contains(ends.count), let first = ends[0], let last = ends[ends.count - 1],
            first <= last, last < PersonSlot.count
        else { return nil }
        return Int(first)...Int(last)
    }

    private static func text(
        _ cursor: inout JSONCursor, _ bytes: Span<UInt8>
    ) throws(JSONError) -> [UInt8] {
        JSONText.decoded(try cursor.string(bytes), bytes)
    }

    private static func natural(
        _ cursor: inout JSONCursor, _ bytes: Span<UInt8>
    ) throws(JSONError) -> Int64 {
        JSONText.natural(bytes, try cursor.number(bytes)) ?? -1
    }

    private static func members(
        _ cursor: inout JSONCursor, _ bytes: Span<UInt8>,
        _ body: (ShortWord, inout JSONCursor) throws(JSONError) -> Void
    ) throws(JSONError) {
        try cursor.open(UInt8(ascii: "{"), bytes)
        var more = try cursor.hasFirst(closing: UInt8(ascii: "}"), bytes)
        while more {
            try body(ShortWord(try cursor.key(bytes), bytes), &cursor)
            more = try cursor.hasNext(closing: UInt8(ascii: "}"), bytes)
        }
    }

    private static func elements(
        _ cursor: inout JSONCursor, _ bytes: Span<UInt8>,
        _ body: (inout JSONCursor) throws(JSONError) -> Void
    ) throws(JSONError) {
        try cursor.open(UInt8(ascii: "["), bytes)
        var more = try cursor.hasFirst(closing: UInt8(ascii: "]"), bytes)
        while more {
            try body(&cursor)
            more = try cursor.hasNext(closing: UInt8(ascii: "]"), bytes)
        }
    }
}
