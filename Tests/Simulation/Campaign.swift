import Glibc

/// What many stories had to say, summed up.
struct Campaign: Sendable {
    /// A story that did not hold.
    struct Failed: Sendable {
        var seed: UInt64
        var failure: Failure
        /// The file of the shrunk story.
        var path: String
        var lines: Int
    }

    private(set) var stories = 0
    private(set) var stores = 0
    private(set) var lines = 0
    private(set) var decisions = 0
    /// Phones times the running time they lived, milliseconds.
    private(set) var fleetMilliseconds: Int64 = 0
    /// In how many stories each rare situation occurred.
    private(set) var marks: [String: Int] = [:]
    private(set) var failed: [Failed] = []

    /// Runs the stories of `seeds`, one after the other.
    mutating func run(_ seeds: StrideTo<UInt64>, _ options: Options) {
        for seed in seeds {
            let (story, truth) = World(seed: seed).run()
            let goesThroughStore = options.storesEvery > 0 && seed % options.storesEvery == 0
            stories += 1
            stores += goesThroughStore ? 1 : 0
            lines += story.lines.count
            fleetMilliseconds += truth.fleetMilliseconds
            for mark in truth.marks { marks[mark, default: 0] += 1 }
            let folder = goesThroughStore ? options.storeFolder : nil
            do throws(Failure) {
                let trial = try Self.judge(story, truth, folder: folder)
                decisions += trial.decided.count
                let met = trial.marks.union(trial.decided.compactMap(\.mark))
                for mark in met { marks[mark, default: 0] += 1 }
            } catch {
                failed.append(Self.explain(story, error, options))
            }
            if failed.count >= (options.isQuick ? 1 : 10) { return }
        }
    }

    /// Adds what another part of the campaign found.
    mutating func add(_ other: Campaign) {
        stories += other.stories
        stores += other.stores
        lines += other.lines
        decisions += other.decisions
        fleetMilliseconds += other.fleetMilliseconds
        marks.merge(other.marks, uniquingKeysWith: +)
        failed += other.failed
    }

    /// Everything that a story must stand; what was decided. Without `truth` its end is
    /// not evaluated, without `folder` it goes through no store.
    private static func judge(
        _ story: Story, _ truth: WorldTruth?, folder: String?
    ) throws(Failure) -> Trial {
        let trial = try Trial.run(story)
        if let truth { try Ending(truth: truth).judge(trial, after: story.lines.count) }
        try Metamorphosis(
            story: story, events: trial.events, decided: trial.decided, people: trial.people
        ).check()
        if let folder { try StoreTrial.run(story, folder: folder) }
        return trial
    }

    /// Shrinks a failing story to what fails by the same check, and writes it down. What only the
    /// healed end of a world shows is told as it is: a shorter story has no such end.
    private static func explain(_ story: Story, _ failure: Failure, _ options: Options) -> Failed {
        let folder = options.folder
        var shrinker = Shrinker { other in
            do throws(Failure) {
                _ = try judge(other, nil, folder: failure.isOfStore ? options.storeFolder : nil)
                return false
            } catch {
                return error.check == failure.check
            }
        }
        let short = options.isQuick ? story : shrinker.shrink(story)
        let path = "\(folder)/rollcall-seed-\(story.seed).ndjson"
        let text = Array(short.replayFile().utf8)
        let file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0o644)
        if file >= 0 {
            _ = text.withUnsafeBytes { write(file, $0.baseAddress, $0.count) }
            close(file)
        }
        return Failed(seed: story.seed, failure: failure, path: path, lines: short.lines.count)
    }
}

extension StoryDecision {
    /// The situation that an alert's, a nudge's or a clock's line shows: it too must be met.
    fileprivate var mark: String? {
        if case .skew(_, _, let state, _, _) = self { return "clock \(state)" }
        if case .nudge(_, _, _, let reason?) = self { return "not nudged because \(reason)" }
        guard case .alert(_, let name, let state, let labels, let value) = self else { return nil }
        let label = labels.split(separator: "\"").dropFirst().first.map { " of a \($0)" } ?? ""
        let isUnstaffed = name == "NoOnlineResponders" && value == "0"
        return name + label + (isUnstaffed ? " unstaffed " : " ") + state
    }
}
