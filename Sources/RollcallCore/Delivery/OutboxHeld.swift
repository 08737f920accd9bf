/// The firings that an address knows, or may know: messages that are finished, found by their
/// firings and by the alert's name.
struct OutboxHeld: Equatable, Sendable {
    private var messages: [Int64: OutboxMessage] = [:]
    /// Numbers of messages by firings.
    private var numbers: [Int64: [Int64]] = [:]
    /// Firings that it was told of, by the alert's name, rising.
    private var known = RisingNumbers<AlertName>()
    /// The number of alerts that a storm among them had when it was told.
    private var stormCounts: [Int64: Int] = [:]

    var isEmpty: Bool { messages.isEmpty }

    /// All of them by number: for what is rare.
    var inOrder: [OutboxMessage] { messages.values.sorted { $0.number < $1.number } }

    /// Numbers of the messages by which a firing is known, rising.
    func numbers(of incident: Int64) -> [Int64] { numbers[incident] ?? [] }

    /// Those messages.
    func messages(of incident: Int64) -> [OutboxMessage] {
        numbers(of: incident).compactMap { messages[$0] }
    }

    mutating func insert(_ message: OutboxMessage) {
        messages[message.number] = message
        for member in message.members {
            numbers[member.incident, default: []].append(message.number)
            guard message.outcome == .delivered else { continue }
            known.insert(member.incident, member.name)
            stormCounts[member.incident] = message.notice.storm?.count
        }
    }

    /// A firing, or with nil all of them, is not known by a message any more. Returns the message as
    /// it is then; it is gone from here if it was the last one.
    mutating func forget(_ number: Int64, _ incident: Int64?) -> OutboxMessage? {
        guard var message = messages[number] else { return nil }
        for member in message.members where incident == nil || member.incident == incident {
            if let place = message.place(of: member.incident) { message.remove(place) }
            numbers[member.incident]?.removeAll { $0 == number }
            if numbers[member.incident]?.isEmpty == true { numbers[member.incident] = nil }
            if message.outcome == .delivered { take(member) }
        }
        if message.isEmpty { message.state = .over }
        messages[number] = message.isEmpty ? nil : message
        return message
    }

    /// The first `count` firings of a name that it was told of but those of `own`, and how many
    /// alerts that makes in all: a storm stands for many.
    func known(
        _ name: AlertName, but own: [Int64], count: Int
    ) -> (members: [NoticeMember], count: Int) {
        let all = known[name]
        var members: [NoticeMember] = []
        for incident in all {
            if members.count >= count { break }
            guard !own.contains(incident), let member = member(incident) else { continue }
            members.append(member)
        }
        var count = all.count - own.count { known.contains($0, in: name) }
        for (storm, alerts) in stormCounts
        where !own.contains(storm) && known.contains(storm, in: name) {
            count += max(1, alerts) - 1
        }
        return (members, count)
    }

    /// Every firing that it was told of, with its incident.
    func forEachKnown(_ body: (NoticeMember) -> Void) {
        for message in inOrder where message.outcome == .delivered { message.members.forEach(body) }
    }

    private func member(_ incident: Int64) -> NoticeMember? {
        for number in (numbers[incident] ?? []).reversed() {
            guard let message = messages[number], message.outcome == .delivered,
                let place = message.place(of: incident)
            else { continue }
            return message.notice.members[place]
        }
        return nil
    }

    /// It may be known by another message still.
    private mutating func take(_ member: NoticeMember) {
        let others = numbers[member.incident] ?? []
        if others.contains(where: { messages[$0]?.outcome == .delivered }) { return }
        known.remove(member.incident, member.name)
        stormCounts[member.incident] = nil
    }
}
