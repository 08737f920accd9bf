import RollcallCore
import Testing

@testable import RollcallBasis
@testable import RollcallTools

@Suite struct FleetTests {
    private static let hour: Int64 = 3_600_000

    private static func settings(
        _ responders: Int, hours: Int64, seed: UInt64 = 1
    ) -> FleetSettings {
        FleetSettings(
            responders: responders, seed: seed, span: Milliseconds(hours * hour))
    }

    /// The history as a file, and its truth.
    private static func text(
        _ settings: FleetSettings, stretch: Milliseconds? = nil
    ) -> (lines: [UInt8], truth: String) {
        var stream = FleetStream(settings, stretch: stretch)
        var writer = FleetWriter(stream)
        var lines: [UInt8] = []
        var truth = ""
        while let line = stream.line() {
            writer.append(line, to: &lines)
            for silence in stream.takeGaps() {
                truth += FleetTruth.line(silence, stream, .own)
            }
        }
        for silence in stream.takeGaps(isLast: true) {
            truth += FleetTruth.line(silence, stream, .own)
        }
        return (lines, truth)
    }

    @Test func `the same settings give the same bytes, however much is lived at a time`() {
        let settings = Self.settings(30, hours: 30)
        let whole = Self.text(settings, stretch: Milliseconds(40 * Self.hour))
        let minutes = Self.text(settings, stretch: .seconds(60))
        let odd = Self.text(settings, stretch: Milliseconds(1_234_567))
        #expect(whole.lines == minutes.lines && whole.lines == odd.lines)
        #expect(whole.truth == minutes.truth && whole.truth == odd.truth)
        #expect(Self.text(Self.settings(30, hours: 30, seed: 2)).lines != whole.lines)
    }

    @Test func `a replay reads every line, and time never goes back`() throws {
        var reader = ReplayReader { _ in Policy() }
        var stream = FleetStream(Self.settings(40, hours: 26))
        var writer = FleetWriter(stream)
        var last = stream.settings.start
        var items = 0
        while let line = stream.line() {
            #expect(line.at >= last && line.at < stream.settings.end)
            last = line.at
            var text: [UInt8] = []
            writer.append(line, to: &text)
            let step = try reader.read(Array(text.dropLast()))
            guard case .event(let event?, let at)? = step else {
                Issue.record("no event in \(String(decoding: text, as: UTF8.self))")
                continue
            }
            #expect(at.milliseconds == line.at.milliseconds)
            if case .items(let list, _) = event {
                #expect(list.count == line.items.count)
                items += list.count
            }
        }
        #expect(items > 5000)
    }

    @Test func `nobody is heard in a silence`() {
        var stream = FleetStream(Self.settings(120, hours: 26, seed: 5))
        var heard: [Int32: [Int64]] = [:]
        var silences: [FleetGap] = []
        while let line = stream.line() {
            for item in line.items {
                guard case .batch(let batch) = item.content, let at = batch.receivedAt else {
                    continue
                }
                heard[item.person, default: []].append(at)
            }
            silences += stream.takeGaps()
        }
        silences += stream.takeGaps(isLast: true)
        #expect(silences.count > 200)
        #expect(silences.map(\.from) == silences.map(\.from).sorted())
        for silence in silences {
            #expect(silence.from < silence.to)
            let between = (heard[Int32(silence.person)] ?? []).filter {
                silence.from.milliseconds < $0 && $0 < silence.to.milliseconds
            }
            #expect(between == [], "\(silence)")
        }
    }

    /// What a fleet must be seen to do: as many habits as phones and backends are known to have.
    private static let habits: Set<String> = [
        "cached fix", "backlog", "newest first", "second install", "sequence from 1 again",
        "clock ahead", "clock behind", "wifi", "no network", "foreground", "background",
        "low power", "low battery", "denied", "services off", "no telemetry", "old app",
        "versions", "sent twice", "array", "no received_at", "overtaken", "on a mission",
        "off duty", "paused", "resumed", "transition", "heartbeat", "rolled out", "full queue",
        "rising queue", "without updates",
    ]

