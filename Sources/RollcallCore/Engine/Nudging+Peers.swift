/// The company that somebody of a cell has in other cells: it is asked for when a nudge depends on it.
/// Source: K3.
extension Nudging {
    /// The answer of the other cells, about one person.
    struct PeerAnswer: Equatable, Sendable {
        /// True if somebody of theirs is active in another cell.
        var isThere: Bool
        var at: RunningTime
    }

    /// An answer holds for so long.
    static let peerAnswerHeldFor = Milliseconds.seconds(30)
    /// Whoever has no company anywhere is asked about again so much later: nobody tells us when it comes.
    static let soloHeldFor = Milliseconds.seconds(300)
    /// An answer that comes so long after its question is none.
    private static let askedFor = Milliseconds.seconds(30)
    /// People without an answer are asked about again so much later.
    private static let askedAgainAfter = Milliseconds.seconds(10)
    /// Of those who wait for their turn, so many are asked about before it comes.
    private static let rowAskedMax = 300
    /// They are asked about again when the last word is so old.
    private static let rowHeldFor = Milliseconds.seconds(15)

    /// Returns whether somebody else of theirs is active, here or in another cell; nil while that is not
    /// known.
    func hasPeerAnywhere(
        _ person: Responder, _ number: Int, _ people: People, _ policy: Policy,
        _ clock: ObservationClock
    ) -> Bool? {
        if people.hasActivePeer(person, policy.nudges.peers) { return true }
        guard policy.role == .cell, person.circles != 0 || policy.nudges.peers == .circleOrRegion
        else { return false }
        guard let known = peerAnswers[UInt32(number)], clock.now - known.at < Self.peerAnswerHeldFor
        else { return nil }
        return known.isThere
    }

    /// Returns `solo` of somebody who has no company, and that it is not known yet if it is not.
    mutating func reasonOfPeers(
        _ person: Responder, _ number: Int, _ people: People, _ policy: Policy,
        _ clock: ObservationClock
    ) -> NudgeReason? {
        switch hasPeerAnywhere(person, number, people, policy, clock) {
        case true:
            wanted.remove(UInt32(number))
            return nil
        case false:
            wanted.remove(UInt32(number))
            return .solo
        case nil:
            wanted.insert(UInt32(number))
            return .pendingPeers
        }
    }

    /// Lets somebody be evaluated again who is held for want of company, or of knowing about it.
    mutating func awaitPeers(
        _ state: inout NudgeState, _ number: Int, _ reason: NudgeReason, _ clock: ObservationClock
    ) {
        if reason == .pendingPeers {
            wait(&state, number, until: clock.wallNow + Self.peerAnswerHeldFor)
        } else if reason == .solo, peerAnswers[UInt32(number)] != nil {
            wait(&state, number, until: clock.wallNow + Self.soloHeldFor)
        }
    }

    /// Takes what other cells said about people.
    mutating func takePeersElsewhere(
        _ numbers: [Int], isThere: Bool, _ roster: Roster, _ clock: ObservationClock
    ) {
        peerAnswers = peerAnswers.filter { clock.now - $0.value.at < Self.peerAnswerHeldFor }
        for number in numbers {
            peerAnswers[UInt32(number)] = PeerAnswer(isThere: isThere, at: clock.now)
            wanted.remove(UInt32(number))
            asked[UInt32(number)] = nil
            if roster[number].isStale { toEvaluate.append(UInt32(number)) }
        }
    }

    /// The answer about somebody does not hold any more.
    mutating func forgetPeersElsewhere(_ number: Int) {
        peerAnswers[UInt32(number)] = nil
        wanted.remove(UInt32(number))
        asked[UInt32(number)] = nil
    }

    /// Nothing of company is known, or wanted.
    mutating func forgetAllPeersElsewhere() {
        (peerAnswers, wanted, asked) = ([:], WantedRow(), [:])
    }

    /// Takes those about whom it is asked now, as long as there is room for them; whoever gets no answer
    /// comes again behind the others.
    mutating func takeWanted(_ now: RunningTime, _ hasRoom: (Int) -> Bool) {
        asked = asked.filter { now - $0.value < Self.askedFor }
        // Who was asked about just now may be answered still.
        let (asked, again) = (asked, Self.askedAgainAfter)
        let taken = wanted.takeTurn(
            while: { hasRoom(Int($0)) },
            passing: { number in asked[number].map { now - $0 < again } ?? false })
        for number in taken { self.asked[number] = now }
    }

    /// Lets those be asked about whose turn comes soon, or their nudge would wait once more. Who has an active
    /// peer here needs no answer.
    mutating func awaitTurns(_ people: People, _ peers: NudgeRules.Peers, _ now: RunningTime) {
        for number in row.suffix(Self.rowAskedMax)
        where (peerAnswers[number].map { now - $0.at >= Self.rowHeldFor } ?? true)
            && !people.hasActivePeer(people.roster[Int(number)], peers)
        { wanted.insert(number) }
    }

    /// Those about whom it was asked lately, and who wait still; by their numbers.
    func awaited(_ now: RunningTime) -> [Int] {
        asked.filter { now - $0.value < Self.askedFor && wanted.contains($0.key) }.keys.sorted()
            .map { Int($0) }
    }

