import Foundation

/// A `WaitingQueue` holds the items that wait, and the body that is being sent: bounded by count
/// and by bytes. What a cell did not take waits in a queue of its own, and what comes of the same people
/// goes behind it; so nobody else waits for that cell.
struct WaitingQueue {
    typealias Instant = ContinuousClock.Instant

    /// A `Body` is sent, again and again, until it is settled.
    struct Body: Sendable, Equatable {
        /// The queue that it comes from.
        let name: ItemQueue.Name
        let route: Route
        fileprivate(set) var items: [Item]

        var lines: [Data] { items.map(\.line) }
        /// The lines as NDJSON.
        var bytes: Data { Data(lines.joined(separator: CollectionOfOne(0x0A))) }
    }

    private let itemsMax: Int
    private let bytesMax: Int
    private let bodyBytesMax: Int
    private(set) var bodyItemsMax: Int
    private(set) var body: Body?
    /// Of all that waits, and the body.
    private(set) var bytes = 0
    private var queues: [ItemQueue.Name: ItemQueue] = [.fresh: ItemQueue()]
    private var given = 0
    private var turns = 0

    /// An empty queue with these limits.
    init(_ options: RollcallClient.Options) {
        itemsMax = options.queueItems
        bytesMax = options.queueBytes
        bodyItemsMax = options.bodyItems
        bodyBytesMax = options.bodyBytes
    }

    private var queued: Int { queues.values.reduce(0) { $0 + $1.count } }
    private var fresh: ItemQueue { queues[.fresh] ?? ItemQueue() }
    /// Returns how many items wait or are being sent.
    var count: Int { queued + (body?.items.count ?? 0) }
    var isEmpty: Bool { count == 0 }
    /// True if something waits for its first body.
    var hasFresh: Bool { fresh.count > 0 }
    /// True if what waits for its first body makes a whole one.
    var isFull: Bool { fresh.count >= bodyItemsMax || fresh.bytes >= bodyBytesMax }

    /// Adds a line at the end. The oldest give way to it, but not those being sent, which may have
    /// arrived. Returns what had to go: the line itself, if there was no room even so.
    mutating func append(
        _ line: Data, _ route: Route, person: String
    ) -> (isQueued: Bool, dropped: [Data]) {
        var dropped: [Data] = []
        while count >= itemsMax || bytes + line.count > bytesMax, let oldest = takeOldest() {
            dropped.append(oldest.line)
        }
        guard count < itemsMax, bytes + line.count <= bytesMax else {
            return (false, dropped + [line])
        }
        given += 1
        queues[.fresh, default: ItemQueue()].append(
            Item(number: given, route: route, person: person, line: line))
        bytes += line.count
        return (true, dropped)
    }

    /// Takes out the oldest item that waits; nil if none does.
    private mutating func takeOldest() -> Item? {
        let first = { (queue: ItemQueue) in queue.first?.number ?? .max }
        guard let name = queues.min(by: { first($0.value) < first($1.value) })?.key,
            let item = queues[name]?.takeFirst()
        else { return nil }
        leave(name, [item])
        return item
    }

    /// These need not be sent any more.
    private mutating func leave(_ name: ItemQueue.Name, _ items: [Item]) {
        bytes -= items.reduce(0) { $0 + $1.line.count }
        queues[name]?.forget(items)
        if name != .fresh, queues[name]?.people.isEmpty == true { queues[name] = nil }
    }

    // MARK: - The body

    /// Returns what is sent next, and when: of the queues that are due the one that was sent longest ago.
    /// Before `freshAt` no body is made of what was not sent yet.
    func next(at now: Instant, freshAt: Instant?) -> (name: ItemQueue.Name, due: Instant)? {
        if let body { return (body.name, queues[body.name]?.notBefore ?? now) }
        let all = queues.filter { $0.value.count > 0 }.map { name, queue in
            let linger = name == .fresh ? freshAt ?? now : now
            return (name: name, due: max(queue.notBefore ?? now, linger), turn: queue.turn)
        }
        let next =
            all.filter { $0.due <= now }.min { $0.turn < $1.turn }
            ?? all.min { $0.due < $1.due }
        return next.map { ($0.name, $0.due) }
    }

