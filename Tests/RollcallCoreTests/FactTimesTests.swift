import Testing

@testable import RollcallCore

/// When facts were told, in little room. Source: F15, I2.
@Suite struct FactTimesTests {
    /// The same as `FactTimes` and what stands aside, each fact by itself.
    private struct Naive {
        var times = [FactTime](repeating: FactTime(), count: FactSet.count)

        func news(_ time: FactTime) -> FactSet {
            FactSet(times.indices.filter { time.isNews(after: times[$0]) }.map { FactSet(at: $0) })
        }

        mutating func report(_ facts: FactSet, _ time: FactTime) {
            for place in times.indices where facts.contains(FactSet(at: place)) {
                times[place] = time
            }
        }

        mutating func clampInstants(to now: ObservedTime) {
            for place in times.indices { times[place].at = min(times[place].at, now) }
        }
    }

    /// Facts told together, apart, for instants that repeat, in any order, at instants that fit and
    /// such as do not.
    @Test(arguments: 1...40 as ClosedRange<UInt64>)
    func `what is told in little room is told as if there were much`(seed: UInt64) {
        var stream = EventStream(seed: seed)
        var (facts, overflow, naive) = (FactTimes(), FactTable?.none, Naive())
        var asides = 0
        for step in 0..<600 {
            // Runs in which few facts are told, so that tables aside come and go.
            let variety = step / 100 % 2 == 0 ? 1 + stream.next(4) : 12
            let milliseconds = Int64(stream.next(variety)) * (1 << (4 * Int64(stream.next(14))))
            let sequence = stream.next(3) == 0 ? nil : Int64(stream.next(4))
            let time = FactTime(at: ObservedTime(milliseconds: milliseconds), by: sequence)
            #expect(facts.news(time, overflow) == naive.news(time), "seed \(seed), step \(step)")
            switch stream.next(12) {
            case 0:
                facts.clampInstants(to: time.at)
                overflow?.clampInstants(to: time.at)
                naive.clampInstants(to: time.at)
            case 1:
                let table = facts.table(overflow)
                facts = FactTimes(table, &overflow)
                #expect(facts.table(overflow) == table)
            case 2...6:
                facts.report(.all, time, &overflow)
                naive.report(.all, time)
            default:
                let told = FactSet(rawValue: UInt32(stream.next(1 << 18))).intersection(.all)
                facts.report(told, time, &overflow)
                naive.report(told, time)
            }
            let kept = naive.times.indices.map { facts.time(FactSet(at: $0)) ?? overflow?[$0] }
                .map { $0 ?? FactTime() }
            #expect(kept == naive.times, "seed \(seed), step \(step)")
            #expect(facts.hasOverflow == (overflow != nil))
            if facts.hasOverflow { asides += 1 }
        }
        #expect(asides > 0)
        facts.report(.all, FactTime(at: ObservedTime(milliseconds: 1), by: 1), &overflow)
        #expect(!facts.hasOverflow)
    }

    @Test func `a person whose facts have three times needs no table aside`() {
        var (facts, overflow) = (FactTimes(), FactTable?.none)
        let groups: [FactSet] = [[.duty, .dutyByBackend], [.region, .circles], [.telemetry]]
        for turn in 1...10 as ClosedRange<Int64> {
            for (place, group) in groups.enumerated() {
                let at = ObservedTime(milliseconds: turn * 10 + Int64(place))
                facts.report(group, FactTime(at: at, by: turn), &overflow)
                #expect(overflow == nil)
            }
        }
        facts.report(.battery, FactTime(at: ObservedTime(milliseconds: 200), by: 1), &overflow)
        #expect(overflow != nil)
    }