    @Test func `every habit and every cause is there`() {
        var seen: Set<String> = []
        var causes: Set<FleetCause> = []
        for seed in 1...4 as ClosedRange<UInt64> {
            var settings = Self.settings(250, hours: 27, seed: seed)
            settings.idle = 1
            var stream = FleetStream(settings)
            var clock = HabitWatch(stream)
            while let line = stream.line() {
                clock.see(line)
                causes.formUnion(stream.takeGaps().map(\.cause))
            }
            causes.formUnion(stream.takeGaps(isLast: true).map(\.cause))
            seen.formUnion(clock.seen)
            if seen == Self.habits, causes.count == FleetCause.allCases.count { break }
        }
        #expect(Self.habits.subtracting(seen) == [])
        #expect(Set(FleetCause.allCases).subtracting(causes) == [])
    }

    @Test func `of a thousand silences each has a cause`() {
        #expect(FleetCause.drawn.reduce(0) { $0 + $1.perMille } == 1000)
        #expect(Set(FleetCause.drawn.map(\.cause)).count == FleetCause.drawn.count)
    }

    @Test func `a history shorter than a day begins with everybody on duty`() {
        var stream = FleetStream(Self.settings(50, hours: 1))
        var people: Set<Int32> = []
        while let line = stream.line() {
            let passed = line.at - stream.settings.start
            if passed > .seconds(130) { break }
            for item in line.items {
                if case .duty(.onDuty) = item.content { people.insert(item.person) }
            }
        }
        #expect(people.count == 50)
    }

    @Test func `limits hold and one past them does not`() throws {
        var options = FleetOptions()
        func settings() throws -> FleetSettings { try options.settings(endingAt: nil) }
        options.responders = FleetSettings.respondersMax
        options.regions = FleetSettings.regionsMax
        options.days = FleetSettings.daysMax
        #expect(try settings().days == FleetSettings.daysMax)
        options.responders += 1
        #expect(throws: FleetError.self) { try settings() }
        options.responders = 1
        options.regions += 1
        #expect(throws: FleetError.self) { try settings() }
        options.regions = 1
        options.days = FleetSettings.daysMax + 1
        #expect(throws: FleetError.self) { try settings() }
        options.days = 1
        options.span = "1h"
        #expect(throws: FleetError.self) { try settings() }
        options.days = nil
        #expect(try settings().span == Milliseconds(Self.hour))
        options.span = "999ms"
        #expect(throws: FleetError.self) { try settings() }
        options.span = "1s"
        options.start = "today"
        #expect(throws: FleetError.self) { try settings() }
        options.start = "2026-11-20T10:00:00Z"
        #expect(RFC3339.string(try settings().start) == "2026-11-20T10:00:00.000Z")
        #expect(try FleetTarget.speed("100x") == 100 && FleetTarget.speed("1") == 1)
        #expect(throws: FleetError.self) { try FleetTarget.speed("101x") }
        #expect(throws: FleetError.self) { try FleetTarget.speed("0x") }
    }

    @Test(arguments: [1, 7, 60, 100] as [Int64])
    func `a server takes the settings for a fast fleet`(speed: Int64) throws {
        let configuration = try Configuration(yaml: FleetConfiguration.text(speed: speed))
        let standard = Configuration().policy
        #expect(
            configuration.policy.onDuty.offlineAfter.count
                == standard.onDuty.offlineAfter.count / speed)
        #expect(
            configuration.policy.nudges.staleAfter.standard.count
                == standard.nudges.staleAfter.standard.count / speed)
        if speed == 1 { #expect(configuration.policy == standard) }
    }

    @Test func `a fast fleet tells times that have passed as fast`() {
        let clock = FleetClock(
            origin: Timestamp(milliseconds: 1000), base: Timestamp(milliseconds: 500_000),
            speed: 60)
        #expect(clock.written(1000) == 500_000)
        #expect(clock.written(61_000) == 501_000)
        #expect(FleetClock.own.written(1_795_219_200_123) == 1_795_219_200_123)
    }
}

