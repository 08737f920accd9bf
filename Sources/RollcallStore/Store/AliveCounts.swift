/// The numbers of messages and pushes that are not over, as the store counts them.
///
/// A start finds them by indexes, so that it need not read all that ever was sent. If a state, or what
/// an index holds, is damaged, one of them may not be found: then there are too few.
struct AliveCounts: Equatable, Sendable {
    var messages: Int64 = 0
    var pushes: Int64 = 0

    static let messagesKey = "messages_alive"
    static let pushesKey = "pushes_alive"
}

extension Journal {
    /// Returns the numbers that the store counts.
    /// - Throws: `StoreError` if it does not, or they cannot be read.
    func storedAlive() throws(StoreError) -> AliveCounts {
        guard let messages = try integer(forKey: AliveCounts.messagesKey),
            let pushes = try integer(forKey: AliveCounts.pushesKey)
        else { throw .damaged("meta does not count what is not over") }
        return AliveCounts(messages: messages, pushes: pushes)
    }

    /// Lets `body` write in the open transaction, and keeps the counts if it changed them.
    /// - Throws: `StoreError` if they cannot be kept, or what `body` throws.
    func keepAlive(_ body: () throws(StoreError) -> Void) throws(StoreError) {
        let before = alive
        try body()
        if alive.messages != before.messages {
            try set(alive.messages, forKey: AliveCounts.messagesKey)
        }
        if alive.pushes != before.pushes {
            try set(alive.pushes, forKey: AliveCounts.pushesKey)
        }
    }
}
