import RollcallTools

/// A simulated fleet with everything around it: phones, backends, disk, host and operator.
///
/// It runs in virtual time from one planned happening to the next and writes down what reaches
/// Rollcall. Everything is decided by the seed alone. First come faults, then everything heals.
struct World {
    /// Lines of the faulty part at most.
    private static let faultLinesMax = 440
    /// 2026-11-21T03:00:00Z.
    private static let wallStartBase: Int64 = 1_795_230_000_000

    /// What the story is named by.
    let seed: UInt64
    /// The only source of chance.
    var dice: Dice
    /// Chance for what nudges depend on: nothing else is another thing because of them.
    var nudgeDice: Dice
    /// Chance for who is told, likewise.
    var noticeDice: Dice
    /// Chance for what is known of clocks, likewise.
    var clockDice: Dice
    /// Chance for what people do about incidents and each other, likewise.
    var actDice: Dice
    /// Which faults there are.
    var faults: WorldFaults
    /// The settings in force.
    var policy = StoryPolicy()
    private var firstPolicy = StoryPolicy()
    /// Expected intervals shorter than this would give too many lines for the size of the fleet.
    var expectedMin: Int64 = 1000

    /// Milliseconds since the story began, never stepping.
    private(set) var now: Int64 = 0
    private var wallStart: Int64 = 0
    /// Sum of the wall's steps.
    private(set) var steps: Int64 = 0
    /// What comes next.
    var agenda = Agenda()
    /// The greatest factor of any settings so far.
    private(set) var factorSeen = 1.0
    /// When healing begins.
    var faultsEnd: Int64 = 0
    private var linesWanted = 0

    /// The people and what they carry.
    var phones: [Phone] = []
    /// The number of a phone by its person's id.
    var phoneNumbers: [String: Int] = [:]
    /// Where the people work at first.
    private(set) var regions = ["north", "south", "default"]
    /// Who forwards.
    var backends: [Backend] = []
    /// The machine that Rollcall runs on.
    var host = Host()
    /// The second part; nil while there are faults.
    var healing: Healing?
    /// Transitions named so far.
    var transitionCount = 0

    private(set) var lines: [StoryLine] = []
    private var marks: Set<String> = []
    private var hasEnded = false

    /// The world of `seed`.
    init(seed: UInt64) {
        self.seed = seed
        dice = Dice(seed: seed)
        nudgeDice = Dice(seed: seed ^ 0x4E_0D6E)
        noticeDice = Dice(seed: seed ^ 0x70_11D)
        clockDice = Dice(seed: seed ^ 0xC1_0C5)
        actDice = Dice(seed: seed ^ 0xAC_7)
        faults = WorldFaults(&dice)
    }

    /// The host's wall.
    var wall: Int64 { wallStart + now + steps }

    /// What every clock should show.
    var trueWall: Int64 { wallStart + now }

    /// The instant of the last line.
    private(set) var lastLineAt: Int64 = 0

    // MARK: - Running

    /// Lets the world happen once, from the beginning.
    func run() -> (story: Story, truth: WorldTruth) {
        var world = self
        world.begin()
        while !world.hasEnded, let (at, happening) = world.agenda.next() {
            if world.healing == nil, at >= world.faultsEnd || world.lines.count >= world.linesWanted
            {
                world.now = max(world.now, min(at, world.faultsEnd))
                world.heal()
                continue
            }
            world.now = at
            world.act(beside: happening)
            world.happen(happening)
            world.act(beside: happening)
        }
        var story = Story(seed: seed, policy: world.firstPolicy, lines: world.lines)
        BlindTies.remove(from: &story)
        return (story, world.truth())
    }

    private mutating func begin() {
        let size = dice.pick([1, 1, 2, 3, 3, 4, 5, 6, 8, 12, 20, 24, 30])
        expectedMin = max(1000, Int64(size) * 400)
        policy = .drawn(&dice, faults, expectedMin: expectedMin)
        if nudgeDice.chance(850) { policy.nudges = drawnNudges(policy) }
        if noticeDice.chance(850) { policy.receivers = drawnReceivers() }
        firstPolicy = policy
        factorSeen = policy.factorMax
        wallStart = Self.wallStartBase + dice.number(-3_600_000...3_600_000)
        if dice.chance(250) { wallStart -= wallStart % 1000 }
        if dice.chance(500) { regions = dice.pick([["north"], ["default"], ["north", "south"]]) }
        makeBackends()
        for number in 0..<size { enrol(number, of: size) }
        linesWanted = Int(dice.number(110...Int64(Self.faultLinesMax)))
        let span = Int64(linesWanted) * millisecondsPerLine * 5 / 4
        faultsEnd = min(max(span, 30_000), 12 * 3_600_000)
        for number in phones.indices where !phones[number].isDead {
            plan(.report(phone: number), in: dice.number(0...interval(of: number)))
        }
        if dice.chance(300) { emit(.start) }
        beginBeating()
        beginMeasuring()
        beginNudging()
        beginTelling()
        beginActing()
        for fault in Fault.allCases where fault.strikes && faults.has(fault) {
            let span = max(1, faultsEnd / (faults.rate * fault.weight + 1))
            plan(.strike(fault), in: dice.number(0...span * 2))
        }
    }

