import RollcallCore

/// A story told to one engine, and to several cells with a fleet cell over them: both decide the same.
/// Source: K8.
///
/// On the way two of the cells are split (K6), and nobody is the wiser. All have one clock, and what a gateway does is done here: items go to their person's cell, signs of life
/// to all. Left out by K8 are: nudges, the server's word for worse (L7), a feed that is suspected (B3),
/// ResponderOffline, which each cell decides of its own people, and the moment at which somebody who is
/// silent already is known to be one of a mass (C1).
struct CellTrial {
    fileprivate static let summaryEvery = Milliseconds.seconds(14)

    private var whole: StoryEngine
    private var cells: [StoryEngine]
    /// Whose people are whose; a new cell's name comes behind all others, so that places are those in `cells`.
    private var map: CellMap
    private var splits = 0
    private var isToSplit = false
    private var fleet: StoryEngine
    private var positions: Int64 = 0
    private var last = RunningTime.distantPast
    private var line = 0
    private var decisions = 0
    private var told = Decided()
    private var heard = Decided()
    private var masses: [FleetMass] = []
    private var suspicions = CellSuspicions()
    /// Observed time when it was looked at last, and since when nothing was seen then.
    private var seen = (now: ObservedTime.distantPast, onset: RunningTime?.none)
    /// The observed time to which it was set back last.
    private var setBackTo = ObservedTime.distantPast
    /// The decisions of one side, as they are compared.
    private struct Decided {
        /// Everybody's, each person's in their order.
        var people: [String: [StoryDecision]] = [:]
        /// Those of the whole fleet, in their order.
        var fleet: [StoryDecision] = []
    }

    private init(_ story: Story, cells count: Int) {
        let policy = Policy(story.policy).compared
        whole = StoryEngine(policy, .whole)
        cells = (0..<count).map { _ in StoryEngine(policy, .cell) }
        fleet = StoryEngine(policy, .fleet)
        guard let first = CellMap(first: (0..<count).map { Self.cell($0) }) else {
            preconditionFailure("so few cells have a map")
        }
        map = first
    }

    /// Runs `story` to its end in so many cells; the decisions that were compared, and the differences that
    /// K8 allows. Errors: the first that it does not allow.
    static func run(
        _ story: Story, cells count: Int
    ) throws(Failure) -> (decisions: Int, differences: [String: Int]) {
        var trial = CellTrial(story, cells: count)
        let instants = story.instants
        for (place, line) in story.lines.enumerated() {
            trial.line = place
            trial.isToSplit =
                trial.splits < 2 && (trial.splits + 1) * story.lines.count / 3 <= place
            try trial.fold(line, at: RunningTime(milliseconds: instants[place]))
        }
        trial.settle()
        trial.exchange(through: trial.last)
        trial.close()
        try trial.compare()
        for engine in [trial.fleet.engine] + trial.cells.map(\.engine) {
            for broken in engine.brokenInvariants() {
                throw Failure(line: trial.line, check: "cells", detail: broken)
            }
        }
        return (trial.decisions, trial.suspicions.differences)
    }

    // MARK: - Telling

    private mutating func fold(_ line: StoryLine, at instant: RunningTime) throws(Failure) {
        if last == .distantPast {
            // The fleet cell has heard of all of them.
            _ = fleet.engine.fold(.cells(map), at: instant)
            exchange(through: instant)
        } else if instant > last {
            let passes = !line.mayBeUnseen(since: last, at: instant)
            settle()
            if passes { pass(before: instant) } else { exchange(through: last) }
            close()
            try compare()
            // Where time that passed may be unseen it has not come yet.
            if isToSplit, passes { split(at: instant) }
        }
        last = instant
        let event = Event(line)
        switch event {
        case .items(let list, let source): deal(list, from: source, at: instant)
        case .roster(let list, let source, let terms): deal(list, source, terms, at: instant)
        case .erase(.id(let id), let source):
            // What was decided before must be told while the name is known.
            arrive(at: instant)
            collect()
            _ = whole.engine.fold(event, at: instant)
            let theirs = self.place(of: id)
            for place in cells.indices where place != theirs {
                _ = cells[place].engine.fold(.items(ItemList(), source: source), at: instant)
            }
            _ = cells[theirs].engine.fold(event, at: instant)
            _ = fleet.engine.fold(.items(ItemList(), source: source), at: instant)
        case .silence, .take:
            _ = whole.engine.fold(event, at: instant)
            _ = fleet.engine.fold(event, at: instant)
            for place in cells.indices { cells[place].engine.arrive(at: instant) }
        case .policy(let policy):
            tell(instant) { role in .policy(policy.compared.with(role)) }
        case .ask(_, let source): tell(instant) { _ in .items(ItemList(), source: source) }
        default: tell(instant) { _ in event }
        }
        collect()
    }