/// Sees what a fleet does.
private struct HabitWatch {
    private(set) var seen: Set<String> = []
    private let stream: FleetStream
    private var received: [Int32: Int64] = [:]
    private var installs: [Int32: Int32] = [:]
    private var sequences: [Int32: Int64] = [:]
    private var batches: [Int32: (at: Int64, first: Int64)] = [:]
    private var depths: [Int32: UInt16] = [:]
    private var beats: [FleetBackend: Timestamp] = [:]

    init(_ stream: FleetStream) { self.stream = stream }

    mutating func see(_ line: FleetLine) {
        if line.items.count > 1 { seen.insert("array") }
        for item in line.items {
            switch item.content {
            case .batch(let batch): see(batch, of: item.person)
            case .duty(.onMission): seen.insert("on a mission")
            case .duty(.offDuty): seen.insert("off duty")
            case .duty: break
            case .paused: seen.insert("paused")
            case .resumed: seen.insert("resumed")
            case .transition: seen.insert("transition")
            case .heartbeat(let backend):
                seen.insert("heartbeat")
                if let last = beats[backend], line.at - last > .seconds(100) {
                    seen.insert("rolled out")
                }
                beats[backend] = line.at
            }
        }
    }

    private mutating func see(_ batch: FleetBatch, of person: Int32) {
        if batch.updates.isEmpty { seen.insert("without updates") }
        if batch.updates.count > 10 { seen.insert("backlog") }
        if batch.updates.contains(where: \.isCached) { seen.insert("cached fix") }
        if batch.reportsVersions { seen.insert("versions") }
        if let battery = batch.battery, battery < 6 { seen.insert("low battery") }
        see(batch.telemetry, of: person)
        guard let at = batch.receivedAt else {
            seen.insert("no received_at")
            return
        }
        if let last = received[person] {
            if at == last { seen.insert("sent twice") }
            if at < last { seen.insert("overtaken") }
        }
        received[person] = max(at, received[person] ?? at)
        if let install = installs[person], batch.install > install {
            seen.insert("second install")
            if batch.updates.contains(where: { $0.sequence == 1 }) {
                seen.insert("sequence from 1 again")
            }
            sequences[person] = nil
        }
        installs[person] = batch.install
        guard let first = batch.updates.first, let last = batch.updates.last else { return }
        if last.capturedAt - at > 15_000 { seen.insert("clock ahead") }
        if stream.person(Int(person)).clockOffset < -15_000 { seen.insert("clock behind") }
        if let newest = sequences[person], last.sequence < newest, batch.updates.count > 1,
            at > (batches[person]?.at ?? at)
        {
            seen.insert("newest first")
        }
        sequences[person] = max(sequences[person] ?? 0, last.sequence)
        batches[person] = (at, first.sequence)
        if first.sequence > 1, batch.updates.count >= 1, last.sequence - first.sequence > 100 {
            seen.insert("full queue")
        }
    }

    private mutating func see(_ telemetry: FleetTelemetry?, of person: Int32) {
        guard let telemetry else {
            seen.insert("no telemetry")
            return
        }
        if telemetry.isDenied { seen.insert("denied") }
        if telemetry.areServicesOff { seen.insert("services off") }
        if telemetry.savesPower { seen.insert("low power") }
        guard let more = telemetry.more else {
            seen.insert("old app")
            return
        }
        seen.insert(more.isInForeground ? "foreground" : "background")
        if more.network == .wifi { seen.insert("wifi") }
        if more.network == .none { seen.insert("no network") }
        if let depth = depths[person], depth > 0, more.queueDepth > depth {
            seen.insert("rising queue")
        }
        depths[person] = more.queueDepth
    }
}
