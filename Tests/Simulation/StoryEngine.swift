import RollcallCore

extension Story {
    /// The running time of each line: its wall without the steps so far, never before its
    /// predecessor's.
    var instants: [Int64] {
        var steps: Int64 = 0
        var last = Int64.min
        return lines.map { line in
            if case .clock(let step) = line.event { steps += step }
            last = max(last, line.at - steps)
            return last
        }
    }
}

/// The real engine, driven by a story as `rollcall replay` drives it.
struct StoryEngine {
    /// The engine under test.
    var engine: Engine
    private var last: RunningTime?
    private var steps: Int64 = 0
    private var lastNumber: Int64 = 0
    /// What is wrong with the numbers of decisions, the first that was seen.
    private(set) var brokenNumber: String?

    /// An engine that has seen nothing.
    init(policy: StoryPolicy) {
        self.init(engine: Engine(policy: Policy(policy)))
        engine.reportsUpdates = true
    }

    /// Any engine that has seen nothing.
    init(engine: Engine) { self.engine = engine }

    /// Closes earlier instants, folds `line`, and returns what was decided.
    mutating func fold(_ line: StoryLine) -> [StoryDecision] { fold(line, Event(line)) }

    /// The same with what the edge made of the line.
    mutating func fold(_ line: StoryLine, _ event: Event) -> [StoryDecision] {
        if case .clock(let step) = line.event { steps += step }
        let told = RunningTime(milliseconds: line.at - steps)
        let instant = last.map { max($0, told) } ?? told
        var decided: [StoryDecision] = []
        if let last, instant > last { engine.settle() }
        last = instant
        if case .erase = event {
            // What was decided before must be told while the name is known.
            engine.arrive(at: instant)
        }
        decided += takeDecisions()
        let receipt = engine.fold(event, at: instant)
        decided += takeDecisions()
        if let answer = StoryDecision(line, receipt, engine) { decided.append(answer) }
        return decided
    }

    /// Closes the last instant, and passes all up to another one.
    mutating func advance(to milliseconds: Int64) -> [StoryDecision] {
        engine.settle()
        let instant = RunningTime(milliseconds: milliseconds)
        engine.advance(to: instant)
        last = instant
        return takeDecisions()
    }

    /// Closes the last instant.
    mutating func finish() -> [StoryDecision] {
        engine.settle()
        return takeDecisions()
    }

    /// Everybody known, by id.
    func people() -> [StoryPerson] {
        let known = (0..<engine.roster.count).filter { engine.roster[$0].idCount > 0 }
        let people = known.map { number in
            let person = engine.roster[number]
            return StoryPerson(
                responderID: name(number),
                status: person.isActive ? "\(person.status.word)" : "NOT_EXPECTED",
                notExpected: person.isActive ? nil : person.notExpected.map { "\($0.word)" })
        }
        return people.sorted { $0.responderID.utf8.lexicographicallyPrecedes($1.responderID.utf8) }
    }

    /// Declared sources, each with whether it is missing, in the order of declaration.
    func sources() -> [String] {
        engine.sight.feed.sources.map { source in
            String(decoding: source.name, as: UTF8.self)
                + (source.downSince == nil ? " beats" : " is missing")
        }
    }

    private func name(_ number: Int) -> String {
        String(decoding: engine.roster.id(number), as: UTF8.self)
    }

    /// What was decided since the last time.
    mutating func takeDecisions() -> [StoryDecision] {
        let numbered = engine.takeDecisions()
        guard !numbered.isEmpty else { return [] }
        for decision in numbered {
            // Each has one of its own, in the order in which they were decided: a cursor (E1).
            if decision.id != lastNumber + 1 || decision.previous >= decision.id {
                brokenNumber = brokenNumber ?? "\(decision) behind number \(lastNumber)"
            }
            lastNumber = decision.id
        }
        // Not `self`: a closure would take all of it along.
        let roster = engine.roster
        return numbered.compactMap { StoryDecision($0.decision, roster) }
    }
}

