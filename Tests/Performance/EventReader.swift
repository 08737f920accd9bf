import Glibc
import Synchronization

/// Somebody who is all events behind and reads them, again and again: by pages, or by a stream that
/// begins anew when it is at the end.
final class EventReader: Sendable {
    /// A kind of reading.
    enum Kind: String, CaseIterable, Sendable {
        case pages
        case stream

        /// Its name in reports.
        var text: String {
            switch self {
            case .pages: "GET /v1/events, 1000 a page"
            case .stream: "text/event-stream"
            }
        }
    }

    private struct State {
        var isOver = false
        var events = 0
    }

    private let kind: Kind
    private let port: UInt16
    private let end: EventPlace
    private let all: Int
    private let state = Mutex(State())

    /// A reader of what is before `end`: so many events.
    init(_ kind: Kind, port: UInt16, until end: EventPlace, all: Int) {
        self.kind = kind
        self.port = port
        self.end = end
        self.all = all
    }

    /// Events that were read so far.
    var events: Int { state.withLock { $0.events } }

    /// Begins to read.
    func start() throws(BenchmarkError) -> LoadThread {
        try LoadThread { [self] () throws(BenchmarkError) in
            while !state.withLock({ $0.isOver }) {
                let read = try kind == .pages ? readPages() : readStream()
                // Who was stopped in the middle has not read all.
                guard read == all || state.withLock({ $0.isOver }) else {
                    throw .answer("\(kind.text): \(read) events where there are \(all)")
                }
            }
        }
    }

    /// Ends it soon.
    func stop() { state.withLock { $0.isOver = true } }

    /// Counts all events before a place, by pages.
    static func count(before end: EventPlace, port: UInt16) throws(BenchmarkError) -> Int {
        try EventReader(.pages, port: port, until: end, all: 0).readPages()
    }

    /// Notes some more; false once it is to end.
    private func note(_ count: Int) -> Bool {
        state.withLock {
            $0.events += count
            return !$0.isOver
        }
    }

    private func readPages() throws(BenchmarkError) -> Int {
        let caller = try Caller(port: port)
        var (last, read) = (0, 0)
        while last < end.number {
            let page = try caller.ask("GET", "/v1/events?after=\(end.epoch)-\(last)&limit=1000")
            let count = try Self.numbers(in: page.body, behind: &last)
            read += count
            guard note(count) else { break }
            guard count > 0 else { throw .answer("an empty page before the end") }
        }
        return read
    }

    private func readStream() throws(BenchmarkError) -> Int {
        let stream = try EventStream(port: port, behind: end.first)
        var read = 0
        while stream.last < end.number {
            try stream.wait()
            let count = stream.events - read
            read = stream.events
            guard note(count) else { break }
        }
        return read
    }

    /// Counts the events of a page. Errors: one that is not behind the one before.
    private static func numbers(
        in body: [UInt8], behind last: inout Int
    ) throws(BenchmarkError) -> Int {
        var count = 0
        var newest = last
        let isInOrder = body.withUnsafeBytes { bytes in
            var place = 0
            while let start = bytes.end(of: "{\"cursor\":\"", in: place..<bytes.count) {
                guard let number = bytes.number(after: "-", in: start..<bytes.count),
                    number > newest
                else { return false }
                newest = number
                count += 1
                place = start
            }
            return true
        }
        guard isInOrder else { throw .answer("an event of a page is not behind number \(newest)") }
        last = newest
        return count
    }
}
