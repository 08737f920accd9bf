import Foundation

/// A `WaitingQueue` holds the items that wait, and the body that is being sent: bounded by count
/// and by bytes.
struct WaitingQueue {
    /// A `Body` is sent, again and again, until it is settled.
    struct Body: Sendable, Equatable {
        let route: Route
        fileprivate(set) var lines: [Data]

        /// The lines as NDJSON.
        var bytes: Data { Data(lines.joined(separator: CollectionOfOne(0x0A))) }
    }

    private let itemsMax: Int
    private let bytesMax: Int
    private let bodyBytesMax: Int
    private(set) var bodyItemsMax: Int
    private(set) var body: Body?
    /// Of the queue and the body.
    private(set) var bytes = 0
    private var items: [(route: Route, line: Data)] = []
    /// The index of the first item that waits: those before it have gone, and are cut off now and
    /// then.
    private var head = 0

    /// An empty queue with these limits.
    init(_ options: RollcallClient.Options) {
        itemsMax = options.queueItems
        bytesMax = options.queueBytes
        bodyItemsMax = options.bodyItems
        bodyBytesMax = options.bodyBytes
    }

    private var queued: Int { items.count - head }
    /// Returns how many items wait or are being sent.
    var count: Int { queued + (body?.lines.count ?? 0) }
    var isEmpty: Bool { count == 0 }
    /// True if what waits for its body makes a whole one.
    var isFull: Bool { queued >= bodyItemsMax || bytes >= bodyBytesMax }

    /// Adds a line at the end. The oldest give way to it, but not those being sent, which may have
    /// arrived. Returns what had to go: the line itself, if there was no room even so.
    mutating func append(_ line: Data, _ route: Route) -> (isQueued: Bool, dropped: [Data]) {
        var dropped: [Data] = []
        while queued > 0, count >= itemsMax || bytes + line.count > bytesMax {
            dropped.append(takeFirst())
            bytes -= dropped[dropped.count - 1].count
        }
        guard count < itemsMax, bytes + line.count <= bytesMax else {
            return (false, dropped + [line])
        }
        items.append((route, line))
        bytes += line.count
        return (true, dropped)
    }

    /// The body to send: the one that is not settled yet, else one of the oldest of one route.
    mutating func nextBody() -> Body? {
        if let body { return body }
        guard queued > 0 else { return nil }
        let route = items[head].route
        var lines: [Data] = []
        var size = 0
        while queued > 0, lines.count < bodyItemsMax, items[head].route == route {
            size += items[head].line.count + 1
            if !lines.isEmpty, size > bodyBytesMax { break }
            lines.append(takeFirst())
        }
        body = Body(route: route, lines: lines)
        return body
    }

    /// Ends the body: Rollcall has it, or never will.
    mutating func settle() {
        bytes -= body?.lines.reduce(0) { $0 + $1.count } ?? 0
        body = nil
    }

    /// Makes bodies smaller from now on, because this one was too large; false if it is one item.
    mutating func halve() -> Bool {
        guard let whole = body, whole.lines.count > 1 else { return false }
        bodyItemsMax = max(1, whole.lines.count / 2)
        let rest = whole.lines[bodyItemsMax...].map { (route: whole.route, line: $0) }
        items.replaceSubrange(..<head, with: rest)
        head = 0
        body?.lines.removeSubrange(bodyItemsMax...)
        return true
    }

    /// Takes out all that is left.
    mutating func takeAll() -> [Data] {
        let left = (body?.lines ?? []) + items[head...].map(\.line)
        body = nil
        items = []
        head = 0
        bytes = 0
        return left
    }

    private mutating func takeFirst() -> Data {
        let line = items[head].line
        items[head].line = Data()
        head += 1
        if head > 1024, head > items.count / 2 {
            items.removeSubrange(..<head)
            head = 0
        }
        return line
    }
}
