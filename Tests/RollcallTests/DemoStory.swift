import RollcallCore
import Testing

@testable import RollcallBasis
@testable import RollcallSupport
@testable import RollcallTools

/// The demo in virtual time: its phones, its script and its settings, with the engine itself in the
/// place of the server. Pages and pushes are taken for sent when they are decided.
struct DemoStory {
    private static let beginning = Timestamp(milliseconds: 1_795_000_000_000)
    private static let tick = Milliseconds(250)

    private(set) var cast = DemoCast(at: Self.beginning)
    private(set) var script: DemoScript
    private(set) var truths: [String] = []
    /// Who was nudged, and whose gaps reached OFFLINE, in order.
    private(set) var nudged: [String] = []
    private(set) var gaps: [String] = []
    private var reader = ReplayReader()
    private var run: ReplayRun
    private var now = Self.beginning
    private var statuses: [String: String] = [:]

    init(_ scenes: (DemoCast) -> [DemoScript.Scene]) throws {
        script = DemoScript(scenes(cast))
        let settings = DemoSettings(listenAddress: "127.0.0.1:0")
        run = ReplayRun(policy: try Configuration(yaml: settings.text).policy, isFixed: true)
    }

    /// Lets time pass until the script is over, or for so many seconds; how many it took.
    mutating func play(secondsMax: Int64) throws -> Int64 {
        let began = now
        while !script.isOver, (now - began).count < secondsMax * 1000 { try step() }
        return (now - began).count / 1000
    }

    /// Has one more scene played.
    mutating func add(_ scene: DemoScript.Scene) { script.add(scene) }

    private mutating func step() throws {
        now = now + Self.tick
        var signs: [DemoSign] = []
        try tell("heartbeat", ["every_seconds": 5], &signs)
        for (kind, item) in cast.told(at: now) { try tell("\(kind)", item, &signs) }
        if statuses.count == cast.everybody.count, statuses.values.allSatisfy({ $0 == "ONLINE" }) {
            signs.append(.everybodyOnline)
        }
        script.hear(signs)
        for cue in script.pass(Self.tick, isWatching: true) {
            switch cue {
            case .act(let act): cast.apply(act, at: now)
            case .line(let line): if line.voice == .truth { truths.append(line.text) }
            case .askForNoGap(let id):
                if statuses[id] == "NOT_EXPECTED", !gaps.contains(id) { script.hear([.noGap(id)]) }
            }
        }
    }

    private mutating func tell(
        _ kind: JSONTree, _ body: JSONTree, _ signs: inout [DemoSign]
    ) throws {
        let line: JSONTree = [
            "at": .text(RFC3339.string(now)), "kind": kind, "source": "demo", "body": body,
        ]
        var bytes: [UInt8] = []
        line.append(to: &bytes)
        var decided: [(Decision, String)] = []
        let step = try #require(try reader.read(bytes))
        run.take(step) { decision, engine in
            decided.append((decision, Self.id(decision, engine)))
        }
        for (decision, id) in decided { signs += follow(decision, id) }
    }

    private static func id(_ decision: Decision, _ engine: Engine) -> String {
        let number: Int
        switch decision {
        case .status(_, let person, _, _, _): number = person
        case .gap(_, let person, _): number = person
        case .nudge(_, let person, _): number = person
        default: return ""
        }
        return String(decoding: engine.roster.id(number), as: UTF8.self)
    }

    private mutating func follow(_ decision: Decision, _ id: String) -> [DemoSign] {
        switch decision {
        case .status(_, _, _, let to, _):
            statuses[id] = to.map { "\($0.word)" } ?? "NOT_EXPECTED"
            return [.status(id, statuses[id] ?? "")]
        case .gap(_, _, let gap):
            let report = gap.report
            guard report.number > 0 else { return [] }
            if let verdict = report.verdict { return [.verdict(id, "\(verdict.word)")] }
            guard report.state != .closed else { return [] }
            gaps.append(id)
            return [.gap(id, suspected: "\(report.suspected.word)")]
        case .nudge(_, _, let report):
            if let outcome = report.outcome { return [.followed(id, "\(outcome.word)")] }
            guard report.kind == .send, !report.isDryRun else { return [] }
            nudged.append(id)
            return [.nudge(id), .push(id)]
        case .alert(_, let report):
            guard case .region(let region) = report.key.subject else { return [] }
            let (name, place) = ("\(report.key.name.word)", String(decoding: region, as: UTF8.self))
            let state = "\(report.state.word)"
            return [
                .alert(name, of: place, state: state), .page(name, of: place, state: state),
            ]
        default: return []
        }
    }
}

extension DemoCast {
    /// What the backend sends by now, each item with its kind: read from what is written of it.
    mutating func told(at now: Timestamp) -> [(kind: String, item: JSONTree)] {
        var writer = writer
        return reports(at: now).map { report in
            let line = FleetLine(report, .direct)
            return ("\(line.kind)", writer.item(line))
        }
    }

    mutating func batches(at now: Timestamp) -> [JSONTree] {
        told(at: now).filter { $0.kind == "batch" }.map(\.item)
    }
}

extension DemoPhone {
    static let waitingMax = FleetHandset.queueMax

    init(id: String, region: String, platform: String, battery: Double, due: Timestamp) {
        let person = FleetPerson(
            number: 0, id: id, region: 0, platform: FleetPlatform(rawValue: platform) ?? .ios,
            app: .current)
        self.init(person, battery: battery, due: due)
    }

    mutating func batch(at now: Timestamp) -> JSONTree? {
        var writer = FleetWriter([person], regions: ["north"])
        return report(at: now).map { batch in
            writer.item(
                FleetLine(FleetReport(at: 0, person: 0, content: .batch(batch)), .direct))
        }
    }
}

extension FleetWriter {
    /// The only item of `line`, as it is read. A batch that names no updates has none (I9).
    fileprivate mutating func item(_ line: FleetLine) -> JSONTree {
        var text: [UInt8] = []
        appendBody(line, to: &text)
        let item = (try? JSONTree(reading: text)) ?? .null
        return item["updates"] == nil ? item.with(["updates": []]) : item
    }
}
