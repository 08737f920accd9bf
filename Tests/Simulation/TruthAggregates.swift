import RollcallCore
import RollcallTools

/// What the engine said of silences whose truth is known, counted.
struct TruthAggregates: Sendable {
    /// Right, unknowable and wrong ones.
    struct Grades: Sendable {
        var right = 0
        var unknowable = 0
        var wrong = 0

        /// Hundredths of a percent of right ones among those that could be known; of none, all.
        var rightPart: Int { right + wrong == 0 ? 10_000 : right * 10_000 / (right + wrong) }
        /// The same among all.
        var rightOfAll: Int {
            let all = right + unknowable + wrong
            return all == 0 ? 10_000 : right * 10_000 / all
        }

        mutating func add(_ grade: TruthGrade) {
            switch grade {
            case .right: right += 1
            case .unknowable: unknowable += 1
            case .wrong: wrong += 1
            }
        }

        mutating func add(_ other: Grades) {
            right += other.right
            unknowable += other.unknowable
            wrong += other.wrong
        }
    }

    /// One table: how often which word was said of which cause.
    struct Table: Sendable {
        private(set) var counts: [FleetCause: [String: Int]] = [:]
        private(set) var grades: [FleetCause: Grades] = [:]
        /// Wrong ones by what was true and what was said.
        private(set) var wrong: [String: Int] = [:]

        /// All causes together.
        var all: Grades {
            var all = Grades()
            for (_, other) in grades { all.add(other) }
            return all
        }

        mutating func add(_ word: String, _ episode: FleetEpisode, _ grade: TruthGrade) {
            counts[episode.cause, default: [:]][word, default: 0] += 1
            grades[episode.cause, default: Grades()].add(grade)
            guard grade == .wrong else { return }
            var text = episode.cause.rawValue
            if episode.twist != .plain { text += " (\(episode.twist.rawValue))" }
            wrong["\(text): \(word)", default: 0] += 1
        }

        mutating func add(_ other: Table) {
            for (cause, words) in other.counts {
                counts[cause, default: [:]].merge(words, uniquingKeysWith: +)
            }
            for (cause, added) in other.grades { grades[cause, default: Grades()].add(added) }
            wrong.merge(other.wrong, uniquingKeysWith: +)
        }
    }

    /// Suspicions at opening and verdicts, of the first gap of each silence that reached OFFLINE: a
    /// phone of low power, which has many gaps, must not make the figures by itself.
    private(set) var suspicions = Table()
    private(set) var verdicts = Table()
    /// The same gaps' suspicions when they reached OFFLINE.
    private(set) var atOffline = Grades()
    /// First suspicions, and those at OFFLINE, of the same fleets where the engine learns.
    var learned = Grades()
    var learnedAtOffline = Grades()
    /// What the odds were worth.
    private(set) var odds = TruthOdds()
    private(set) var lines = 0
    private(set) var episodes = 0
    private(set) var gaps = 0
    /// Further gaps of a silence that has one in the tables.
    private(set) var furtherGaps = 0
    /// Gaps that came back before OFFLINE.
    private(set) var mereLateness = 0
    /// Silences too short for a gap, by cause.
    private(set) var withoutGap: [FleetCause: Int] = [:]
    /// Gaps of nobody who was silent: late reports, which never reach OFFLINE.
    private(set) var withoutEpisode = 0
    /// What must not be, in words.
    private(set) var faults: [String] = []

    /// Notes what must not be.
    mutating func fail(_ fault: String) { faults.append(fault) }

