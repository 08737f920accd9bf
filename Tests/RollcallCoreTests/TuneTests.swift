import Testing

@testable import RollcallCore

/// A history in seconds, folded with the present settings and with others.
struct TuneHistory {
    /// False alarms heal within five minutes.
    static let healsWithin = Milliseconds.seconds(300)

    private var lines: [(at: Int64, text: String)] = []

    /// One of `r-1` on duty, who reports each minute until `end` but for the gaps.
    init(reportsUntil end: Int64 = 3600, gaps: [ClosedRange<Int64>] = []) {
        for at in stride(from: Int64(0), through: end, by: 60)
        where !gaps.contains(where: { $0.contains(at) && $0.lowerBound != at }) {
            report(at)
        }
    }

    mutating func add(_ at: Int64, _ kind: String, _ body: String? = nil) {
        let rest = body.map { ",\"body\":\($0)" } ?? ""
        lines.append((at, "{\"at\":\(Script.zero + at * 1000),\"kind\":\"\(kind)\"\(rest)}"))
    }

    mutating func report(_ at: Int64, _ id: String = "r-1", _ more: String = "") {
        add(at, "batch", "{\"responder_id\":\"\(id)\"\(more)}")
    }

    /// The steps, in the order of time.
    func steps() throws -> [ReplayStep] {
        var reader = ReplayReader(decodePolicy: Policy.of)
        let sorted = lines.enumerated().sorted { ($0.1.at, $0.0) < ($1.1.at, $1.0) }
        return try sorted.compactMap { try reader.read(Array($0.1.text.utf8)) }
    }

    /// The present settings and others, over chunks of so many steps.
    func runs(
        chunk: Int = 1000, phoneName: PhoneName = .manufacturer,
        _ adapt: [@Sendable (Policy) -> Policy] = []
    ) throws -> [TuneRun] {
        let all = [nil] + adapt.map { Optional($0) }
        let runs = UnsafeMutableBufferPointer<TuneRun>.allocate(capacity: all.count)
        _ = runs.initialize(
            from: all.map {
                TuneRun(
                    policy: Policy(), isFixed: false, healsWithin: Self.healsWithin,
                    phoneName: phoneName, adapting: $0)
            })
        defer {
            runs.deinitialize()
            runs.deallocate()
        }
        let steps = try steps()
        var names = ReplayNames()
        for start in stride(from: 0, to: steps.count, by: chunk) {
            let end = min(start + chunk, steps.count)
            var chunk = ReplayChunk()
            for step in steps[start..<end] { chunk.append(step, &names) }
            for index in runs.indices { runs[index].take(chunk) }
            if end < steps.count { TuneRun.compare(runs, isOver: false) }
        }
        for index in runs.indices { runs[index].finish() }
        TuneRun.compare(runs, isOver: true)
        return Array(runs)
    }
}

/// Settings whose OFFLINE on duty comes after so many seconds.
private func offline(_ seconds: Int64) -> @Sendable (Policy) -> Policy {
    { policy in
        var policy = policy
        policy.onDuty.degradedAfter = min(policy.onDuty.degradedAfter, .seconds(seconds - 1))
        policy.onDuty.offlineAfter = .seconds(seconds)
        return policy
    }
}

@Suite struct TuneTests {
    @Test func `an OFFLINE that heals soon is a false alarm and one that does not is not`() throws {
        var history = TuneHistory(reportsUntil: 7200, gaps: [600...840, 3000...4200])
        history.add(7260, "end")
        let counts = try history.runs()[0].aggregates.counts
        let cell = counts[.onDuty, .unknown]
        #expect(cell == counts.all)
        #expect((cell.degraded, cell.offline, cell.back) == (2, 2, 2))
        #expect((cell.healed, cell.real, counts.censored) == (1, 1, 0))
        #expect(counts.delay(0.5) == .seconds(180))
        #expect(counts.delay(1, .onMission) == nil)
    }

    @Test func `heals within is up to the last millisecond`() throws {
        // OFFLINE at 600 + 180 s; heard 300 s later, and 301 s later.
        for (back, healed) in [(Int64(1080), 1), (1081, 0)] {
            var history = TuneHistory(reportsUntil: 600)
            history.report(back)
            history.add(1100, "end")
            let all = try history.runs()[0].aggregates.counts.all
            #expect((all.healed, all.real) == (healed, 1 - healed))
        }
    }