extension StoryDecision {
    /// What the engine decided about people of `roster`.
    fileprivate init?(_ decision: Decision, _ roster: Roster) {
        func name(_ number: Int) -> String { String(decoding: roster.id(number), as: UTF8.self) }
        switch decision {
        case .status(let at, let number, let from, let to, let origin):
            self = .status(
                at: at.milliseconds, responderID: name(number),
                from: from.map { "\($0.word)" } ?? "NOT_EXPECTED",
                to: to.map { "\($0.word)" } ?? "NOT_EXPECTED", origin: "\(origin.word)")
        case .blind(let at, let begins, let since, let reason):
            self = .blind(
                at: at.milliseconds, begins: begins, since: since.milliseconds,
                reason: "\(reason.word)")
        case .gap(let at, let number, let gap):
            self = .gap(
                at: at.milliseconds, responderID: name(number), state: "\(gap.state.word)",
                suspected: "\(gap.report.suspected.word)",
                verdict: gap.verdict.map { "\($0.word)" })
        case .alert(_, let report) where !report.key.name.isReplayed: return nil
        case .notice(_, let notice) where !notice.members[0].name.isReplayed: return nil
        case .mute(_, let mute) where !mute.key.name.isReplayed: return nil
        case .wake, .person, .action, .delivery, .push: return nil
        case .notice(let at, let notice):
            self = .notice(
                at: at.milliseconds, receiver: String(decoding: notice.receiver, as: UTF8.self),
                kind: "\(notice.kind.word)", alerts: notice.members.map(Self.told))
        case .mute(let at, let mute):
            self = .mute(
                at: at.milliseconds, receiver: String(decoding: mute.receiver, as: UTF8.self),
                alert: Self.text(mute.key), reason: Self.text(mute.reason))
        case .nudge(_, _, let report) where report.kind == .followed: return nil
        case .nudge(let at, let number, let report):
            self = .nudge(
                at: at.milliseconds, responderID: name(number),
                decision: report.kind == .send ? report.facts.isAsked ? "ask" : "send" : "hold",
                reason: report.reason.map { "\($0.word)" })
        case .alert(let at, let report):
            self = .alert(
                at: at.milliseconds, name: "\(report.key.name.word)",
                state: "\(report.state.word)", labels: Self.labels(report.key.subject),
                value: Self.value(report))
        case .skew(let at, let report):
            self = .skew(
                at: at.milliseconds, source: String(decoding: report.source, as: UTF8.self),
                state: "\(report.state.word)", skew: report.skew.count,
                correction: report.correction.count)
        case .update(let at, let number, let update, let outcome):
            let isNumbered = !update.isUnsequenced
            self = .update(
                at: at.milliseconds, responderID: name(number),
                sequence: isNumbered ? update.sequence : nil,
                captured: isNumbered ? nil : update.capturedAt?.milliseconds,
                outcome: "\(outcome.word)")
        }
    }
}

extension StoryDecision {
    private static func labels(_ subject: AlertSubject) -> String {
        switch subject {
        case .all: "{}"
        case .region(let name):
            JSON.object([JSON.member("region", String(decoding: name, as: UTF8.self))])
        case .source(let name):
            JSON.object([JSON.member("source", String(decoding: name, as: UTF8.self))])
        case .cell(let name):
            JSON.object([JSON.member("cell", String(decoding: name, as: UTF8.self))])
        case .suspected: JSON.object([JSON.member("suspected", "true")])
        }
    }

    private static func text(_ key: AlertKey) -> String {
        "\(key.name.word)\(labels(key.subject))"
    }

    /// The name and the labels of the identity, which a member has beside others.
    private static func told(_ member: NoticeMember) -> StoryTold {
        let own = ["region", "source", "suspected"].compactMap { name in
            let value = member.labels.value(of: Array(name.utf8))
            return value.isEmpty
                ? nil : JSON.member(name, String(decoding: value, as: UTF8.self))
        }
        return StoryTold(
            incident: member.incident, alert: "\(member.name.word)\(JSON.object(own))")
    }

    private static func text(_ reason: MuteReason) -> String {
        switch reason {
        case .silence(let number): "silence \(number)"
        case .inhibited(let key): "inhibited by \(text(key))"
        case .storm(let storm): "storm \(storm)"
        case .blind: "blind"
        }
    }

    private static func value(_ report: AlertReport) -> String {
        let stats = report.stats
        guard report.key.name == .highOfflineRate else { return "\(stats.count)" }
        return JSON.share(stats.count, of: stats.total)
    }
}

extension Event {
    /// What the edge makes of a line: bodies go through the scanner as JSON.
    init(_ line: StoryLine) {
        let source = Array((line.source ?? "default").utf8)
        func scan(_ kind: ItemKind) -> ItemList {
            let body = Array(line.body().utf8)
            guard let result = try? ItemScanner.scan(body.span, kind: kind),
                result.rejected.isEmpty, result.problems.isEmpty
            else { preconditionFailure("a world writes what can be read: \(line.body())") }
            return result.items
        }
        switch line.event {
        case .batch: self = .items(scan(.batch), source: source)
        case .transition: self = .items(scan(.transition), source: source)
        case .responder: self = .items(scan(.responder), source: source)
        case .roster(_, let note):
            let terms = RosterTerms(
                allowsShrink: note.allowsShrink, id: Array(note.id.utf8), hasMore: note.hasMore)
            self = .roster(scan(.rosterEntry), source: source, terms)
        case .erase(let id): self = .erase(.id(Array(id.utf8)), source: source)
        case .heartbeat(let seconds):
            self = .heartbeat(source: source, every: .seconds(Int64(seconds)))
        case .skew(let skew): self = .skew(source: source, Milliseconds(skew))
        case .clock(let step): self = .clock(step: Milliseconds(step))
        case .store(let isFailing): self = .store(isFailing: isFailing)
        case .refused(let count): self = .refused(count: count)
        case .policy(let policy): self = .policy(Policy(policy))
        case .silence(let silence):
            self = .silence(
                .begin(
                    Silence(
                        matchers: silence.matchers.map { LabelMatcher($0) },
                        endsAt: Timestamp(milliseconds: silence.endsAt), author: [], comment: [])))
        case .silenceEnd(let number): self = .silence(.end(number))
        case .take(let take):
            let until = Timestamp(milliseconds: take.until)
            self = .take(.begin(Take(incident: take.incident, by: [], until: until)))
        case .giveBack(let incident): self = .take(.end(incident))
        case .ask(let ask):
            self = .ask(
                .ids(Array(ask.responderID.utf8), by: ask.by.map { Array($0.utf8) }),
                source: source)
        case .start: self = .start()
        case .stop: self = .stop
        case .turn(let lateness): self = .turn(lateness: lateness.map { Milliseconds($0) })
        }
    }
}

