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
    /// Delays of the times OFFLINE that did not heal, in tenths of a second, by duty state.
    package internal(set) var delays = [[Int64: Int]](repeating: [:], count: duties.count)
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
        var all: [Int64: Int] = [:]
        for (place, state) in Self.duties.enumerated() where duty == nil || duty == state {
            all.merge(delays[place], uniquingKeysWith: +)
        }
        let count = all.values.reduce(0, +)
        guard count > 0 else { return nil }
        let wanted = min(count, max(1, Int((Double(count) * share).rounded(.up))))
        var passed = 0
        for tenths in all.keys.sorted() {
            passed += all[tenths] ?? 0
            if passed >= wanted { return Milliseconds(tenths * 100) }
        }
        return nil
    }

    mutating func note(delay: Milliseconds, _ duty: DutyState) {
        let tenths = (delay.count + 50) / 100
        delays[duty == .onMission ? 1 : 0][tenths, default: 0] += 1
    }
}

/// A time that an alert fired.
package struct FiredNotification: Equatable, Sendable {
    package var key: AlertKey
    package var start: Timestamp
    package var end: Timestamp
}
