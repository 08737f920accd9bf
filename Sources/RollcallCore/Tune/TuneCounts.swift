/// The counts of one setting.
package struct TuneCounts: Equatable, Sendable {
    /// Changes and alarms of the people of one duty state on one platform.
    package struct Cell: Equatable, Sendable {
        /// Changes to DEGRADED.
        package var degraded = 0
        /// Changes to OFFLINE.
        package var offline = 0
        /// Changes from DEGRADED or OFFLINE back to ONLINE.
        package var back = 0
        /// Times OFFLINE that healed by themselves.
        package var healed = 0
        /// Times OFFLINE that did not.
        package var real = 0

        package init() {}

        static func + (a: Cell, b: Cell) -> Cell {
            var sum = a
            sum.degraded += b.degraded
            sum.offline += b.offline
            sum.back += b.back
            sum.healed += b.healed
            sum.real += b.real
            return sum
        }
    }

    /// The alerts of one name.
    package struct Notifications: Equatable, Sendable {
        /// The number of times it fired.
        package var fired = 0
        /// Of these, those that were critical.
        package var critical = 0
        /// Of these, those that were over within the time in which a false alarm heals.
        package var short = 0
        /// The time for which it fired, in all.
        package var firing = Milliseconds(0)

        package init() {}
    }

    /// The times OFFLINE of the phones of one name. Source: P6.
    package struct Phone: Equatable, Sendable {
        /// Returns below which no usual time is told. Source: P7.
        private static let returnsMin = 20

        /// Times OFFLINE that healed by themselves.
        package internal(set) var healed = 0
        /// Times OFFLINE that did not.
        package internal(set) var real = 0
        /// From the last contact to the next one, of those who were heard again.
        package internal(set) var returns = TuneSpans()

        /// Times OFFLINE whose end is known.
        package var evaluated: Int { healed + real }

        /// The usual time until these phones are heard again; nil if too few of them were.
        package var usualReturn: Milliseconds? {
            returns.count < Self.returnsMin ? nil : returns.quantile(0.5)
        }

        mutating func add(_ other: Phone) {
            healed += other.healed
            real += other.real
            returns.add(other.returns)
        }
    }

    /// Names of phones that are told apart; all others are one row.
    package static let phonesMax = 32

    /// Duty states that are counted apart.
    package static let duties: [DutyState] = [.onDuty, .onMission]

    private var cells = [Cell](
        repeating: Cell(), count: duties.count * Platform.allCases.count)
    /// By name.
    package internal(set) var notifications = [Notifications](
        repeating: Notifications(), count: AlertName.allCases.count)
    /// Nudges sent, or that would have been.
    package internal(set) var nudges = 0
    /// Nudges held, by reason.
    package internal(set) var holds = [Int](repeating: 0, count: NudgeReason.allCases.count)
    /// Delays of the times OFFLINE that did not heal, by duty state.
    private var delays = [TuneSpans](repeating: TuneSpans(), count: duties.count)
    /// By the phone's name; empty is of those that did not tell it.
    private var phones: [[UInt8]: Phone] = [:]
    /// Times OFFLINE of which the history does not tell the end.
    package internal(set) var censored = 0
    /// Times OFFLINE during which we could not see.
    package internal(set) var unseen = 0
    /// People who flapped.
    package internal(set) var flapping = 0

    package init() {}

    /// The people of one duty state on one platform.
    package internal(set) subscript(_ duty: DutyState, _ platform: Platform) -> Cell {
        get { cells[Self.place(duty, platform)] }
        set { cells[Self.place(duty, platform)] = newValue }
    }

    private static func place(_ duty: DutyState, _ platform: Platform) -> Int {
        (duty == .onMission ? 1 : 0) * Platform.allCases.count + Int(platform.rawValue)
    }

    /// Everybody.
    package var all: Cell { cells.reduce(Cell(), +) }

    /// The alerts of one name.
    package subscript(_ name: AlertName) -> Notifications { notifications[Int(name.rawValue)] }

    /// All alerts, whatever their name.
    package var allNotifications: Notifications {
        notifications.reduce(into: Notifications()) { sum, notifications in
            sum.fired += notifications.fired
            sum.critical += notifications.critical
            sum.short += notifications.short
            sum.firing.count += notifications.firing.count
        }
    }

    /// The delay that `share` of the times OFFLINE that did not heal did not exceed, of one duty
    /// state or of both; nil if there was none. In steps of 0.1 s.
    package func delay(_ share: Double, _ duty: DutyState? = nil) -> Milliseconds? {
        var all = TuneSpans()
        for (place, state) in Self.duties.enumerated() where duty == nil || duty == state {
            all.add(delays[place])
        }
        return all.quantile(share)
    }

    /// The phones by name, those that were OFFLINE most often first: at most `phonesMax`, then all
    /// others together, whose name is nil.
    package var phonesByName: [(name: [UInt8]?, phone: Phone)] {
        let sorted = phones.sorted { a, b in
            a.value.evaluated == b.value.evaluated
                ? a.key.lexicographicallyPrecedes(b.key) : a.value.evaluated > b.value.evaluated
        }
        var rows = sorted.prefix(Self.phonesMax).map { (name: Optional($0.key), phone: $0.value) }
        var others = Phone()
        for row in sorted.dropFirst(Self.phonesMax) { others.add(row.value) }
        if sorted.count > Self.phonesMax { rows.append((name: nil, phone: others)) }
        return rows
    }

    mutating func note(delay: Milliseconds, _ duty: DutyState) {
        delays[duty == .onMission ? 1 : 0].add(delay)
    }

    /// Counts a time OFFLINE that healed or did not among those of its phone's name.
    mutating func note(phone spell: LateSpell, isHealed: Bool) {
        var phone = phones[spell.phone] ?? Phone()
        if isHealed { phone.healed += 1 } else { phone.real += 1 }
        if let span = spell.awayFor { phone.returns.add(span) }
        phones[spell.phone] = phone
    }
}

/// A time that an alert fired.
package struct FiredNotification: Equatable, Sendable {
    package var key: AlertKey
    package var start: Timestamp
    package var end: Timestamp
}
