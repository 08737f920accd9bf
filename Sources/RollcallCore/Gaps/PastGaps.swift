/// The newest outcomes of gaps that are over, by what was suspected and on which phones: what usually
/// follows. Source: P7.
///
/// A bounded table that names nobody: an outcome is a verdict, a length and the hour in which it was
/// decided. Of each kind of gap the newest are kept, so that it follows an app that changes. What was
/// blind is held against nobody and does not come in (D5).
package struct PastGaps: Equatable, Sendable {
    /// Outcomes of one kind that are kept at most.
    package static let keptMax = 250
    /// Manufacturers that are told apart at most; all others are one, of which no usual time is told.
    package static let makersMax = 32

    /// One gap that is over.
    struct Outcome: Equatable, Sendable {
        /// Hours of running time at its verdict.
        var hour: Int64 = 0
        /// Observed time from the opening to the end.
        var length = Milliseconds(0)
        var verdict = GapVerdict.unexplained

        mutating func code(_ archive: inout Archive) {
            archive.code(&hour)
            archive.code(&length)
            archive.code(&verdict)
        }
    }

    /// Gaps that are alike.
    struct Kind: Hashable, Sendable {
        var cause = GapCause.unexplained
        var platform = Platform.unknown
        /// 0 of which none was told, the place + 1 of a manufacturer, or that of all others.
        var maker: UInt8 = 0

        static let otherMakers = UInt8(makersMax + 1)

        fileprivate var order: Int {
            (Int(cause.rawValue) << 8 | Int(platform.rawValue)) << 8 | Int(maker)
        }
    }

    private var outcomes: [Kind: [Outcome]] = [:]
    /// Their numbers by suspicion × platform × verdict: a mass of gaps asks for each.
    private var sums = [Int](repeating: 0, count: sumCount)
    /// Manufacturers by place; empty where one was forgotten.
    private var makers: [[UInt8]] = []

    /// Nothing has happened yet.
    package init() {}

    /// Manufacturers that are told apart.
    var makersKnown: [[UInt8]] { makers.filter { !$0.isEmpty } }

    private static let verdicts = GapVerdict.allCases.count
    private static let sumCount = GapCause.allCases.count * Platform.allCases.count * verdicts

    /// The place of a kind's first sum.
    private static func place(_ cause: GapCause, _ platform: Platform) -> Int {
        (Int(cause.rawValue) * Platform.allCases.count + Int(platform.rawValue)) * verdicts
    }

    private mutating func add(_ count: Int, _ verdict: GapVerdict, _ kind: Kind) {
        sums[Self.place(kind.cause, kind.platform) + Int(verdict.rawValue)] += count
    }

    // MARK: - What happened

    /// Takes a gap that has its verdict.
    mutating func note(_ report: GapReport, now: RunningTime) {
        guard let verdict = report.verdict, !report.isLeftOut else { return }
        let facts = report.facts
        let kind = Kind(
            cause: report.ruled ?? report.suspected, platform: facts.platform,
            maker: place(of: facts.manufacturer))
        let outcome = Outcome(hour: Self.hour(now), length: report.length, verdict: verdict)
        var kept = outcomes.removeValue(forKey: kind) ?? []
        if kept.count >= Self.keptMax { add(-1, kept.removeFirst().verdict, kind) }
        kept.append(outcome)
        add(1, verdict, kind)
        outcomes[kind] = kept
    }

    /// Nobody has a phone of this maker any more, and somebody was erased: its name goes, and what was
    /// kept of it.
    mutating func forget(maker: [UInt8]) {
        guard !maker.isEmpty, let place = makers.firstIndex(of: maker) else { return }
        makers[place] = []
        for (kind, kept) in outcomes where Int(kind.maker) == place + 1 {
            for outcome in kept { add(-1, outcome.verdict, kind) }
            outcomes[kind] = nil
        }
    }

    private mutating func place(of maker: [UInt8]) -> UInt8 {
        if maker.isEmpty { return 0 }
        if let place = makers.firstIndex(of: maker) ?? makers.firstIndex(of: []) {
            makers[place] = maker
            return UInt8(place + 1)
        }
        guard makers.count < Self.makersMax else { return Kind.otherMakers }
        makers.append(maker)
        return UInt8(makers.count)
    }

    private static func hour(_ now: RunningTime) -> Int64 { now.milliseconds / 3_600_000 }

    private func kind(_ cause: GapCause, _ facts: GapFacts) -> Kind {
        var kind = Kind(cause: cause, platform: facts.platform)
        if !facts.manufacturer.isEmpty {
            let place = makers.firstIndex(of: facts.manufacturer)
            kind.maker = place.map { UInt8($0 + 1) } ?? Kind.otherMakers
        }
        return kind
    }

    // MARK: - What usually follows

    /// Returns what followed gaps like that of `report`, of those not older than `kept`.
    package func outlook(
        for report: GapReport, now: RunningTime, kept: Milliseconds
    ) -> GapOutlook {
        let kind = kind(report.ruled ?? report.suspected, report.facts)
        let oldest = Self.hour(now - kept)
        var outlook = GapOutlook()
        if kind.maker != Kind.otherMakers {
            let own = recent(kind, oldest)
            let lengths = own.filter { $0.verdict != .dutyEnded }.map(\.length)
            outlook.usualReturn = UsualReturn(of: .phones, lengths)
            outlook.odds = GapOdds(of: .manufacturer, own.lazy.map(\.verdict))
        }
        if outlook.odds == nil {
            outlook.odds = GapOdds(
                of: .platform,
                outcomes.keys.lazy
                    .filter { $0.cause == kind.cause && $0.platform == kind.platform }
                    .flatMap { recent($0, oldest).map(\.verdict) })
        }
        if outlook.odds == nil {
            outlook.odds = GapOdds(
                of: .suspicion,
                outcomes.keys.lazy.filter { $0.cause == kind.cause }
                    .flatMap { recent($0, oldest).map(\.verdict) })
        }
        return outlook
    }

    private func recent(_ kind: Kind, _ oldest: Int64) -> ArraySlice<Outcome> {
        (outcomes[kind] ?? []).drop { $0.hour < oldest }
    }

    // MARK: - What is likelier

    /// Returns the cause that is likelier than `ruled`, which the rules suspect of these facts: that
    /// of the verdicts that followed most often, once there are enough. Nil if the rules' is as good.
    func likelier(than ruled: GapCause, _ facts: GapFacts) -> GapCause? {
        let kind = kind(ruled, facts)
        var counts = [Int](repeating: 0, count: Self.verdicts)
        if kind.maker != Kind.otherMakers, let kept = outcomes[kind] {
            for outcome in kept { counts[Int(outcome.verdict.rawValue)] += 1 }
        }
        var verdicts = LearnedCause(ruled: ruled, counts)
        if !verdicts.areEnough {
            verdicts = LearnedCause(ruled: ruled, sums(ruled, kind.platform))
        }
        if !verdicts.areEnough {
            for platform in Platform.allCases where platform != kind.platform {
                verdicts.add(sums(ruled, platform))
            }
        }
        return verdicts.areEnough ? verdicts.cause(facts.telemetry) : nil
    }

    private func sums(_ cause: GapCause, _ platform: Platform) -> [Int] {
        let place = Self.place(cause, platform)
        return Array(sums[place..<(place + Self.verdicts)])
    }

    // MARK: - Bytes

    mutating func code(_ archive: inout Archive) {
        archive.code(&makers)
        var kinds = outcomes.keys.sorted { $0.order < $1.order }.map { ($0, outcomes[$0] ?? []) }
        archive.code(&kinds, empty: (Kind(), [])) { archive, entry in
            archive.code(&entry.0.cause)
            archive.code(&entry.0.platform)
            archive.code(&entry.0.maker)
            archive.code(&entry.1, empty: Outcome()) { $1.code(&$0) }
        }
        guard archive.isReading else { return }
        outcomes = [:]
        sums = [Int](repeating: 0, count: Self.sumCount)
        for (kind, kept) in kinds { outcomes[kind] = kept }
        for (kind, kept) in outcomes {
            for outcome in kept { add(1, outcome.verdict, kind) }
        }
        if makers.count > Self.makersMax || kinds.contains(where: { isStrange($0.0, $0.1) }) {
            archive.refuse()
            self = PastGaps()
        }
    }

    private func isStrange(_ kind: Kind, _ kept: [Outcome]) -> Bool {
        kept.count > Self.keptMax
            || Int(kind.maker) > makers.count && kind.maker != Kind.otherMakers
    }
}
