import RollcallCore

/// A message as the state writer hands it over: facts, and the names that belong to them. It is put
/// in words by whoever sends it, so that the state writer need not wait for that.
package struct NotificationPayload: Sendable {
    /// The store's number.
    let store: UInt64
    let receiver: [UInt8]
    /// The notice's number; 0 for a refresh, which is none.
    let notice: Int64
    let kind: Notice.Kind
    package let members: [NoticeMember]
    /// The facts about the alerts that its one member stands for; nil of all others.
    package private(set) var storm: StormFacts?
    private(set) var context: [NoticeMember] = []
    /// The number of alerts that fire beyond those that `context` holds.
    private(set) var contextMore = 0
    /// Ids by people's numbers, of those who are not erased.
    private var names: [Int: [UInt8]] = [:]
    /// The last answers of the receivers that fallbacks stand for, by the firings.
    private var errors: [Int64: String] = [:]
    /// The id that tells messages of an alarm about the store apart, and the alarm's subject; nil
    /// of all others.
    private var alarm: (id: String, subject: StoreAlarm.Subject)?

    /// A payload of what is to be sent; `name` gives people's ids as they are now, nil of somebody
    /// erased, `error` what the receiver answered last in whose place a fallback is told.
    package init(
        _ sending: OutboxSending, store: UInt64, error: (NoticeMember) -> String? = { _ in nil },
        name: (Int) -> [UInt8]?
    ) {
        self.store = store
        receiver = sending.queue.receiver
        switch sending.content {
        case .message(let message, let context, let count):
            contextMore = count - context.count
            notice = message.number
            kind = message.notice.kind
            members = message.members
            storm = message.notice.storm
            self.context = context
        case .refresh(let firing, let ended):
            notice = 0
            kind = .repeated
            members = firing + ended
        }
        for person in (members + context).flatMap(\.facts.everybody) {
            names[person] = name(person)
        }
        for member in members + context where member.fallback != nil {
            errors[member.incident] = error(member)
        }
    }

    /// A message that an alarm about the store, or its end, is told with: from memory, so its number
    /// is none.
    package init(_ sending: StoreAlarm.Sending, store: UInt64) {
        self.store = store
        receiver = sending.queue.receiver
        notice = Self.number(of: sending.subject)
        kind = sending.kind
        members = [sending.member]
        alarm = (sending.id, sending.subject)
    }

    /// In the place of a notice's number: which alarm about the store it is.
    package static func number(of subject: StoreAlarm.Subject) -> Int64 {
        subject == .failing ? -1 : -2
    }

    /// The message in words.
    func message(externalURL: String) -> NotificationMessage {
        let id = alarm?.id ?? (notice == 0 ? "refresh" : "\(notice)")
        var message = NotificationMessage(
            id: "msg_\(Self.hexadecimal(store))_\(id)",
            receiver: String(decoding: receiver, as: UTF8.self), kind: kind,
            alerts: members.map { alert($0, storm, externalURL) }
                + context.map { alert($0, nil, externalURL) },
            memberCount: members.count, contextMore: contextMore, externalURL: externalURL)
        message.needsPermit = alarm == nil
        return message
    }

    private func alert(
        _ member: NoticeMember, _ storm: StormFacts?, _ externalURL: String
    ) -> NotificationAlert {
        let words = AlertText(member, storm: storm, error: errors[member.incident]) { names[$0] }
        let isFiring = member.endsAt == .distantPast
        return NotificationAlert(
            key: key(member, storm), isFiring: isFiring,
            labels: member.labels.ordered(), annotations: words.annotations,
            details: words.details, startsAt: member.startsAt,
            endsAt: isFiring ? nil : member.endsAt,
            generatorURL: Self.link(to: member, storm, externalURL))
    }

    /// A fallback's is its own: it may be the same pager, where the first one's trigger is still to
    /// come (D3).
    private func key(_ member: NoticeMember, _ storm: StormFacts?) -> String {
        let key = IncidentKey.text(store, incident(member, storm))
        // A storm's number is one receiver's alone.
        return member.fallback == nil || storm != nil
            ? key : "\(key)-\(String(decoding: receiver, as: UTF8.self))"
    }

    /// An alarm's key is the store's own (A5): no incident of it can be stored. A storm's says what
    /// its alerts are (D11).
    private func incident(_ member: NoticeMember, _ storm: StormFacts?) -> String {
        if storm != nil { return "\(member.name.word)-\(member.incident)" }
        return alarm?.subject.word ?? "\(member.incident)"
    }

    /// Returns where people see more of it (D8): of a storm all alerts of its name. A drill, and
    /// what no store holds, is no incident there.
    private static func link(
        to member: NoticeMember, _ storm: StormFacts?, _ externalURL: String
    ) -> String {
        if externalURL.isEmpty { return "" }
        let page = "\(externalURL)/alerts"
        if storm != nil { return "\(page)?alertname=\(member.name.word)" }
        return member.incident > 0 ? "\(page)?incident=\(member.incident)" : page
    }

    /// 16 digits.
    package static func hexadecimal(_ number: UInt64) -> String {
        let digits = String(number, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }
}