    private mutating func tell(_ instant: RunningTime, _ event: (FleetRole) -> Event) {
        _ = whole.engine.fold(event(.whole), at: instant)
        for place in cells.indices { _ = cells[place].engine.fold(event(.cell), at: instant) }
        _ = fleet.engine.fold(event(.fleet), at: instant)
    }

    private func place(of id: some Sequence<UInt8>) -> Int {
        Int(map.owners[PersonSlot.of(Array(id))])
    }

    private static func cell(_ place: Int) -> CellMap.Cell {
        CellMap.Cell(
            name: [UInt8(ascii: "a") + UInt8(place)], urls: [Array("http://localhost".utf8)])
    }

    /// A cell gives half of its slots to a new one, as both halves and the fleet cell fold it.
    private mutating func split(at instant: RunningTime) {
        arrive(at: instant)
        collect()
        let (place, new) = (splits % cells.count, Self.cell(cells.count))
        splits += 1
        let old = Self.cell(place).name
        guard let next = map.splitting(old, into: new) else {
            preconditionFailure("a cell has slots to give")
        }
        var copy = cells[place]
        for (place, own) in map.cells.enumerated() {
            let event: Event =
                own.name == old ? .split(CellSplit(next, own: old, isNew: false)) : .cells(next)
            _ = cells[place].engine.fold(event, at: instant)
        }
        _ = copy.engine.fold(.split(CellSplit(next, own: new.name, isNew: true)), at: instant)
        cells.append(copy)
        _ = fleet.engine.fold(.cells(next), at: instant)
        map = next
    }

    /// The items of each cell, in their order.
    private func split(_ list: ItemList) -> [ItemList] {
        var parts = cells.map { _ in ItemList() }
        for index in 0..<list.count {
            guard let item = list.item(index) else { continue }
            let place = place(of: list.bytes[item.responderID.indices])
            parts[place].bytes += list.bytes[list.range(of: index)]
            parts[place].ends.append(parts[place].bytes.count)
        }
        return parts
    }

    private mutating func deal(
        _ list: ItemList, from source: [UInt8], at instant: RunningTime
    ) {
        _ = whole.engine.fold(.items(list, source: source), at: instant)
        for (place, part) in split(list).enumerated() {
            _ = cells[place].engine.fold(.items(part, source: source), at: instant)
        }
        _ = fleet.engine.fold(.items(ItemList(), source: source), at: instant)
    }

    /// A roster is one for all cells: what is refused of the whole is taken nowhere.
    private mutating func deal(
        _ list: ItemList, _ source: [UInt8], _ terms: RosterTerms, at instant: RunningTime
    ) {
        let receipt = whole.engine.fold(.roster(list, source: source, terms), at: instant)
        let isTaken = terms.hasMore ? receipt.rosterFault == nil : receipt.retired != nil
        var freely = terms
        freely.allowsShrink = true
        for (place, part) in split(list).enumerated() {
            let answer = cells[place].engine.fold(
                isTaken
                    ? .roster(part, source: source, freely) : .items(ItemList(), source: source),
                at: instant)
            // A gateway refuses one with an entry that is rejected. One watch takes the rest of it.
            if isTaken, !terms.hasMore, answer.retired == nil {
                _ = cells[place].engine.fold(
                    .roster(ItemList(), source: source, freely), at: instant)
            }
        }
        _ = fleet.engine.fold(.items(ItemList(), source: source), at: instant)
    }

    // MARK: - Time

    private mutating func arrive(at instant: RunningTime) {
        whole.engine.arrive(at: instant)
        for place in cells.indices { cells[place].engine.arrive(at: instant) }
        fleet.engine.arrive(at: instant)
    }

    /// Closes the last instant in the whole and in the cells.
    private mutating func settle() {
        whole.engine.settle()
        for place in cells.indices { cells[place].engine.settle() }
    }