extension Policy {
    /// The settings of a story.
    init(_ story: StoryPolicy) {
        self.init()
        func take(_ told: StoryPolicy.Profile, _ profile: inout Profile) {
            profile.expected = Milliseconds(told.expected)
            profile.degradedAfter = Milliseconds(told.degradedAfter)
            profile.offlineAfter = Milliseconds(told.offlineAfter)
        }
        take(story.onDuty, &onDuty)
        take(story.onMission, &onMission)
        if let behind = story.onDutyBehind { onDuty.background = Background(behind) }
        if let behind = story.onMissionBehind { onMission.background = Background(behind) }
        promiseMax = Milliseconds(story.promiseMax)
        missionPromiseMax = Milliseconds(story.missionPromiseMax)
        lowPowerFactor = story.lowPowerFactor
        iosFactor = story.iosFactor
        androidFactor = story.androidFactor
        serverTransitions = story.adoptsServerTransitions ? .adopt : .observe
        forgetAfter = Milliseconds(story.forgetAfter)
        feedMinActive = story.feedMinActive
        feedStallAfter = Milliseconds(story.feedStallAfter)
        coverageRegions = story.coverage.map { Array($0.utf8) }
        alerts = AlertRules(story.alerts)
        nudges = NudgeRules(story.nudges)
        receivers = story.receivers.map { Receiver($0) }
    }
}

extension Policy.Background {
    fileprivate init(_ told: StoryPolicy.Profile) {
        self.init()
        expected = Milliseconds(told.expected)
        degradedAfter = Milliseconds(told.degradedAfter)
        offlineAfter = Milliseconds(told.offlineAfter)
    }
}

extension LabelMatcher {
    /// The condition of a story.
    init(_ story: StoryMatcher) {
        self.init(
            name: Array(story.label.utf8), isEqual: story.isEqual,
            values: [Array(story.value.utf8)])
    }
}

extension Receiver {
    /// The receiver of a story.
    init(_ story: StoryReceiver) {
        self.init(name: Array(story.name.utf8), kind: story.isPager ? .pagerduty : .webhook)
        match = story.matchers.map { LabelMatcher($0) }
        sendsResolved = story.sendsResolved
        repeatInterval = Milliseconds(story.repeatInterval)
        fallback = Array((story.fallback ?? "").utf8)
        fallbackAfter = Milliseconds(story.fallbackAfter)
        escalateAfter = Milliseconds(story.escalateAfter)
    }
}

extension NudgeRules {
    /// The rules of a story.
    init(_ story: StoryNudges) {
        self.init()
        switch story.mode {
        case .disabled: mode = .disabled
        case .dryRun: mode = .dryRun
        case .live: mode = .live
        }
        switch story.sink {
        case .none: sink = .none
        case .webhook: sink = .webhook
        case .expo: sink = .expo
        }
        staleAfter.standard = Milliseconds(story.staleAfter)
        staleAfter.onDuty = story.staleOnDuty.map { Milliseconds($0) }
        staleAfter.onMission = story.staleOnMission.map { Milliseconds($0) }
        staleAfter.ios = story.staleOfIOS.map { Milliseconds($0) }
        staleAfter.android = story.staleOfAndroid.map { Milliseconds($0) }
        minInterval = Milliseconds(story.minInterval)
        ratePerSecond = story.rate
        peers = story.needsCircle ? .circle : .circleOrRegion
    }
}

extension AlertRules {
    /// The rules of a story.
    init(_ story: StoryAlerts) {
        self.init()
        func take(_ told: StoryAlerts.Rule, _ rule: inout Rule) {
            rule.isEnabled = told.isEnabled
            rule.pendingFor = Milliseconds(told.pendingFor)
            rule.keepFiringFor = Milliseconds(told.keepFiringFor)
        }
        take(story.highOfflineRate, &highOfflineRate)
        take(story.responderFlapping, &responderFlapping)
        take(story.responderOffline, &responderOffline)
        responderOffline.pendingFor = Milliseconds(story.offlineFor)
        offlineDuties = [DutyState.onDuty, .onMission].filter {
            story.offlineDuties.contains("\($0.word)")
        }
        offlineRegions = story.offlineRegions.map { Array($0.utf8) }
        take(story.noOnlineResponders, &noOnlineResponders)
        take(story.telemetryFeedDown, &telemetryFeedDown)
        offlineAbove = story.above
        isOfflineByRegion = story.isByRegion
        offlineMinActive = story.minActive
        offlineMin = story.minOffline
        flappingChanges = story.changes
        flappingWindow = Milliseconds(story.window)
        flappingClearBelow = story.clearBelow
    }
}
