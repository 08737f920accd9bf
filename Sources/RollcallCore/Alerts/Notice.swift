/// A message to one receiver about alerts of one name, decided in one evaluation. Source: A8, A9.
package struct Notice: Equatable, Sendable {
    /// The kinds of news in a message. The raw values are stored.
    package enum Kind: UInt8, CaseIterable, Sendable {
        /// They fire, and the receiver does not know yet.
        case fired = 0
        /// They still do.
        case repeated = 1
        /// They are over.
        case resolved = 2

        /// The word in answers.
        package var word: StaticString {
            switch self {
            case .fired: "fired"
            case .repeated: "repeated"
            case .resolved: "resolved"
            }
        }
    }

    /// Alerts of one notice at most; more make further ones.
    package static let membersMax = 64

    /// Rising from 1 on in a store.
    package var number: Int64
    package var receiver: [UInt8]
    package var kind: Kind
    /// By label set; one at least.
    package var members: [NoticeMember]
    /// The facts about the many alerts that it tells of at once, for which its one member stands;
    /// nil of all others.
    package var storm: StormFacts?

    /// The notice as the store keeps it. Nobody's id is in it. A field's place, once written, stays.
    package var journalBytes: [UInt8] {
        var copy = self
        return Archive.bytes { copy.code(&$0) }
    }

    /// Notice `number`, which tells `receiver` about `members`.
    package init(number: Int64, receiver: [UInt8], kind: Kind, members: [NoticeMember]) {
        self.number = number
        self.receiver = receiver
        self.kind = kind
        self.members = members
    }

    /// The notice that `journalBytes` were made of; nil if they are damaged.
    package init?(journalBytes: [UInt8]) {
        self.init(number: 0, receiver: [], kind: .fired, members: [])
        if !Archive.reads(part: journalBytes, { code(&$0) }) { return nil }
    }

    private mutating func code(_ archive: inout Archive) {
        archive.code(&number)
        archive.code(&receiver)
        archive.code(&kind)
        archive.code(&members, empty: NoticeMember()) { $1.code(&$0) }
        // What follows is behind the others: most end here, as those of older versions do.
        let namesChanges = members.contains { $0.facts.hasMemberFacts }
        let isFallback = members.contains { $0.fallback != nil }
        if archive.isReading || storm != nil || isFallback || namesChanges {
            members.codeFallbacks(&archive)
        }
        if archive.isReading || storm != nil || namesChanges {
            archive.code(&storm, empty: StormFacts()) { $1.code(&$0) }
        }
        if archive.isReading || namesChanges { members.codeMemberFacts(&archive) }
    }
}

/// The facts in a message that tells of many alerts of one name at once. Source: D11.
package struct StormFacts: Equatable, Sendable {
    /// Alerts named at most.
    package static let topMax = 10

    /// Alerts that belong to it; once it is over, those that ever did.
    package var count = 0
    /// Of when its numbers are.
    package var at = Timestamp.distantPast
    /// Those with the most people, the most first; ties by name.
    package var top: [NoticeMember] = []

    package init() {}

    mutating func code(_ archive: inout Archive) {
        archive.code(&count)
        archive.code(&at)
        archive.code(&top, empty: NoticeMember()) { $1.code(&$0) }
    }
}

/// One alert of a notice.
package struct NoticeMember: Equatable, Sendable {
    package var name = AlertName.highOfflineRate
    /// The firing, rising from 1 on in a store: what a pager's key is made of. Negative for drills.
    package var incident: Int64 = 0
    /// As they were when it fired.
    package var labels: [Label] = []
    /// Those of the settings; the texts are made of `facts` when it is sent.
    package var annotations: [Label] = []
    package var startsAt = Timestamp.distantPast
    /// `distantPast` while it fires.
    package var endsAt = Timestamp.distantPast
    package var facts = AlertFacts()
    /// The reason why the receiver is told if no matcher names it. Coded by the notice.
    package var fallback: Fallback?

    /// An empty one, to be filled in.
    package init() {}

    mutating func code(_ archive: inout Archive) {
        archive.code(&name)
        archive.code(&incident)
        archive.code(&labels, empty: Label([], [])) { $1.code(&$0) }
        archive.code(&annotations, empty: Label([], [])) { $1.code(&$0) }
        archive.code(&startsAt)
        archive.code(&endsAt)
        facts.code(&archive)
    }
}