    /// The body to send: the one that is not settled yet, else one of a queue's oldest of one route; nil
    /// if all were put aside, behind others of the same people.
    mutating func nextBody(of name: ItemQueue.Name = .fresh) -> Body? {
        if let body { return body }
        turns += 1
        queues[name]?.turn = turns
        var items: [Item] = []
        var size = 0
        while items.count < bodyItemsMax, let item = queues[name]?.first {
            if name == .fresh, let other = cell(of: item.person) {
                _ = queues[name]?.takeFirst()
                queues[name]?.forget([item])
                queues[other]?.append(item)
                continue
            }
            size += item.line.count + 1
            if let first = items.first, item.route != first.route || size > bodyBytesMax { break }
            _ = queues[name]?.takeFirst()
            items.append(item)
        }
        body = items.first.map { Body(name: name, route: $0.route, items: items) }
        return body
    }

    /// Returns the queue of the cell that somebody waits for.
    private func cell(of person: String) -> ItemQueue.Name? {
        queues.count == 1
            ? nil : queues.first { $0.key != .fresh && $0.value.people[person] != nil }?.key
    }

    /// Ends the body: Rollcall has it, or never will.
    mutating func settle() { settle(away: [:]) { _ in .now } }

    /// Ends the body, but for the items at the places of `away`, which these cells did not take: they go
    /// again at the instant that `pause` says after so many failures, and nobody else waits for them.
    mutating func settle(away: [Int: String], pause: (Int) -> Instant) {
        guard let body else { return }
        self.body = nil
        let settled = body.items.indices.filter { away[$0] == nil }.map { body.items[$0] }
        if body.name == .fresh || !settled.isEmpty {
            queues[body.name]?.failures = 0
            queues[body.name]?.notBefore = nil
        }
        leave(body.name, settled)
        let missing = body.items.indices.filter { away[$0] != nil }
        let items = missing.map { body.items[$0] }
        if items.isEmpty { return }
        if body.name == .fresh {
            queues[.fresh]?.forget(items)
            for (place, item) in zip(missing, items) {
                let name = ItemQueue.Name.cell(away[place] ?? "")
                if queues[name] == nil {
                    queues[name] = ItemQueue()
                    queues[name]?.turn = turns
                    wait(name, pause)
                }
                queues[name]?.append(item)
            }
            return
        }
        queues[body.name]?.putBack(items)
        if Set(away.values.map { .cell($0) }) == [body.name] {
            wait(body.name, pause)
        } else if let old = queues.removeValue(forKey: body.name) {
            // The cell was split meanwhile: whose these are is asked anew, in their order.
            queues[.fresh, default: ItemQueue()].putBack(all: old)
        }
    }

    /// Nobody knows what became of the body: it goes again, at the instant that `pause` says after so many
    /// failures. If it was put aside it holds up nobody meanwhile.
    mutating func fail(pause: (Int) -> Instant) {
        guard let body else { return }
        wait(body.name, pause)
        guard body.name != .fresh else { return }
        queues[body.name]?.putBack(body.items)
        self.body = nil
    }

    private mutating func wait(_ name: ItemQueue.Name, _ pause: (Int) -> Instant) {
        let failures = (queues[name]?.failures ?? 0) + 1
        queues[name]?.failures = failures
        queues[name]?.notBefore = pause(failures)
    }

    /// Ends all pauses.
    mutating func resume() {
        for name in queues.keys { queues[name]?.notBefore = nil }
    }

    /// Makes two of the body; false if it is one item. If it was too large (`isTooLarge`), bodies are
    /// smaller from now on.
    mutating func halve(isTooLarge: Bool = true) -> Bool {
        guard let whole = body, whole.items.count > 1 else { return false }
        let half = max(1, whole.items.count / 2)
        if isTooLarge { bodyItemsMax = half }
        queues[whole.name]?.putBack(whole.items[half...])
        body?.items.removeSubrange(half...)
        return true
    }

    /// Takes out all that is left.
    mutating func takeAll() -> [Data] {
        let left = (body?.items ?? []) + queues.values.flatMap(\.waiting)
        body = nil
        queues = [.fresh: ItemQueue()]
        bytes = 0
        return left.sorted { $0.number < $1.number }.map(\.line)
    }
}