    /// Codes what is known of company, which only cells have.
    mutating func codePeersElsewhere(_ archive: inout Archive) {
        var list = peerAnswers.keys.sorted().compactMap { number in
            peerAnswers[number].map { (number, $0) }
        }
        archive.code(&list, empty: (0, PeerAnswer(isThere: false, at: .distantPast))) {
            archive, entry in
            archive.code(&entry.0)
            archive.code(&entry.1.isThere)
            archive.code(&entry.1.at)
        }
        guard archive.isReading else { return }
        peerAnswers = Dictionary(list) { $1 }
    }
}

/// People who wait for something and are taken in turns. Source: K3.
struct WantedRow: Sendable {
    /// The place that each got when they came.
    private var members: [UInt32: Int] = [:]
    /// The first is the next; who does not wait any more, or came anew, is passed over.
    private var row: [(number: UInt32, place: Int)] = []
    private var next = 0

    init() {}

    var isEmpty: Bool { members.isEmpty }
    /// Places that are kept, of those who wait and of those who do not any more.
    var entries: Int { row.count }

    func contains(_ number: UInt32) -> Bool { members[number] != nil }

    /// Lets somebody wait, behind the others.
    mutating func insert(_ number: UInt32) {
        guard members[number] == nil else { return }
        // Nobody takes turns where it is only followed what another member leads.
        if row.count > 2 * members.count + 64 {
            row.removeAll { members[$0.number] != $0.place }
        }
        members[number] = next
        row.append((number, next))
        next += 1
    }

    /// Somebody waits no more.
    mutating func remove(_ number: UInt32) { members[number] = nil }

    /// Takes the next, as long as `isTaken`, but those that `isPassed` over, and lets all of them wait behind the
    /// others.
    mutating func takeTurn(
        while isTaken: (UInt32) -> Bool, passing isPassed: (UInt32) -> Bool = { _ in false }
    ) -> [UInt32] {
        var seen: [(number: UInt32, place: Int)] = []
        var taken: [UInt32] = []
        var count = 0
        for entry in row {
            if members[entry.number] == entry.place {
                if !isPassed(entry.number) {
                    guard isTaken(entry.number) else { break }
                    taken.append(entry.number)
                }
                seen.append(entry)
            }
            count += 1
        }
        row.removeFirst(count)
        row += seen
        return taken
    }
}

/// Source: K3.
extension Engine {
    /// Groups, and people, about whom a cell asks at once.
    private static let peerGroupsMax = 500

    /// Returns the circles and regions of which it has to be known whether somebody is active in another
    /// cell.
    package mutating func wantedPeerGroups() -> PeerGroups {
        var groups = PeerGroups()
        guard policy.role == .cell, !nudges.wanted.isEmpty || !nudges.row.isEmpty else {
            return groups
        }
        var (circles, regions) = (Set<[UInt8]>(), Set<[UInt8]>())
        var left = Self.peerGroupsMax
        let people = people
        nudges.awaitTurns(people, policy.nudges.peers, clock.now)
        nudges.takeWanted(clock.now) { number in
            guard left > 0, groups.count < Self.peerGroupsMax else { return false }
            left -= 1
            guard people.knows(number) else { return true }
            let names = people.circleNames(of: people.roster[number])
            groups.circles += names.filter { circles.insert($0).inserted }
            let region = people.regions[people.roster[number].region]
            if names.isEmpty, regions.insert(region).inserted { groups.regions.append(region) }
            return true
        }
        return groups
    }

    /// Returns those of some groups in which somebody is active here.
    package func active(of groups: PeerGroups) -> PeerGroups {
        var active = groups
        active.circles.removeAll { !people.hasActive(inCircle: $0) }
        active.regions.removeAll { !people.hasActive(inRegion: $0) }
        return active
    }

    /// Returns a call with the numbers of those who wait for it in the place of names.
    package func people(of call: PeersElsewhere) -> PeersElsewhere {
        guard case .groups(let active, let nobody) = call else { return call }
        let (circles, regions) = (Set(active.circles), Set(active.regions))
        let (emptyCircles, emptyRegions) = (Set(nobody.circles), Set(nobody.regions))
        var (accompanied, alone): ([Int], [Int]) = ([], [])
        for number in nudges.awaited(clock.now) where people.knows(number) {
            let names = people.circleNames(of: roster[number])
            let region = people.regions[roster[number].region]
            if names.isEmpty ? regions.contains(region) : names.contains(where: circles.contains) {
                accompanied.append(number)
            } else if names.isEmpty
                ? emptyRegions.contains(region) : names.allSatisfy(emptyCircles.contains)
            {
                alone.append(number)
            }
        }
        return .people(accompanied: accompanied, alone: alone)
    }

    /// Takes what the other cells said.
    mutating func take(_ call: PeersElsewhere, _ receipt: inout Receipt) {
        guard policy.role == .cell, case .people(let accompanied, let alone) = people(of: call)
        else { return }
        for (numbers, isThere) in [(accompanied, true), (alone, false)] {
            let known = numbers.filter { people.knows($0) }
            nudges.takePeersElsewhere(known, isThere: isThere, people.roster, clock)
            receipt.accepted += known.count
        }
    }
}

extension People {
    /// The circles that somebody names.
    fileprivate func circleNames(of person: Responder) -> [[UInt8]] {
        person.circles == 0 ? [] : CircleNames.names(circles[person.circles])
    }

    fileprivate func hasActive(inCircle name: [UInt8]) -> Bool {
        let circle = circles.known(CircleNames.pack([name]))
        return circle.map { groupCounts.active(inCircle: $0) > 0 } ?? false
    }

    fileprivate func hasActive(inRegion name: [UInt8]) -> Bool {
        regions.known(name).map { groupCounts.active(inRegion: $0) > 0 } ?? false
    }
}
