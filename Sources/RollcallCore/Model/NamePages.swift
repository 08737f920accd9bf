/// Names by number, one behind the other in pages: a name takes its bytes and four more, where an
/// array of its own would take 64.
///
/// A checkpoint holds on to the pages as they were at one instant (design §1 J5).
package struct NamePages: RandomAccessCollection, Sendable {
    /// Names a page.
    private static let pageSize = 256

    private struct Page {
        var bytes: [UInt8] = []
        /// Where each name ends, the next one begins.
        var ends: [UInt32] = []
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

    /// What `body` makes of the name of a number below `count`, where it stands.
    @inline(__always)
    func read<Result>(_ number: Int, _ body: (Span<UInt8>) -> Result) -> Result {
        let bytes = pages[number / Self.pageSize].bytes
        return body(bytes.span.extracting(range(number)))
    }

    /// Where a name stands in its page.
    @inline(__always)
    private func range(_ number: Int) -> Range<Int> {
        let (page, place) = (number / Self.pageSize, number % Self.pageSize)
        let start = place == 0 ? 0 : Int(pages[page].ends[place - 1])
        return start..<Int(pages[page].ends[place])
    }

    /// Bytes for which there is room in all.
    var room: Int { pages.reduce(0) { $0 + $1.bytes.capacity } }

    /// Gives `name` the next number.
    mutating func append(_ name: [UInt8]) {
        if count % Self.pageSize == 0 { beginPage() }
        pages[pages.count - 1].bytes += name
        let end = UInt32(pages[pages.count - 1].bytes.count)
        pages[pages.count - 1].ends.append(end)
        count += 1
    }

    /// Gives a number below `count` to another name.
    mutating func replace(_ number: Int, with name: [UInt8]) {
        let first = number - number % Self.pageSize
        var page = Page()
        page.ends.reserveCapacity(Self.pageSize)
        for other in first..<Swift.min(first + Self.pageSize, count) {
            page.bytes += other == number ? name : self[other]
            page.ends.append(UInt32(page.bytes.count))
        }
        pages[number / Self.pageSize] = page
    }

    private mutating func beginPage() {
        // What the last one has taken beyond its bytes is given back.
        if let last = pages.last {
            pages[pages.count - 1].bytes = last.bytes.withUnsafeBufferPointer { Array($0) }
        }
        var page = Page()
        page.ends.reserveCapacity(Self.pageSize)
        pages.append(page)
    }
}