/// The facts that an alert's text states. People are numbers: no id is stored with it.
package struct AlertFacts: Equatable, Sendable {
    /// Causes named at most.
    package static let causesMax = 4

    /// People with a suspected cause.
    package struct Cause: Equatable, Sendable {
        package var cause: GapCause
        package var count: Int

        /// So many people are silent for `cause`.
        package init(cause: GapCause = .unexplained, count: Int = 0) {
            self.cause = cause
            self.count = count
        }
    }

    package var stats = AlertStats()
    /// The limit that is passed: ten-thousandths of a rate, or changes. 0 where there is none.
    package var limit: Int64 = 0
    /// `for`, or the window of changes.
    package var span = Milliseconds(0)
    /// Of the OFFLINE people, the most frequent first; ties in the order in which they are tried.
    package var causes: [Cause] = []
    /// Numbers of those concerned, by their ids; at most `alerts.name_members`.
    package var people: [Int] = []
    /// True if nobody is active where somebody always must be (A4).
    package var isUnstaffed = false
    /// Missing sources, by their names; only of TelemetryFeedDown.
    package var sources: [[UInt8]] = []
    /// The last batch from anyone, where that is remarkable (F12).
    package var lastBatchAt: Timestamp?
    /// The beginning of the time that we were not running, if nobody was told yet (B4).
    package var absentFrom: Timestamp?
    package var absentTo: Timestamp?
    /// The causes for which each of `people` is away, in their order; only of ResponderOffline. Coded by
    /// whoever has these facts, like the next.
    package var memberCauses: [GapCause] = []
    /// The people who left and came back since the receiver was told last (R1).
    package var turnover: TurnoverFacts?

    package init() {}

    /// The numbers of everybody whom a text may name.
    package var everybody: [Int] {
        people + (turnover.map { ($0.left + $0.back).map(\.number) } ?? [])
    }

    fileprivate var hasMemberFacts: Bool { !memberCauses.isEmpty || turnover != nil }

    /// Says nothing of who and why: that was of another instant (D7).
    mutating func dropPeople() { (causes, people, memberCauses) = ([], [], []) }

    /// Some are here no more: nobody names them any more.
    mutating func forget(_ numbers: Set<Int>) {
        guard !memberCauses.isEmpty else { return }
        for place in people.indices.reversed() where numbers.contains(people[place]) {
            people.remove(at: place)
            memberCauses.remove(at: place)
        }
    }

    mutating func code(_ archive: inout Archive) {
        stats.code(&archive)
        archive.code(&limit)
        archive.code(&span)
        archive.code(&causes, empty: Cause()) { archive, cause in
            archive.code(&cause.cause)
            archive.code(&cause.count)
        }
        archive.code(&people)
        archive.code(&isUnstaffed)
        archive.code(&sources)
        archive.code(&lastBatchAt, empty: .distantPast) { $0.code(&$1) }
        archive.code(&absentFrom, empty: .distantPast) { $0.code(&$1) }
        archive.code(&absentTo, empty: .distantPast) { $0.code(&$1) }
    }
}

extension [NoticeMember] {
    /// Codes what only ResponderOffline says of people, behind the members themselves.
    fileprivate mutating func codeMemberFacts(_ archive: inout Archive) {
        var places = indices.filter { self[$0].facts.hasMemberFacts }
        archive.code(&places)
        for place in places {
            guard indices.contains(place) else { return archive.refuse() }
            archive.code(&self[place].facts.memberCauses, empty: .unexplained) { $0.code(&$1) }
            archive.code(&self[place].facts.turnover, empty: TurnoverFacts()) { $1.code(&$0) }
        }
    }
}