    /// Passes what falls due before another instant; the cells say something every few seconds.
    private mutating func pass(before instant: RunningTime) {
        whole.engine.pass(before: instant)
        var next = last
        while next < instant {
            next = min(next + Self.summaryEvery, instant)
            for place in cells.indices { cells[place].engine.pass(before: next) }
            exchange(through: next - Milliseconds(1))
        }
    }

    /// Every cell says what it has to say, and the fleet cell hears it.
    private mutating func exchange(through instant: RunningTime) {
        positions += 1
        let summaries = cells.indices.map { place in
            let summary = cells[place].engine.takeSummary(
                of: Self.cell(place).name, position: positions, through: instant)
            // As it goes over the wire and into the journal.
            precondition(Event.summaries([summary]).isCredible, "what a cell says can be")
            guard let copy = Summary.list(journalBytes: Summary.journalBytes(of: [summary]))?.first
            else { preconditionFailure("a summary can be read") }
            return copy
        }
        _ = fleet.engine.fold(.summaries(summaries), at: instant)
        let news = fleet.engine.masses.masses.filter { mass in
            !masses.contains {
                $0.number == mass.number && $0.members == mass.members && $0.to == mass.to
            }
        }
        masses = fleet.engine.masses.masses
        if news.isEmpty { return }
        precondition(Event.masses(news).isCredible, "what the fleet cell decides can be")
        for place in cells.indices {
            _ = cells[place].engine.fold(.masses(news), at: instant)
        }
    }

    private mutating func close() {
        fleet.engine.settle()
        collect()
    }

    // MARK: - Comparing

    private mutating func collect() {
        collect(whole.takeDecisions())
        for place in cells.indices { take(cells[place].takeDecisions(), of: place) }
        for decision in fleet.takeDecisions() where decision.isOfFleet {
            heard.fleet.append(decision)
        }
    }

    private mutating func collect(_ decisions: [StoryDecision]) {
        for decision in decisions {
            if let id = decision.person { told.people[id, default: []].append(decision) }
            if decision.isOfFleet { told.fleet.append(decision) }
        }
    }

    private mutating func take(_ decisions: [StoryDecision], of cell: Int) {
        for decision in decisions {
            guard let id = decision.person else { continue }
            precondition(place(of: id.utf8) == cell, "everybody is in one cell")
            heard.people[id, default: []].append(decision)
        }
    }

    private mutating func compare() throws(Failure) {
        let pairs = zip(told.fleet, heard.fleet)
        if let (a, b) = pairs.first(where: { $0 != $1 }) {
            throw Failure(line: line, check: "K8", detail: "one engine \(a), cells \(b)")
        }
        if told.fleet.count != heard.fleet.count {
            let more = (told.fleet.dropFirst(heard.fleet.count).first).map { "one engine \($0)" }
            let other = heard.fleet.dropFirst(told.fleet.count).first.map { "cells \($0)" }
            throw Failure(line: line, check: "K8", detail: more ?? other ?? "")
        }
        for id in Set(told.people.keys).union(heard.people.keys).sorted() {
            let (a, b) = (told.people[id] ?? [], heard.people[id] ?? [])
            suspicions.follow(id, a, b)
            if a == b { continue }
            guard (a + b).contains(where: \.isOfMass),
                a.compactMap(\.withoutSuspicion) == b.compactMap(\.withoutSuspicion)
            else {
                throw Failure(line: line, check: "K8", detail: "one engine \(a), cells \(b)")
            }
        }
        let clock = whole.engine.clock
        let now = clock.observedNow
        if now < seen.now || clock.onset != nil && clock.onset != seen.onset { setBackTo = now }
        seen = (now, clock.onset)
        let isSetBack = now >= setBackTo && now - setBackTo <= .seconds(60)
        if let fault = suspicions.settle(at: clock.wallNow.milliseconds, isSetBack: isSetBack) {
            throw Failure(line: line, check: "K8", detail: fault)
        }
        decisions += told.fleet.count + told.people.values.reduce(0) { $0 + $1.count }
        (told, heard) = (Decided(), Decided())
    }
}

extension StoryDecision {
    /// The person whom it is about; nil of what is about many, and of what is not compared.
    fileprivate var person: String? {
        switch self {
        case .status(_, let id, _, _, _), .gap(_, let id, _, _, _): id
        default: nil
        }
    }

