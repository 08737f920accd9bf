/// A body of items divided by whose they are, for somebody who sends each cell its own. Nothing of an item
/// is examined but the id: whoever takes it says what is wrong with it. Source: K1, K5.
package struct BodyParts: Sendable {
    /// The items of one cell.
    package struct Part: Equatable, Sendable {
        /// The place of the cell in the map.
        package let cell: Int
        /// The items, in the form of the whole body.
        package let body: [UInt8]
        /// The place in the whole body of each place in this one.
        package let places: [Int]
        /// Items, without the object that says when the body was sent.
        package let itemCount: Int

        /// A part of a cell.
        package init(cell: Int, body: [UInt8], places: [Int], itemCount: Int) {
            self.cell = cell
            self.body = body
            self.places = places
            self.itemCount = itemCount
        }
    }

    /// In the order of the cells; none of a body without items.
    package let parts: [Part]
    /// Items of the whole body.
    package let itemCount: Int

    /// The parts of a body by `owners`, the places of the cells of all slots. An item of which no id can
    /// be read goes with another one, to be rejected there. Nil if it is no JSON, is nested too deep or has
    /// more than `itemsMax` items.
    package init?(
        _ body: [UInt8], format: BodyFormat, owners: [UInt16], depthMax: Int, itemsMax: Int = .max
    ) {
        var reader = Reader(owners: owners, depthMax: depthMax, itemsMax: itemsMax)
        let isRead =
            switch format {
            case .json: reader.readDocument(body.span)
            case .lines: reader.readLines(body.span)
            }
        guard isRead else { return nil }
        itemCount = reader.items.count
        parts = reader.parts(of: body, format)
    }
}

/// Goes over a body once.
private struct Reader {
    /// A value of the body that is an item, or is in the place of one.
    struct Item {
        let range: Range<Int>
        let place: Int
        /// The place of its cell; nil of an item without an id that can be read.
        let cell: Int?
    }

    private let owners: [UInt16]
    private let depthMax: Int
    private let itemsMax: Int
    private(set) var items: [Item] = []
    /// The object that says when the body was sent, if it stands in front (D10).
    private var head: Item?
    private var isList = true
    private var place = 0

    init(owners: [UInt16], depthMax: Int, itemsMax: Int) {
        self.owners = owners
        self.depthMax = depthMax
        self.itemsMax = itemsMax
    }

    private var isTooLong: Bool { items.count > itemsMax }

    // MARK: - Reading

    mutating func readDocument(_ body: Span<UInt8>) -> Bool {
        var cursor = JSONCursor(range: 0..<body.count, depthMax: depthMax)
        do throws(JSONError) {
            if cursor.isAtEnd(body) { return false }
            if cursor.peek(body) == UInt8(ascii: "[") {
                try cursor.open(UInt8(ascii: "["), body)
                var more = try cursor.hasFirst(closing: UInt8(ascii: "]"), body)
                while more {
                    try readItem(&cursor, body)
                    if isTooLong { return false }
                    more = try cursor.hasNext(closing: UInt8(ascii: "]"), body)
                }
            } else {
                isList = false
                try readItem(&cursor, body)
            }
            try cursor.finish(body)
            return true
        } catch {
            return false
        }
    }

    mutating func readLines(_ body: Span<UInt8>) -> Bool {
        var cursor = JSONCursor(range: 0..<body.count, depthMax: depthMax, isLine: true)
        while cursor.nextLine(body) {
            if cursor.isAtEnd(body) { continue }
            if isTooLong { return false }
            let begin = cursor.position
            let (known, before) = (items.count, place)
            do throws(JSONError) {
                try readItem(&cursor, body)
                try cursor.finish(body)
            } catch {
                // Lines are framed: this one is rejected alone, wherever it goes.
                items.removeLast(items.count - known)
                if head?.place == before { head = nil }
                var end = begin
                while end < body.count, body[end] != 0x0A { end += 1 }
                items.append(Item(range: begin..<end, place: before, cell: nil))
                place = before + 1
            }
        }
        return !isTooLong
    }

    private mutating func readItem(
        _ cursor: inout JSONCursor, _ body: Span<UInt8>
    ) throws(JSONError) {
        defer { place += 1 }
        let isObject = cursor.peek(body) == UInt8(ascii: "{")
        let begin = cursor.position
        guard isObject else {
            try cursor.skipValue(body)
            return items.append(Item(range: begin..<cursor.position, place: place, cell: nil))
        }
        try cursor.open(UInt8(ascii: "{"), body)
        var cell: Int?
        var members = 0
        var isSending = false
        var hasID = false
        var more = try cursor.hasFirst(closing: UInt8(ascii: "}"), body)
        while more {
            let token = try cursor.key(body)
            let name = ShortWord(token, body)
            members += 1
            if members == 1, name == "sent_at" { isSending = true }
            if name == "responder_id", !hasID {
                // Null says nothing: a second one would count.
                hasID = cursor.peek(body) != UInt8(ascii: "n")
                cell = try readID(&cursor, body)
            } else {
                try cursor.skipValue(body)
            }
            more = try cursor.hasNext(closing: UInt8(ascii: "}"), body)
        }
        let item = Item(range: begin..<cursor.position, place: place, cell: cell)
        if isSending, members == 1, place == 0, isList {
            head = item
        } else {
            items.append(item)
        }
    }

    /// Reads an id and returns the place of its cell; nil if it is none.
    private func readID(
        _ cursor: inout JSONCursor, _ body: Span<UInt8>
    ) throws(JSONError) -> Int? {
        switch cursor.peek(body) {
        case UInt8(ascii: "\""):
            let token = try cursor.string(body)
            if !token.isEscaped { return Int(owners[PersonSlot.of(body, token.range)]) }
            return Int(owners[PersonSlot.of(JSONText.decoded(token, body))])
        case UInt8(ascii: "0")...UInt8(ascii: "9"):
            let range = try cursor.number(body)
            guard ItemScanner.numberedID(body, range) != nil else { return nil }
            return Int(owners[PersonSlot.of(body, range)])
        default:
            try cursor.skipValue(body)
            return nil
        }
    }

    // MARK: - Parts

    func parts(of body: [UInt8], _ format: BodyFormat) -> [BodyParts.Part] {
        guard !items.isEmpty else { return [] }
        let whole = items.first { $0.cell != nil }?.cell ?? 0
        let heads = head.map { [$0] } ?? []
        if items.allSatisfy({ $0.cell ?? whole == whole }) {
            let places = (heads + items).map(\.place)
            return [
                BodyParts.Part(cell: whole, body: body, places: places, itemCount: items.count)
            ]
        }
        let byCell = Dictionary(grouping: items) { $0.cell ?? whole }
        return byCell.keys.sorted().map { cell in
            let own = byCell[cell] ?? []
            return BodyParts.Part(
                cell: cell, body: text(heads + own, of: body, format),
                places: (heads + own).map(\.place), itemCount: own.count)
        }
    }

    private func text(_ items: [Item], of body: [UInt8], _ format: BodyFormat) -> [UInt8] {
        var text: [UInt8] = []
        text.reserveCapacity(items.reduce(2) { $0 + $1.range.count + 1 })
        if format == .json { text.append(UInt8(ascii: "[")) }
        for (place, item) in items.enumerated() {
            if place > 0 { text.append(format == .json ? UInt8(ascii: ",") : 0x0A) }
            text += body[item.range]
        }
        if format == .json { text.append(UInt8(ascii: "]")) }
        return text
    }
}