/// The reason why somebody who should be told is not. Source: A6, A7, A10.
package enum MuteReason: Equatable, Sendable {
    /// A silence, by its number.
    case silence(Int64)
    /// Another alert that says more.
    case inhibited(by: AlertKey)
    /// We cannot see (B4).
    case blind
    /// A storm, by its number, tells of it together with others (D11).
    case storm(Int64)

    /// True if it is told of with others.
    package var isStorm: Bool { if case .storm = self { true } else { false } }

    mutating func code(_ archive: inout Archive) {
        var kind: UInt8 = 0
        var number: Int64 = 0
        var key = AlertKey(name: .highOfflineRate, subject: .all)
        switch self {
        case .silence(let silence): number = silence
        case .inhibited(let by): (kind, key) = (1, by)
        case .blind: kind = 2
        case .storm(let storm): (kind, number) = (3, storm)
        }
        archive.code(&kind)
        archive.code(&number)
        key.code(&archive)
        switch kind {
        case 0: self = .silence(number)
        case 1: self = .inhibited(by: key)
        case 2: self = .blind
        case 3: self = .storm(number)
        default: archive.refuse()
        }
    }
}

/// An alert fires and a receiver is not told of it. Source: A10.
package struct Mute: Equatable, Sendable {
    package var key: AlertKey
    package var incident: Int64
    package var receiver: [UInt8]
    package var reason: MuteReason

    /// `receiver` is not told of a firing of `key`, for `reason`.
    package init(key: AlertKey, incident: Int64, receiver: [UInt8], reason: MuteReason) {
        self.key = key
        self.incident = incident
        self.receiver = receiver
        self.reason = reason
    }

    /// The report as the store keeps it. A field's place, once written, stays.
    package var journalBytes: [UInt8] {
        var copy = self
        return Archive.bytes { copy.code(&$0) }
    }

    /// The report that `journalBytes` were made of; nil if they are damaged.
    package init?(journalBytes: [UInt8]) {
        let key = AlertKey(name: .highOfflineRate, subject: .all)
        self.init(key: key, incident: 0, receiver: [], reason: .blind)
        if !Archive.reads(part: journalBytes, { code(&$0) }) { return nil }
    }

    private mutating func code(_ archive: inout Archive) {
        key.code(&archive)
        archive.code(&incident)
        archive.code(&receiver)
        reason.code(&archive)
    }
}

/// The end that a message to one address of a receiver came to. The raw values are stored. Source:
/// A9.
package enum NoticeOutcome: UInt8, CaseIterable, Sendable {
    /// It took it.
    case delivered = 0
    /// It never took it, and its time is over: a dead letter.
    case expired = 1
    /// Over before it was first tried: neither the trigger nor the resolve was sent.
    case dropped = 2
    /// Over before it was known to be taken: only the resolve is sent.
    case abandoned = 3
    /// The settings know the receiver no longer.
    case removed = 4

    /// The label's value.
    package var word: StaticString {
        switch self {
        case .delivered: "delivered"
        case .expired: "expired"
        case .dropped: "dropped"
        case .abandoned: "abandoned"
        case .removed: "removed"
        }
    }
}

/// The end of a message, as the engine learns of it. Source: J1.
package struct NoticeEnd: Equatable, Sendable {
    /// The notice's number.
    package var notice: Int64
    package var receiver: [UInt8]
    /// The place among the receiver's addresses, from 0.
    package var target: Int
    package var outcome: NoticeOutcome
    /// From the decision to the end.
    package var took: Milliseconds

    /// The end of the message of `notice` to address `target` of `receiver`.
    package init(
        notice: Int64, receiver: [UInt8], target: Int, outcome: NoticeOutcome, took: Milliseconds
    ) {
        self.notice = notice
        self.receiver = receiver
        self.target = target
        self.outcome = outcome
        self.took = took
    }

    /// The end as the journal keeps it.
    package var journalBytes: [UInt8] {
        var copy = self
        return Archive.bytes { copy.code(&$0) }
    }

    /// The end that `journalBytes` were made of; nil if they are damaged.
    package init?(journalBytes: [UInt8]) {
        self.init(
            notice: 0, receiver: [], target: 0, outcome: .delivered, took: Milliseconds(0))
        if !Archive.reads(part: journalBytes, { code(&$0) }) { return nil }
    }

    private mutating func code(_ archive: inout Archive) {
        archive.code(&notice)
        archive.code(&receiver)
        archive.code(&target)
        archive.code(&outcome)
        archive.code(&took)
    }
}
