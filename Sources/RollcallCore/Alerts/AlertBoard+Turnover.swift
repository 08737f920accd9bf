/// The board follows who leaves and who comes back while ResponderOffline fires. Source: R1.
extension AlertBoard {
    private static func key(_ region: [UInt8]) -> AlertKey {
        AlertKey(name: .responderOffline, subject: .region(region))
    }

    /// Somebody became OFFLINE in a region; `most` are remembered by name. False if it does not fire there.
    mutating func leave(
        _ absentee: Absentee, _ region: [UInt8], _ most: Int, _ receivers: [Receiver]
    ) -> Bool {
        change(region, receivers) { $0.leave(absentee, most: most) }
    }

    /// Somebody is not OFFLINE any more in a region, or not counted there; `most` are remembered by name.
    mutating func comeBack(
        _ absentee: Absentee, _ region: [UInt8], _ most: Int, _ receivers: [Receiver]
    ) {
        _ = change(region, receivers) { $0.comeBack(absentee, most: most) }
    }

    private mutating func change(
        _ region: [UInt8], _ receivers: [Receiver], _ body: (inout Turnover) -> Void
    ) -> Bool {
        guard let place = entries.index(forKey: Self.key(region)),
            entries.values[place].alert.state == .firing
        else { return false }
        // Most changes of a mass of them move nobody's next message.
        let isNews = entries.values[place].alert.isKnownWhole
        body(&entries.values[place].alert.turnover)
        if isNews { armRepeat(place, receivers) }
        return true
    }

    private mutating func armRepeat(
        _ place: Dictionary<AlertKey, Entry>.Index, _ receivers: [Receiver]
    ) {
        let due = entries.values[place].alert.nextNotification(receivers)
        guard entries.values[place].repeatAt != due else { return }
        entries.values[place].repeatAt = due
        guard due < .distantFuture else { return }
        repeats.push(.init(at: due, number: entries.values[place].serial))
        tidyRepeats()
    }

    /// Notes the numbers of now of one that fires, whether it is true or only kept firing.
    mutating func note(_ stats: AlertStats, of key: AlertKey) {
        guard key.name == .responderOffline, let place = entries.index(forKey: key) else { return }
        entries.values[place].alert.turnover.stats = stats
    }

    /// Notes the verdict of somebody's absence, of a gap that opened in a region.
    mutating func learn(_ verdict: GapVerdict, _ number: Int, _ region: [UInt8]) {
        guard let place = entries.index(forKey: Self.key(region)) else { return }
        entries.values[place].alert.turnover.learn(verdict, number)
    }

    /// Some are here no more: nobody names them any more.
    mutating func forgetMembers(_ numbers: Set<Int>) {
        for place in entries.values.indices where entries.keys[place].name == .responderOffline {
            entries.values[place].alert.turnover.forget(numbers)
            entries.values[place].alert.facts.forget(numbers)
        }
    }
}

extension Alert {
    /// The facts that its text states, without people who may be others by now (R1).
    package var presentFacts: AlertFacts {
        var present = facts
        if turnover.mark != Turnover.Mark() { present.dropPeople() }
        return present
    }

    /// True if a receiver was not told of all that changed among its people.
    func hasNews(for notified: NotifiedReceiver) -> Bool { notified.turnover != turnover.mark }

    /// True if somebody who was told of it knows all that has changed so far.
    fileprivate var isKnownWhole: Bool { notified.contains { !hasNews(for: $0) } }

    /// Notes that a message tells a receiver of all that has changed so far.
    mutating func settleTurnover(of receiver: [UInt8]) {
        guard let place = notified.firstIndex(where: { $0.receiver == receiver }) else { return }
        notified[place].turnover = turnover.mark
    }

    /// Returns what changed since a receiver was told last; nil if nothing did.
    func news(for notified: NotifiedReceiver?) -> TurnoverFacts? {
        guard let notified, hasNews(for: notified) else { return nil }
        return turnover.news(since: notified.turnover)
    }
}

/// A `TurnoverMark` holds an alert's turnover, behind the alerts of a checkpoint: only ResponderOffline
/// has one.
struct TurnoverMark {
    /// Of the alert, by its key.
    var alert = 0
    var turnover = Turnover()
    /// Of those who were told, in their order.
    var marks: [Turnover.Mark] = []
    var memberCauses: [GapCause] = []

    /// Returns what is to be kept of all of `alerts`.
    static func all(_ alerts: [(key: AlertKey, alert: Alert)]) -> [TurnoverMark] {
        alerts.enumerated().filter { $0.element.key.name == .responderOffline }
            .map { place, entry in
                TurnoverMark(
                    alert: place, turnover: entry.alert.turnover,
                    marks: entry.alert.notified.map(\.turnover),
                    memberCauses: entry.alert.facts.memberCauses)
            }
    }

    /// Takes it over into `alerts`; false if there is no such alert, or receiver.
    func put(into alerts: inout [(key: AlertKey, alert: Alert)]) -> Bool {
        guard alerts.indices.contains(alert), alerts[alert].alert.notified.count == marks.count
        else { return false }
        alerts[alert].alert.turnover = turnover
        for (place, mark) in marks.enumerated() {
            alerts[alert].alert.notified[place].turnover = mark
        }
        alerts[alert].alert.facts.memberCauses = memberCauses
        return true
    }

    mutating func code(_ archive: inout Archive) {
        archive.code(&alert)
        turnover.code(&archive)
        archive.code(&marks, empty: Turnover.Mark()) { $1.code(&$0) }
        archive.code(&memberCauses, empty: .unexplained) { $0.code(&$1) }
    }
}
