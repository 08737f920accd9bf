/// Somebody's changes between ONLINE and OFFLINE. Source: A3, F28.
struct Flapping: Equatable, Sendable {
    /// Changes remembered at most: settings can ask for no more. What today's rules need is not enough:
    /// tomorrow's may ask for more of them.
    package static let changesMax = 100

    /// The newest changes, oldest first.
    var changes: [ObservedTime] = []
    /// True from `flappingChanges` on until below `flappingClearBelow`.
    var isFlapping = false
    /// The entry in the queue of timers that counts.
    var armed = ObservedTime.distantPast

    /// Notes a change and lets go of those that no longer count.
    mutating func change(at now: ObservedTime, _ rules: AlertRules) {
        changes.append(now)
        if changes.count > Self.changesMax { changes.removeFirst() }
        evaluate(now, rules)
    }

    /// Evaluates by the changes within the window.
    mutating func evaluate(_ now: ObservedTime, _ rules: AlertRules) {
        changes.removeAll { now - $0 >= rules.flappingWindow }
        isFlapping =
            changes.count >= rules.flappingChanges
            || isFlapping && changes.count >= rules.flappingClearBelow
    }

    /// Returns the earliest instant at which time alone ends the flapping, or leaves nothing to
    /// remember.
    func due(_ rules: AlertRules) -> ObservedTime {
        guard let oldest = changes.first else { return .distantPast }
        return oldest + rules.flappingWindow
    }

    mutating func clampInstants(to now: ObservedTime) {
        for index in changes.indices { changes[index] = min(changes[index], now) }
    }

    mutating func code(_ archive: inout Archive) {
        archive.code(&changes, empty: .distantPast) { $0.code(&$1) }
        archive.code(&isFlapping)
        archive.code(&armed)
    }
}
