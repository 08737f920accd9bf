@testable import RollcallCore

/// A receiver of moods, settings that are read again, kills, and an oracle: for each attempt it goes
/// through all that happened and says from when on it may be made.
struct OutboxReloads {
    /// The last attempt of a message that is over.
    private struct Tried {
        var began: RunningTime
        var ended: RunningTime
        var verdict: OutboxVerdict
        var wish: Milliseconds
        var isKilled = false
        /// A start forgets waits of our own.
        var isForgotten = false
    }

    private static let receivers = [OutboxStage.receiver("oncall", .pagerduty)]
    private let times = OutboxTimes()
    private var dice: Seeded
    private var stage: OutboxStage
    private var incidents: Int64 = 0
    private var flying: (number: Int64, began: RunningTime)?
    private var tried: [Int64: Tried] = [:]
    /// The end of the last attempt of all, by what a start may know.
    private var lastEnd = RunningTime.distantPast
    /// Until then it wants to be left alone by whatever was tried.
    private var restUntil = RunningTime.distantPast
    private var reloads: [(at: RunningTime, change: EndpointChange)] = []
    private(set) var attempts = 0
    private(set) var faults: [String] = []

    init(seed: UInt64) {
        dice = Seeded(seed: seed)
        stage = OutboxStage(Self.receivers)
    }

    /// Something happens, and a turn after it.
    mutating func step() {
        switch Int.random(in: 0..<20, using: &dice) {
        case 0..<2:
            incidents += 1
            stage.decide(.fired, [incidents])
        case 2..<5: reload([.same, .secret, .place].randomElement(using: &dice) ?? .same)
        case 5: kill()
        case 6..<13 where flying != nil: end()
        case 13..<16: stage.wait(seconds: Int64.random(in: 1...90, using: &dice))
        default:
            let wait = Int64.random(in: 1...400, using: &dice)
            if flying == nil { _ = stage.waitForDue(seconds: wait) }
        }
        take(stage.turn())
        compare()
    }

    private mutating func take(_ lines: [String]) {
        for line in lines {
            let words = line.split(separator: " ")
            guard let number = Int64(words[0]) else { continue }
            guard words.last?.hasPrefix("#") == true else {
                tried[number] = nil
                continue
            }
            attempts += 1
            if let earliest = earliest(number), stage.now < earliest {
                faults.append("\(number) at \(stage.now), allowed from \(earliest) on")
            }
            if tried[number] != nil, stage.now < restUntil {
                faults.append("\(number) at \(stage.now), left alone until \(restUntil)")
            }
            flying = (number, stage.now)
        }
    }

    /// The first instant for the next attempt of a message; nil for its first one.
    private func earliest(_ number: Int64) -> RunningTime? {
        guard let last = tried[number], !last.isKilled else { return nil }
        let isRefused = last.verdict == .refused
        let probe = last.isForgotten ? Milliseconds(0) : times.retryMin.scaled(by: 0.8)
        let wait = isRefused ? times.refusedEvery : probe
        var earliest = last.ended + max(wait, last.wish)
        for reload in reloads where reload.at >= last.began {
            let from = max(reload.at, last.ended)
            let wish = last.ended + last.wish
            switch reload.change {
            case .place: earliest = min(earliest, max(from, last.ended + times.changedAfter))
            case .secret where isRefused:
                earliest = min(earliest, max(from, last.ended + times.changedAfter, wish))
            case .same where isRefused:
                earliest = min(earliest, max(from, last.ended + times.unchangedAfter, wish))
            case .same, .secret: break
            }
        }
        return earliest
    }

    private mutating func end() {
        guard let flying else { return }
        self.flying = nil
        let verdicts: [OutboxVerdict] = [.refused, .refused, .failed, .failed, .delivered]
        let verdict = verdicts.randomElement(using: &dice) ?? .failed
        // Of those who refuse nobody is asked to be left alone (`AttemptVerdicts`).
        let asks = verdict == .failed && Bool.random(using: &dice)
        let wish = asks ? Int64.random(in: 1...300, using: &dice) : 0
        tried[flying.number] = Tried(
            began: flying.began, ended: stage.now, verdict: verdict, wish: .seconds(wish))
        lastEnd = stage.now
        let isPlaceNew = reloads.contains { $0.at >= flying.began && $0.change == .place }
        restUntil = isPlaceNew ? .distantPast : stage.now + .seconds(wish)
        take(stage.result(flying.number, verdict, retryAfter: asks ? wish : nil))
    }

    private mutating func reload(_ change: EndpointChange) {
        let before = waits
        reloads.append((stage.now, change))
        if change == .place { restUntil = .distantPast }
        stage.reload(change)
        for (number, wait) in waits where wait > before[number] ?? wait {
            faults.append("\(number) comes later than before the reload")
        }
        // Whatever was refused is tried soon, unless the receiver fails meanwhile.
        let isRefused = stage.outbox.queues.contains { $0.open.contains { $0.state == .refused } }
        let isFailing = tried.values.contains { $0.ended == lastEnd && $0.verdict == .failed }
        guard flying == nil, isRefused, change == .place || !isFailing else { return }
        // What it asked for outlasts a start.
        let asked = tried.values.filter { $0.verdict == .failed }.map { $0.ended + $0.wish }.max()
        let soonest = max(
            times.soonest(change, now: stage.now, triedAt: lastEnd),
            change == .place ? .distantPast : asked ?? .distantPast)
        if stage.outbox.due() > soonest {
            faults.append("due at \(stage.outbox.due()), should be by \(soonest)")
        }
    }

    private var waits: [Int64: RunningTime] {
        var waits: [Int64: RunningTime] = [:]
        for message in stage.outbox.queues.flatMap(\.open) { waits[message.number] = message.next }
        return waits
    }

    private mutating func kill() {
        let isFlying = flying
        stage.restart(Self.receivers)
        for number in tried.keys { tried[number]?.isForgotten = true }
        (lastEnd, restUntil) = (stage.now, .distantPast)
        if let flying = isFlying {
            tried[flying.number] = Tried(
                began: flying.began, ended: stage.now, verdict: .failed, wish: .seconds(0),
                isKilled: true)
        }
        flying = nil
        stage.wait(seconds: Int64.random(in: 0...100, using: &dice))
        reload(.same)
    }

    /// What the store has after a turn is what is known.
    private mutating func compare() {
        for message in stage.outbox.queues.flatMap(\.open) {
            let row = stage.rows["\(message.number)/\(message.queue)"]
            // After a start what was being sent waits, which is stored with its next attempt.
            if row?.state == .sending, message.state == .waiting { continue }
            if row?.next != message.next || row?.state != message.state
                || row?.attempts != message.attempts
            {
                faults.append("\(message.number) is stored otherwise")
            }
        }
    }
}