    /// The oldest facts stand aside then, and count as before.
    @Test func `facts told at many times stay as they are for older ones`() throws {
        var engine = Engine()
        func fold(_ kind: ItemKind, _ body: String, at seconds: Int64) throws {
            let bytes = Array("{\"responder_id\":\"r-1\",\(body)}".utf8)
            let items = try ItemScanner.scan(bytes.span, kind: kind).items
            let at = RunningTime(milliseconds: seconds * 1000)
            _ = engine.fold(.items(items, source: []), at: at)
            engine.advance(to: at)
        }
        func told(_ values: [String], at second: Int64) throws {
            try fold(.responder, "\"duty_state\":\"\(values[0])\",\"at\":\(second)", at: 100)
            let facts = [
                "\"region\":\"\(values[1])\"", "\"circles\":[\"\(values[2])\"]",
                "\"sharing\":\"\(values[3])\"", "\"platform\":\"\(values[4])\"",
            ]
            for (place, fact) in facts.enumerated() {
                let at = second + 1 + Int64(place)
                try fold(.responder, "\(fact),\"at\":\(at)", at: 100)
            }
            let reports = [
                "\"os_version\":\"\(values[5])\"", "\"battery_level\":\(values[6])",
                "\"telemetry\":{\"queue_depth\":\(values[7])}",
            ]
            for (place, report) in reports.enumerated() {
                let at = second + 5 + Int64(place)
                try fold(.batch, "\(report),\"received_at\":\(at)", at: 100)
            }
        }
        func seen() -> [String] {
            let person = engine.roster[0]
            let names = [
                engine.regions[person.region], engine.circles[person.circles],
                engine.versions[UInt32(person.osVersion)],
            ]
            return names.map { String(decoding: $0, as: UTF8.self) } + [
                "\(person.duty)", "\(person.sharing)", "\(person.platform)", "\(person.battery)",
                "\(person.telemetry.queueDepth)",
            ]
        }
        try told(["ON_DUTY", "a", "b", "active", "ios", "1.2", "0.5", "3"], at: 40)
        let first = seen()
        #expect(engine.factOverflows[0] != nil)
        #expect(engine.brokenInvariants() == [])
        try told(["OFF_DUTY", "c", "d", "paused", "android", "2.3", "0.25", "7"], at: 20)
        #expect(seen() == first)

        let slices = { (engine: Engine) in
            let checkpoint = Checkpoint(engine)
            return (0..<checkpoint.sliceCount).map { checkpoint.slice($0) }
        }
        var reader = CheckpointReader()
        for slice in slices(engine) { reader.take(slice) }
        let copy = try #require(reader.finish())
        #expect(slices(copy) == slices(engine))
        #expect(copy.factOverflows[0] == engine.factOverflows[0])

        try told(["OFF_DUTY", "c", "d", "paused", "android", "2.3", "0.25", "7"], at: 60)
        #expect(zip(seen(), first).allSatisfy { $0 != $1 })
    }
}

/// Numbers and instants of six bytes.
@Suite struct SixBytesTests {
    private static let numberMax: Int64 = 281_474_976_710_655

    /// The bounds are those of the document: nobody can tell of what lies outside.
    @Test func `an instant is kept exactly within its bounds, and as the nearest outside`() {
        let (first, last) = (1 - (1 << 44), (1 << 48) - 2 - (1 << 44)) as (Int64, Int64)
        #expect(last > RFC3339.millisecondsMax + 3 * 3_155_760_000_000)
        let exact = [
            first, first + 1, -1, 0, 1, 1_795_219_200_123, RFC3339.millisecondsMax, last - 1, last,
            ObservedTime.distantPast.milliseconds, ObservedTime.distantFuture.milliseconds,
        ]
        for milliseconds in exact {
            let time = ObservedTime(milliseconds: milliseconds)
            #expect(CompactInstant(wrappedValue: time).wrappedValue == time)
        }
        let nearest: [(Int64, Int64)] = [
            (first - 1, first), (last + 1, last), (.max, ObservedTime.distantFuture.milliseconds),
            (.min, ObservedTime.distantPast.milliseconds),
            (ObservedTime.distantPast.milliseconds + 1, first),
            (ObservedTime.distantFuture.milliseconds - 1, last),
        ]
        for (milliseconds, kept) in nearest {
            let time = ObservedTime(milliseconds: milliseconds)
            #expect(CompactInstant(wrappedValue: time).wrappedValue.milliseconds == kept)
        }
    }

    @Test(
        arguments: [
            (0, 0), (1, 1), (Self.numberMax, Self.numberMax), (-1, 0), (.max, Self.numberMax),
        ] as [(Int64, Int64)])
    func `a number is kept exactly from 0 to 2⁴⁸−1`(number: Int64, kept: Int64) {
        var compact = CompactNumber(wrappedValue: 7)
        compact.wrappedValue = number
        #expect(compact.wrappedValue == kept)
    }

    /// A byte more would be eight: a million people would take 8 MB more.
    @Test func `a person has no holes`() {
        #expect(MemoryLayout<CompactInstant<ObservedTime>>.size == 6)
        #expect(MemoryLayout<Responder>.size == 200)
        #expect(MemoryLayout<Responder>.stride == 200)
    }
}
