/// The search for firing alerts that somebody may have to be told of, without a look at the others,
/// however many fire. Source: A6 to A8, §19.
extension AlertBoard {
    /// Entries of `repeats` that are out of date, at most, beside as many as there are alerts.
    private static let repeatsSlack = 64

    /// Returns the earliest instant at which time alone makes somebody be told again.
    mutating func nextRepeat() -> RunningTime {
        while let first = repeats.first {
            if isTrue(first) { return first.at }
            _ = repeats.popFirst()
        }
        return .distantFuture
    }

    /// Takes the keys of which somebody is to be told again.
    mutating func takeRepeats(_ now: RunningTime) -> [AlertKey] {
        var due: [AlertKey] = []
        while let first = repeats.first, first.at <= now {
            _ = repeats.popFirst()
            guard let key = keys[first.number], isTrue(first) else { continue }
            entries[key]?.repeatAt = .distantFuture
            due.append(key)
        }
        return due
    }

    private func isTrue(_ entry: DeadlineQueue<RunningTime>.Entry) -> Bool {
        keys[entry.number].map { entries[$0]?.repeatAt == entry.at } ?? false
    }

    /// Keeps what became of telling one that fires; somebody is to be told again at `repeatAt`.
    mutating func note(_ key: AlertKey, _ alert: Alert, repeatAt: RunningTime) {
        guard let place = entries.index(forKey: key) else { return }
        entries.values[place].alert = alert
        if !alert.muted.isEmpty {
            muted.insert(key)
        } else if !muted.isEmpty {
            muted.remove(key)
        }
        guard entries.values[place].repeatAt != repeatAt else { return }
        entries.values[place].repeatAt = repeatAt
        guard repeatAt < .distantFuture else { return }
        repeats.push(.init(at: repeatAt, number: entries.values[place].serial))
        tidyRepeats()
    }

    /// Lets go of entries that are out of date, once there are too many of them.
    mutating func tidyRepeats() { if hasTooManyRepeats { armRepeatsAgain() } }

    private var hasTooManyRepeats: Bool { repeats.count > 2 * entries.count + Self.repeatsSlack }

    private mutating func armRepeatsAgain() {
        repeats.removeAll()
        for entry in entries.values where entry.repeatAt < .distantFuture {
            repeats.push(.init(at: entry.repeatAt, number: entry.serial))
        }
    }

    /// Whoever was told is told again as `receivers` ask for it now.
    mutating func armRepeats(_ receivers: [Receiver]) {
        for place in entries.values.indices where entries.values[place].alert.state == .firing {
            entries.values[place].repeatAt = entries.values[place].alert.nextNotification(receivers)
        }
        armRepeatsAgain()
    }

    /// Takes over from the store that a storm has an alert since an instant, or has left it out for
    /// `reason` (J4).
    mutating func awaitStorm(
        _ receiver: [UInt8], of key: AlertKey, _ reason: MuteReason, since: RunningTime? = nil
    ) {
        guard var alert = entries[key]?.alert,
            let place = alert.notified.firstIndex(where: { $0.receiver == receiver }),
            alert.notified[place].storm != 0
        else { return }
        if let since { alert.notified[place].at = since }
        _ = alert.mute(receiver, reason)
        entries[key]?.alert = alert
        muted.insert(key)
    }

    /// Takes over from the store that a message of a storm told of an alert (J4).
    mutating func stormNotified(_ receiver: [UInt8], of key: AlertKey, at instant: RunningTime) {
        guard var alert = entries[key]?.alert,
            alert.muted.contains(where: { $0.receiver == receiver && $0.reason.isStorm })
        else { return }
        _ = alert.stormNotified(receiver, at: instant)
        entries[key]?.alert = alert
        if alert.muted.isEmpty { muted.remove(key) }
    }

    /// Returns, in words, what does not hold of what is known without a look at all alerts.
    func brokenInvariants(_ receivers: [Receiver]) -> [String] {
        var broken: [String] = []
        var anew = self
        anew.armRepeats(receivers)
        for (key, entry) in entries {
            let name = "\(key.name.word) of \(String(decoding: key.subject.name, as: UTF8.self))"
            if entry.repeatAt != anew.entries[key]?.repeatAt {
                broken.append("\(name): it is known when it is told again")
            }
            if muted.contains(key) == entry.alert.muted.isEmpty {
                broken.append("\(name): it is known whether it is muted")
            }
            if aboutRollcall.contains(key) != key.name.isAboutRollcall {
                broken.append("\(name): it is known what it is about")
            }
        }
        if untaken != triggersFound {
            broken.append("it is known which triggers nobody took")
        }
        if muted.count + aboutRollcall.count > 2 * entries.count || hasTooManyRepeats {
            broken.append("what is over is let go of")
        }
        return broken
    }

    /// The keys of those that fire, in no order.
    var firing: [AlertKey] { entries.compactMap { $0.value.alert.state == .firing ? $0.key : nil } }
}
