/// Names by number, one behind the other in pages: a name takes its bytes and eight more, where an
/// array of its own would take 64.
///
/// A checkpoint holds on to the pages as they were at one instant (J5).
package struct NamePages: RandomAccessCollection, Sendable {
    /// Names a page.
    private static let pageSize = 256
    /// Dead bytes of a page that are worth its being written anew.
    private static let deadMin = 1024

    /// The place of a name in its page.
    private struct Place {
        var start: UInt32
        var count: UInt32
    }

    private struct Page {
        var bytes: [UInt8] = []
        var places: [Place] = []
        /// Bytes that belong to no name any more; they are zero.
        var dead = 0
    }

    private var pages: [Page] = []
    /// Number of names.
    package private(set) var count = 0

    init() {}

    package var startIndex: Int { 0 }
    package var endIndex: Int { count }

    /// The name of a number below `count`.
    package subscript(number: Int) -> [UInt8] {
        read(number) { name in name.withUnsafeBufferPointer { Array($0) } }
    }

    /// Returns what `body` makes of the name of a number below `count`, where it stands.
    @inline(__always)
    func read<Result>(_ number: Int, _ body: (Span<UInt8>) -> Result) -> Result {
        let bytes = pages[number / Self.pageSize].bytes
        return body(bytes.span.extracting(range(number)))
    }

    /// Returns the range of a name in its page.
    @inline(__always)
    private func range(_ number: Int) -> Range<Int> {
        let place = pages[number / Self.pageSize].places[number % Self.pageSize]
        return Int(place.start)..<(Int(place.start) + Int(place.count))
    }

    /// Bytes for which there is room in all.
    var room: Int { pages.reduce(0) { $0 + $1.bytes.capacity } }

    /// Gives `name` the next number.
    mutating func append(_ name: [UInt8]) {
        if count % Self.pageSize == 0 { beginPage() }
        let last = pages.count - 1
        pages[last].places.append(
            Place(start: UInt32(pages[last].bytes.count), count: UInt32(name.count)))
        pages[last].bytes += name
        count += 1
    }

    /// Gives a number below `count` to another name. Nothing is left of the one it had; over many
    /// of them it costs no more than the bytes of both.
    mutating func replace(_ number: Int, with name: [UInt8]) {
        let (page, place) = (number / Self.pageSize, number % Self.pageSize)
        var range = range(number)
        for index in range { pages[page].bytes[index] = 0 }
        if name.count > range.count {
            pages[page].dead += range.count
            range = pages[page].bytes.count..<(pages[page].bytes.count + name.count)
            pages[page].bytes += name
        } else {
            pages[page].dead += range.count - name.count
            range = range.lowerBound..<(range.lowerBound + name.count)
            for index in range { pages[page].bytes[index] = name[index - range.lowerBound] }
        }
        pages[page].places[place] = Place(
            start: UInt32(range.lowerBound), count: UInt32(range.count))
        let dead = pages[page].dead
        if dead >= Self.deadMin, dead * 2 >= pages[page].bytes.count { writeAnew(page) }
    }

    /// Writes a page without its dead bytes.
    private mutating func writeAnew(_ page: Int) {
        var copy = Page()
        copy.bytes.reserveCapacity(pages[page].bytes.count - pages[page].dead)
        copy.places.reserveCapacity(Self.pageSize)
        for place in pages[page].places {
            let start = Int(place.start)
            copy.places.append(Place(start: UInt32(copy.bytes.count), count: place.count))
            copy.bytes += pages[page].bytes[start..<(start + Int(place.count))]
        }
        pages[page] = copy
    }

    private mutating func beginPage() {
        // What the last one has taken beyond its bytes is given back.
        if let last = pages.last {
            pages[pages.count - 1].bytes = last.bytes.withUnsafeBufferPointer { Array($0) }
        }
        var page = Page()
        page.places.reserveCapacity(Self.pageSize)
        pages.append(page)
    }
}