    @Test func `who goes off duty did not heal, and the end of the history tells nothing`() throws {
        var history = TuneHistory(reportsUntil: 600)
        history.add(900, "responder", #"{"responder_id":"r-1","duty_state":"OFF_DUTY"}"#)
        history.report(2000, "r-2", #","duty_state":"ON_MISSION","platform":"ios""#)
        history.add(2100, "end")
        let counts = try history.runs()[0].aggregates.counts
        #expect(counts[.onDuty, .unknown].real == 1)
        #expect(counts[.onMission, .ios].offline == 1)
        #expect((counts.all.healed, counts.censored) == (0, 1))
    }

    @Test func `a looser setting is held against the gaps that the present one found`() throws {
        // Silent for 4 minutes, and for 20.
        var history = TuneHistory(reportsUntil: 7200, gaps: [600...840, 3000...4200])
        history.add(7260, "end")
        let runs = try history.runs([offline(120), offline(240), offline(3000)])
        let stats = runs.map(\.stats)
        #expect(stats.map(\.long) == [1, 1, 1, 1])
        #expect(stats.map(\.missed) == [0, 0, 0, 1])
        #expect(stats.map(\.later.count) == [0, -60_000, 60_000, 0])
        #expect(stats.map(\.undetected.count) == [180_000, 120_000, 240_000, 1_260_000])
        #expect(runs.map(\.aggregates.counts.all.healed) == [1, 1, 1, 0])
        // All show DEGRADED after 90 s, so nobody was believed reachable for longer.
        #expect(stats.map(\.believed.count) == [0, 0, 0, 0])
    }

    @Test func `who is shown as late later is believed reachable meanwhile`() throws {
        var history = TuneHistory(reportsUntil: 3600, gaps: [600...1200])
        history.add(3660, "end")
        let later: @Sendable (Policy) -> Policy = { policy in
            var policy = policy
            policy.onDuty.degradedAfter = .seconds(150)
            return policy
        }
        let runs = try history.runs([later])
        #expect(runs.map(\.stats.believed.count) == [0, 60_000])
        #expect(runs.map(\.stats.missed) == [0, 0])
    }

    @Test func `what a blind window touches says nothing`() throws {
        var history = TuneHistory(reportsUntil: 600)
        history.add(0, "heartbeat", #"{"every_seconds":60}"#)
        history.add(640, "heartbeat", #"{"every_seconds":60}"#)
        history.add(780, "heartbeat", #"{"every_seconds":60}"#)
        history.add(3000, "heartbeat", #"{"every_seconds":60}"#)
        history.report(3060)
        history.add(3120, "end")
        let run = try history.runs()[0]
        #expect((run.aggregates.counts.all.healed, run.aggregates.counts.all.real) == (0, 0))
        #expect((run.stats.long, run.stats.unseen) == (0, 1))
        // From the last beat, 780 s, to the next.
        #expect(run.aggregates.span == .seconds(3120))
        #expect(run.aggregates.observed == .seconds(900))
    }

    @Test func `pages are counted by length and held against the present ones`() throws {
        var history = TuneHistory(reportsUntil: 7200, gaps: [600...1080, 3000...5400])
        history.add(7260, "end")
        let slow: @Sendable (Policy) -> Policy = { policy in
            var policy = policy
            policy.alerts.noOnlineResponders.pendingFor = .seconds(300)
            return policy
        }
        let runs = try history.runs([slow])
        // Nobody ONLINE from 690 s on, firing from 750 s, over 120 s after 1140 s: longer than five
        // minutes; with the longer wait it fires at 990 s and is short.
        let notifications = runs.map { $0.aggregates.counts[.noOnlineResponders] }
        #expect(notifications.map(\.fired) == [2, 2])
        #expect(notifications.map(\.critical) == [2, 2])
        #expect(notifications.map(\.short) == [0, 1])
        #expect(runs[1].stats.longNotifications == 3)
        #expect(runs[1].stats.missedNotifications == 0)
        #expect(runs[1].stats.laterNotifications == .seconds(480))
    }

    // MARK: - What the phone is

    /// The times OFFLINE of phones by name, with the usual time to return in seconds.
    private func phones(_ counts: TuneCounts) -> [String] {
        counts.phonesByName.map { name, phone in
            let text = name.map { String(decoding: $0, as: UTF8.self) } ?? "others"
            let usual = phone.usualReturn.map { "\($0.count / 1000)" } ?? "–"
            return "\(text): \(phone.healed) \(phone.real) \(usual)"
        }
    }

    @Test func `P6 P7: false alarms and the usual return are told by what the phone is`() throws {
        // One without a name is away for four minutes; of two others, one is twenty times away for
        // a quarter of an hour, and the other nineteen times for less.
        var history = TuneHistory(reportsUntil: 24_060, gaps: [600...840])
        for round in Int64(0)...20 {
            for at in stride(from: round * 1200, through: min(round * 1200 + 300, 24_060), by: 60) {
                history.report(at, "h", #","manufacturer":"HUAWEI","model":"ELE-L29""#)
            }
            guard round < 20 else { continue }
            for at in stride(from: round * 1200, through: round * 1200 + 900, by: 60) {
                history.report(at, "s", #","manufacturer":"Samsung","model":"ELE-L29""#)
            }
        }
        history.add(24_070, "end")
        let counts = try history.runs()[0].aggregates.counts
        #expect(phones(counts) == ["HUAWEI: 0 20 900", "Samsung: 19 0 –", ": 1 0 –"])
        let models = try history.runs(phoneName: .model)[0].aggregates.counts
        #expect(phones(models) == ["ELE-L29: 19 20 900", ": 1 0 –"])
    }

    @Test func `P6: beyond 32 names, most often OFFLINE first, phones are told together`() {
        var counts = TuneCounts()
        for name in 0..<40 {
            var spell = LateSpell(number: 0, lateAt: Timestamp(milliseconds: 0))
            spell.phone = Array("p\(name)".utf8)
            for _ in 0...name { counts.note(phone: spell, isHealed: false) }
        }
        let rows = phones(counts)
        #expect(rows.count == 33 && rows.first == "p39: 0 40 –" && rows[31] == "p8: 0 9 –")
        #expect(rows.last == "others: 0 36 –")
    }

    @Test func `any chunks give the same answer`() throws {
        var history = TuneHistory(reportsUntil: 7200, gaps: [600...840, 3000...4200])
        for at in stride(from: Int64(0), to: 7200, by: 15) where !(2000...2090).contains(at) {
            history.report(at, "r-2", #","duty_state":"ON_MISSION","platform":"ios""#)
        }
        history.add(7260, "end")
        let adapt = [offline(60), offline(120), offline(600)]
        let whole = try history.runs(adapt)
        for chunk in [1, 7, 100] {
            let runs = try history.runs(chunk: chunk, adapt)
            #expect(runs.map(\.aggregates.counts) == whole.map(\.aggregates.counts))
            #expect(runs.map(\.stats) == whole.map(\.stats))
        }
    }

    @Test func `settings replace those of every policy that the history brings`() throws {
        var history = TuneHistory(reportsUntil: 600)
        history.add(20, "policy", "\"on_duty 60/100/200\"")
        history.add(30, "policy", "\"on_duty 60/100/200\"")
        history.add(3000, "end")
        let steps = try history.steps()
        guard case .event(.policy(let told), _) = steps[1] else {
            Issue.record("no policy")
            return
        }
        let runs = try history.runs([offline(400)])
        #expect(runs[0].policy == told)
        #expect(runs[1].policy == offline(400)(told))
        #expect(runs.map(\.policyChanges) == [0, 0])
        #expect(runs.map(\.isMisfit) == [false, false])
    }

    @Test func `settings that make no sense in a policy of the history are a misfit`() throws {
        var history = TuneHistory(reportsUntil: 600)
        history.add(30, "policy", "\"on_duty 60/240/300\"")
        history.add(3000, "end")
        let runs = try history.runs([
            { policy in
                var policy = policy
                policy.onDuty.offlineAfter = .seconds(200)
                return policy
            }
        ])
        #expect(runs.map(\.isMisfit) == [false, true])
    }
}