    /// Holds the gaps of a fleet's day against its truth.
    ///
    /// The odds are those of the gaps `past`.
    mutating func take(_ fleet: TruthFleet, _ gaps: [TruthGap], _ past: PastGaps) {
        lines += fleet.lineCount
        self.gaps += gaps.count
        let byPerson = Dictionary(grouping: gaps, by: \.responderID)
        var matched: [(gap: TruthGap, episode: FleetEpisode)] = []
        for person in fleet.people {
            let silences = fleet.episodes[person.number]
            episodes += silences.count
            var met: Set<Int64> = []
            var counted: Set<Int64> = []
            for gap in byPerson[person.id] ?? [] {
                guard var episode = silences.first(where: { $0.covers(gap) }) else {
                    withoutEpisode += 1
                    if gap.atOffline != nil {
                        faults.append("\(person.id) was not silent at \(JSON.time(gap.openedAt))")
                    }
                    continue
                }
                // The first rare report told the mode of those to come.
                let isFirst = met.insert(episode.begin).inserted
                if episode.cause == .lowPower, !isFirst { episode.isReported = person.app != .bare }
                if gap.atOffline != nil, !counted.insert(episode.begin).inserted {
                    furtherGaps += 1
                } else {
                    matched.append((gap, episode))
                }
            }
            for episode in silences where !met.contains(episode.begin) {
                withoutGap[episode.cause, default: 0] += 1
            }
        }
        let early = beforeMass(fleet, matched)
        for (gap, episode) in matched { judge(gap, episode, early.contains(gap.key), past) }
    }

    private mutating func judge(
        _ gap: TruthGap, _ episode: FleetEpisode, _ isBeforeMass: Bool, _ past: PastGaps
    ) {
        guard let offline = gap.atOffline else {
            mereLateness += 1
            return
        }
        let words = episode.suspicions(isBeforeMass: isBeforeMass)
        suspicions.add(gap.first, episode, words.grade(gap.first))
        let late = episode.suspicions(isBeforeMass: isBeforeMass && offline == gap.first)
        atOffline.add(late.grade(offline))
        guard let verdict = gap.verdict, let closedAt = gap.closedAt else {
            if gap.closedAt != nil { faults.append("no verdict for \(gap.key)") }
            return
        }
        odds.take(suspected: offline, verdict: verdict, platform: gap.platform, past)
        let isByDuty = episode.endsByDuty && closedAt > episode.end - 2000
        verdicts.add(verdict, episode, episode.verdicts(isByDuty: isByDuty).grade(verdict))
    }

    /// The gaps of outages that opened before enough others of the region had.
    private func beforeMass(
        _ fleet: TruthFleet, _ matched: [(gap: TruthGap, episode: FleetEpisode)]
    ) -> Set<String> {
        var early: Set<String> = []
        for (number, outage) in fleet.outages.enumerated() {
            let opened = matched.filter { $0.episode.outage == number }.map(\.gap)
                .sorted { $0.openedAt < $1.openedAt }
            let unknown = opened.count < outage.enough ? opened.count : outage.enough - 1
            for gap in opened.prefix(unknown) { early.insert(gap.key) }
        }
        return early
    }

    /// Adds what another part found.
    mutating func add(_ other: TruthAggregates) {
        suspicions.add(other.suspicions)
        verdicts.add(other.verdicts)
        atOffline.add(other.atOffline)
        learned.add(other.learned)
        learnedAtOffline.add(other.learnedAtOffline)
        odds.add(other.odds)
        lines += other.lines
        episodes += other.episodes
        gaps += other.gaps
        furtherGaps += other.furtherGaps
        mereLateness += other.mereLateness
        withoutGap.merge(other.withoutGap, uniquingKeysWith: +)
        withoutEpisode += other.withoutEpisode
        faults += other.faults
    }
}

extension TruthGap {
    /// Who and when, as a name.
    fileprivate var key: String { "\(responderID) at \(JSON.time(openedAt))" }
}

extension FleetEpisode {
    /// True if `gap` fell into this silence: a report just before it may have been late, and what the
    /// phone says of its begin takes a moment.
    fileprivate func covers(_ gap: TruthGap) -> Bool {
        gap.openedAt <= returnsBefore && gap.closedAt.map { $0 > begin + 2000 } ?? true
    }
}
