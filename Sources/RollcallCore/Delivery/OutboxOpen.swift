/// The messages of a queue that are not finished: found by their number, by the firing that they
/// tell of, and by those that they must not overtake.
struct OutboxOpen: Equatable, Sendable {
    private var messages: [Int64: OutboxMessage] = [:]
    /// Numbers that share an order, rising.
    private var queues = RisingNumbers<UInt64>()
    /// Numbers of triggers by firings, rising.
    private var triggers = RisingNumbers<Int64>()
    /// Numbers of messages by the alert among whose storms they keep their order, rising.
    private var ofAlert = RisingNumbers<AlertName>()
    /// Those of them that are storms', rising.
    private var storms = RisingNumbers<AlertName>()

    /// Messages about something critical.
    private(set) var criticalCount = 0

    var count: Int { messages.count }
    var isEmpty: Bool { messages.isEmpty }

    /// All of them by number: for what is rare.
    var inOrder: [OutboxMessage] { messages.values.sorted { $0.number < $1.number } }

    subscript(_ number: Int64) -> OutboxMessage? { messages[number] }

    /// Every firing that one of them is still to tell of.
    var incidents: Set<Int64> {
        messages.values.reduce(into: []) { $0.formUnion($1.incidents) }
    }

    /// Triggers that have a firing still to tell, by number.
    func triggers(of incident: Int64) -> [Int64] { triggers[incident] }

    /// Numbers of all that share one of `orders`, each once, rising.
    func sharing(_ orders: [UInt64]) -> [Int64] {
        if orders.count == 1 { return queues[orders[0]] }
        var numbers: Set<Int64> = []
        for order in orders { numbers.formUnion(queues[order]) }
        return numbers.sorted()
    }

    /// Numbers of all that may wait for `message`.
    func behind(_ message: OutboxMessage) -> [Int64] {
        let sharing = sharing(message.ordersLeft)
        guard let name = message.stormOrder else { return sharing }
        return sharing + (message.notice.storm == nil ? storms[name] : ofAlert[name])
    }

    /// True if a message need not wait for an earlier one about the same alert. A refused one may be
    /// refused for ever, and holds nobody up. In a channel, which knows no keys, a storm waits for
    /// what was decided before it about any alert of its name, and the other way round (A9, D11).
    func isFree(_ message: OutboxMessage) -> Bool {
        guard isFreeOfStorms(message) else { return false }
        return message.ordersLeft.allSatisfy { order in
            for number in queues[order] {
                if number >= message.number { break }
                if messages[number]?.state != .refused { return false }
            }
            return true
        }
    }

    private func isFreeOfStorms(_ message: OutboxMessage) -> Bool {
        guard let name = message.stormOrder else { return true }
        for number in message.notice.storm == nil ? storms[name] : ofAlert[name] {
            if number >= message.number { break }
            if messages[number]?.holdsUpStorms == true { return false }
        }
        return true
    }

    mutating func insert(_ message: OutboxMessage) {
        messages[message.number] = message
        add(message)
    }

    mutating func remove(_ number: Int64) -> OutboxMessage? {
        guard let message = messages.removeValue(forKey: number) else { return nil }
        take(message)
        return message
    }

    /// Changes a message; returns how it is then.
    @discardableResult mutating func change(
        _ number: Int64, _ body: (inout OutboxMessage) -> Void
    ) -> OutboxMessage? {
        guard var message = messages[number] else { return nil }
        let before = message
        body(&message)
        messages[number] = message
        if message.left != before.left || message.orders != before.orders {
            take(before)
            add(message)
        }
        return message
    }

    private mutating func add(_ message: OutboxMessage) {
        criticalCount += message.isCritical ? 1 : 0
        for order in message.ordersLeft { queues.insert(message.number, order) }
        if let name = message.stormOrder, !message.isEmpty {
            ofAlert.insert(message.number, name)
            if message.notice.storm != nil { storms.insert(message.number, name) }
        }
        guard message.isTrigger else { return }
        for incident in message.incidents { triggers.insert(message.number, incident) }
    }

    private mutating func take(_ message: OutboxMessage) {
        criticalCount -= message.isCritical ? 1 : 0
        for order in message.ordersLeft { queues.remove(message.number, order) }
        if let name = message.stormOrder {
            ofAlert.remove(message.number, name)
            storms.remove(message.number, name)
        }
        guard message.isTrigger else { return }
        for incident in message.incidents { triggers.remove(message.number, incident) }
    }
}