    /// True of what the fleet cell decides.
    fileprivate var isOfFleet: Bool {
        switch self {
        case .alert, .notice, .mute, .blind: true
        default: false
        }
    }

    /// True if many who fell out of contact together are a reason.
    fileprivate var isOfMass: Bool {
        guard case .gap(_, _, _, let suspected, _) = self else { return false }
        return suspected == "mass_gap"
    }

    /// The same whatever was suspected; nil of what only says that.
    fileprivate var withoutSuspicion: StoryDecision? {
        guard case .gap(let at, let id, let state, _, let verdict) = self else { return self }
        if state == "judged" { return nil }
        return .gap(at: at, responderID: id, state: state, suspected: "", verdict: verdict)
    }
}

/// The silent whom one engine puts down to a mass, until the cells do: the fleet cell says so a moment later.
private struct CellSuspicions {
    /// The last that was said of somebody's gap.
    private struct Last {
        var suspected = ""
        var isOver = false

        mutating func take(_ decisions: [StoryDecision]) {
            for case .gap(_, _, let state, let suspected, _) in decisions {
                self = Last(suspected: suspected, isOver: state == "closed" || state == "verdict")
            }
        }

        var isOfMass: Bool { suspected == "mass_gap" }
    }

    private var last: [String: (whole: Last, cells: Last)] = [:]
    /// Those of whom the cells have not said the same yet, and since when.
    private var owed: [String: Int64] = [:]
    /// Those of whom the cells may say something else until their gap is over.
    private var excused: Set<String> = []
    /// The kinds of difference that K8 allows, as often as they were met.
    private(set) var differences: [String: Int] = [:]

    mutating func follow(_ id: String, _ whole: [StoryDecision], _ cells: [StoryDecision]) {
        last[id, default: (Last(), Last())].whole.take(whole)
        last[id, default: (Last(), Last())].cells.take(cells)
    }

    /// Looks at everybody of whom something else is said; returns the first difference that is none of those
    /// that are allowed.
    mutating func settle(at now: Int64, isSetBack: Bool) -> String? {
        for (id, (whole, cells)) in last.sorted(by: { $0.key < $1.key }) {
            if whole.isOver { last[id] = nil }
            if excused.contains(id) {
                if whole.isOver { excused.remove(id) }
                continue
            }
            guard whole.suspected != cells.suspected else {
                if owed.removeValue(forKey: id) != nil { note("said a moment later (C1)") }
                continue
            }
            // One engine looked at whoever was too old by then; their own cell did not, and says them again.
            if isSetBack, cells.isOfMass, !whole.isOfMass {
                note("not too old any more since time was set back (B1)")
                if !whole.isOver { excused.insert(id) }
                continue
            }
            let since = owed[id] ?? now
            guard whole.isOfMass, now - since <= 2 * CellTrial.summaryEvery.count else {
                return "\(id): one engine suspects \(whole.suspected), cells \(cells.suspected)"
            }
            owed[id] = since
            guard whole.isOver else { continue }
            note("over before it was said (C1)")
            owed[id] = nil
        }
        return nil
    }

    private mutating func note(_ kind: String) { differences[kind, default: 0] += 1 }
}

extension Policy {
    /// Without what is each cell's.
    fileprivate var compared: Policy {
        var policy = self
        policy.serverTransitions = .observe
        policy.feedMinActive = .max
        policy.alerts.responderOffline.isEnabled = false
        policy.nudges.mode = .disabled
        policy.learnsGaps = false
        return policy
    }

    fileprivate func with(_ role: FleetRole) -> Policy {
        var policy = self
        policy.role = role
        return policy
    }
}

extension StoryEngine {
    fileprivate init(_ policy: Policy, _ role: FleetRole) {
        self.init(engine: Engine(policy: policy.with(role)))
    }
}

extension StoryLine {
    /// True if nothing may have been seen since an instant, so that nothing was decided in between either.
    fileprivate func mayBeUnseen(since last: RunningTime, at instant: RunningTime) -> Bool {
        let lateFrom = Engine.turnEvery.count + Engine.turnLateAfter.count
        return switch event {
        case .start: true
        case .turn(let lateness?): Milliseconds(lateness) > Engine.turnLateAfter
        case .turn(nil): (instant - last).count > lateFrom
        default: false
        }
    }
}