    /// How seldom lines come, by the intervals that the profiles promise.
    private var millisecondsPerLine: Int64 {
        var perHour: Int64 = 1
        for phone in phones where !phone.isDead {
            perHour += 3_600_000 / max(1, policy.profile(phone.duty).expected)
        }
        if faults.has(.buffer) { perHour = perHour / 2 + 1 }
        return max(1, 3_600_000 / perHour)
    }

    private mutating func happen(_ happening: Happening) {
        switch happening {
        case .report(let phone): report(phone)
        case .retry(let phone): retry(phone)
        case .revive(let phone): revive(phone)
        case .comeback(let phone, let way): comeBack(phone, way)
        case .flap(let phone, let left): flap(phone, left)
        case .remains(let phone, let updates):
            if !phones[phone].isDead { hand(batch(of: phone, updates)) }
        case .arrive(let parcel): arrive(parcel)
        case .flush(let backend): flush(backend)
        case .beat(let backend): beat(backend)
        case .measure(let backend): measure(backend)
        case .resume: resume()
        case .storeWorks: storeWorks()
        case .edge(let phone): edge(phone)
        case .nudging: changeNudges()
        case .telling: changeTelling()
        case .acting: actAgain()
        case .asking(let phone, let leaps): askAgain(for: phone, leaps: leaps)
        case .slot: reportTogether()
        case .truth: tellTruth()
        case .end: end()
        case .once(let fault): strike(fault)
        case .strike(let fault):
            strike(fault)
            let span = max(1, faultsEnd / (faults.rate * fault.weight + 1))
            plan(.strike(fault), in: dice.number(span / 2...span * 2))
        }
    }

    private mutating func strike(_ fault: Fault) {
        switch fault {
        case .opinion: opine()
        case .mass: declareMass()
        case .fact: tellFact()
        case .roster: sendRoster()
        case .erase: eraseSomebody()
        case .outage: loseBackend()
        case .store: failStore()
        case .crash: crash()
        case .crashLoop: crashInLoop()
        case .stop: stop()
        case .suspend: suspend()
        case .overload: overload()
        case .clockStep: stepClock()
        case .turn: turn()
        case .policy: changePolicy()
        case .rules: changeRules()
        case .flap: beginFlapping()
        case .staffing: changeStaff()
        case .edge: seekEdge()
        default: strikePhone(fault)
        }
    }

    private mutating func end() {
        let distance = now - lastLineAt
        if distance > 0 {
            // A turn by its own distance would mean a suspension.
            emit(distance <= 10_000 ? .turn(lateMilliseconds: nil) : .store(isFailing: false))
        }
        hasEnded = true
    }

    // MARK: - Planning and writing

    /// Plans `happening`, `delay` milliseconds from now.
    mutating func plan(_ happening: Happening, in delay: Int64) {
        agenda.plan(happening, at: rounded(now + max(0, delay)))
    }

    /// `instant`, on the world's grid if it has one.
    private func rounded(_ instant: Int64) -> Int64 {
        faults.usesWholeSeconds ? max(now, (instant + 500) / 1000 * 1000) : instant
    }

    /// Writes a line; the world remembers what the host knows by it.
    mutating func emit(_ event: StoryEvent, source: String? = nil) {
        if case .clock(let step) = event { steps += step }
        lines.append(StoryLine(at: wall, source: source, event: event))
        lastLineAt = now
        switch event {
        case .batch(let items):
            for item in items { noteContact(item) }
        case .responder(let items):
            for item in items { note(item.responderID) { $0.isErased = false } }
        case .erase(let id):
            note(id) {
                $0.isErased = true
                $0.contactAt = nil
            }
        case .policy(let new):
            policy = new
            factorSeen = max(factorSeen, new.factorMax)
        default: break
        }
    }

    private mutating func noteContact(_ item: BatchItem) {
        let heard = now - max(0, wall - (item.receivedAt ?? wall))
        note(item.responderID) { $0.contactAt = max($0.contactAt ?? heard, heard) }
    }

    private mutating func note(_ id: String, _ change: (inout Phone) -> Void) {
        guard let number = phoneNumbers[id] else { return }
        change(&phones[number])
    }

    /// Notes that the story contains a rare situation.
    mutating func mark(_ name: String) { marks.insert(name) }

    private func truth() -> WorldTruth {
        let people = phones.map { phone in
            WorldTruth.Person(
                id: phone.id, isAlive: !phone.isDead,
                isExpected: phone.isExpected,
                lastReportAt: phone.reportedAt.map { wallStart + $0 + steps })
        }
        return WorldTruth(
            healsAt: wallStart + (healing?.healsAt ?? 0) + steps,
            endsAt: wallStart + now + steps, phones: people, marks: marks,
            fleetMilliseconds: now * Int64(phones.count { !$0.isGhost }))
    }
}
