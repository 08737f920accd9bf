import Testing

@testable import RollcallCore

/// People in few bytes (J5).
@Suite struct PersonPackingTests {
    /// Any instant: words, such as lie close together, and such as do not.
    private static func instant(_ numbers: inout Seeded) -> Int64 {
        switch numbers.next() % 8 {
        case 0: ObservedTime.distantPast.milliseconds
        case 1: ObservedTime.distantFuture.milliseconds
        case 2: Int64(numbers.next() % (1 << 43))
        default: 1_795_219_200_000 + Int64(numbers.next() % 60_000)
        }
    }

    private static func person(_ numbers: inout Seeded) -> Responder {
        var person = Responder()
        func observed() -> ObservedTime { ObservedTime(milliseconds: instant(&numbers)) }
        func wall() -> Timestamp { Timestamp(milliseconds: instant(&numbers)) }
        func isSo() -> Bool { numbers.next() & 1 == 1 }
        func number(_ bound: UInt64) -> UInt64 { numbers.next() % bound }
        person.duty = DutyState(rawValue: UInt8(number(4))) ?? .none
        person.platform = Platform(rawValue: UInt8(number(3))) ?? .unknown
        person.status = Status(rawValue: UInt8(number(4))) ?? .unknown
        person.sharing = isSo() ? .paused : .active
        person.lastExtreme = [nil, .online, .offline][Int(number(3))]
        person.nudgeSound = UInt8(number(2))
        (person.isDutyByBackend, person.isRetired, person.isForgotten) = (isSo(), isSo(), isSo())
        (person.isActive, person.isHeard, person.hasLedger) = (isSo(), isSo(), isSo())
        (person.isDark, person.isFlapping, person.isStale) = (isSo(), isSo(), isSo())
        (person.isBehind, person.isMissed) = (isSo(), isSo())
        person.telemetry.permissionStatus = UInt8(number(4))
        person.telemetry.networkType = UInt8(number(5))
        person.telemetry.queueDepth = isSo() ? Telemetry.queueDepthUnknown : UInt32(number(9))
        person.battery = isSo() ? -1 : Int16(number(10_001))
        (person.region, person.circles) = (UInt32(number(9)), UInt32(number(1 << 32)))
        (person.osVersion, person.model) = (UInt16(number(3)), UInt16(number(1 << 16)))
        person.promise = UInt16(number(2))
        person.factor = [1, 1.5, .nan, -.infinity][Int(number(4))]
        person.installID = isSo() ? 0 : numbers.next()
        let lowest = Int64(bitPattern: numbers.next() >> 1)
        let others = Int64([number(9), number(1 << 32 - 1)][Int(number(2))])
        if isSo(), lowest <= .max - others { _ = person.keep(lowest...(lowest + others)) }
        person.emptyQueueSequence = isSo() ? -1 : Int64(number(9))
        (person.lastRow, person.lastDecision) = (Int64(number(1 << 40)), Int64(number(3)))
        (person.lastContact, person.lastLocation, person.darkFrom) = (
            observed(), observed(), observed()
        )
        (person.degradedDeadline, person.offlineDeadline) = (observed(), observed())
        (person.activeSince, person.grace, person.offlineSince, person.emptyQueueAt) = (
            observed(), observed(), observed(), observed()
        )
        (person.since, person.lastContactAt, person.lastLocationAt, person.newestCapturedAt) = (
            wall(), wall(), wall(), wall()
        )
        person.contactFolded = RunningTime(milliseconds: instant(&numbers))
        return person
    }

    /// The bytes that older versions wrote of a person.
    private static func plain(_ person: Responder, _ overflow: FactTable?) -> [UInt8] {
        var (copy, beside) = (person, overflow)
        return Archive.bytes { copy.code(&$0, &beside) }
    }

    @Test(arguments: Effort.seeds(30) as ClosedRange<UInt64>)
    func `whoever was packed comes back as they were`(seed: UInt64) throws {
        var numbers = Seeded(seed: seed)
        var slice = PeopleSlice(first: 2048)
        var wanted: [(person: [UInt8], id: [UInt8], token: [UInt8]?)] = []
        for _ in 0..<200 {
            var person = Self.person(&numbers)
            var extras = PersonExtras()
            for _ in 0..<(numbers.next() % 5) {
                let told = FactSet(rawValue: UInt32(numbers.next() % (1 << 18)))
                let time = FactTime(
                    at: ObservedTime(milliseconds: Self.instant(&numbers)),
                    by: numbers.next() % 3 == 0 ? nil : Int64(bitPattern: numbers.next() >> 2))
                person.factTimes.report(told.intersection(.all), time, &extras.factOverflow)
            }
            if numbers.next() % 4 == 0 { extras.pushToken = [7, 7] }
            let id = Array("r-\(numbers.next() % 999)".utf8)
            slice.append(person, id[...], extras)
            wanted.append((Self.plain(person, extras.factOverflow), id, extras.pushToken))
        }
        let bytes = slice.bytes
        var reader = try #require(PeopleReader(bytes, Engine.version))
        #expect(reader.first == 2048)
        for (place, one) in wanted.enumerated() {
            var person = Responder()
            var extras: PersonExtras?
            try #require(reader.next(&person, &extras), "seed \(seed), person \(place)")
            #expect(
                Self.plain(person, extras?.factOverflow) == one.person, "seed \(seed), \(place)")
            #expect(Array(bytes[person.idRange]) == one.id)
            #expect(extras?.pushToken == one.token)
        }
        #expect(reader.isAtEnd)
    }

    /// As a checkpoint of version 8 was until people were packed.
    @Test
    func `a slice from before people were packed is read, and packed when it is written anew`()
        throws
    {
        var numbers = Seeded(seed: 3)
        let people = (0..<5).map { _ in Self.person(&numbers) }
        var packed = PeopleSlice(first: 0)
        var plain = Archive()
        var first = 0
        plain.code(&first)
        for (number, one) in people.enumerated() {
            var (person, extras) = (one, PersonExtras())
            extras.pushToken = number == 2 ? [1, 2, 3] : nil
            let id = Array("p\(number)".utf8)
            packed.append(
                number == 1 ? Responder() : person, number == 1 ? [] : id[...],
                number == 1 ? PersonExtras() : extras)
            plain.append(id[...])
            person.code(&plain, &extras.factOverflow)
            extras.code(&plain)
        }
        let old = [2] + plain.bytes
        #expect(Checkpoint.firstPerson(ofSlice: old) == 0)
        let without = Checkpoint.slice(old, without: [1], of: ErasedRegions(), as: Engine())
        #expect(without == packed.bytes)
        #expect(packed.bytes.count < old.count)
    }

    /// Four bytes count the sequences of a range: one more, and it stands in a ledger.
    @Test(arguments: [(1 << 32 - 2, true), (1 << 32 - 1, false), (.max, false)])
    func `a range of as many sequences as four bytes count is the person's, a wider one a ledger's`(
        others: Int64, isOwn: Bool
    ) throws {
        var slice = Archive()
        var first = 0
        var numbers = ForeseenNumbers()
        var (lowest, highest) = (Int64(0), others)
        slice.code(&first)
        slice.append([7])
        numbers.begin(&slice)
        numbers.code(&lowest, 8, as: .sequences, &slice)
        numbers.code(&highest, 6, from: lowest, as: .sequences, &slice)
        numbers.end(&slice)
        var reader = try #require(PeopleReader([3] + slice.bytes, Engine.version))
        var (person, extras) = (Responder(), PersonExtras?.none)
        try #require(reader.next(&person, &extras) && reader.isAtEnd)
        #expect(person.sequences == (isOwn ? 0...others : nil))
        #expect(person.hasLedger == !isOwn)
        #expect(extras?.ledger?.installs.first?.ranges == (isOwn ? nil : [0...others]))
    }

    @Test
    func
        `a sequence more than a person counts moves their range to a ledger, and none is taken twice`()
        throws
    {
        var engine = Engine()
        var at: Int64 = 1_795_230_000_000
        func take(_ sequence: Int64) throws -> [Int] {
            let body = Array(
                """
                {"responder_id":"r-1","updates":[{"sequence":\(sequence)}]}
                """.utf8)
            let scan = try ItemScanner.scan(body.span, kind: .batch)
            at += 1000
            let now = RunningTime(milliseconds: at)
            let receipt = engine.fold(.items(scan.items, source: Array("default".utf8)), at: now)
            engine.advance(to: now)
            return receipt.updates.indices.map { receipt.updates[$0] }
        }
        #expect(try take(5) == [1, 0, 0])
        // As if so many had come since.
        let last: Int64 = 5 + 1 << 32 - 3
        let isKept = engine.roster[0].keep(5...last)
        #expect(isKept)
        #expect(try take(last + 1) == [1, 0, 0])
        #expect(engine.roster[0].sequences == 5...(last + 1) && !engine.roster[0].hasLedger)
        #expect(try take(last + 2) == [1, 0, 0])
        #expect(engine.roster[0].hasLedger)
        #expect(engine.ledgers[0]?.installs.map(\.ranges) == [[5...(last + 2)]])
        #expect(try take(last + 2) == [0, 1, 0])
        #expect(try take(5) == [0, 1, 0])
        #expect(try take(last + 3) == [1, 0, 0])
    }

    @Test func `of a fleet that reports a checkpoint takes less than 64 bytes a person`() throws {
        var engine = Engine()
        for minute in 0..<3 {
            for first in stride(from: 0, to: 3000, by: 100) {
                let at = 1_795_230_000_000 + Int64(minute) * 60_000 + Int64(first) * 20
                let lines = (first..<(first + 100)).map { number in
                    """
                    {"responder_id":"r-\(1_000_000 + number)","received_at":\(at - Int64(number % 9)),\
                    "duty_state":"ON_DUTY","region":"g-\(number % 32)","circles":["c-\(number / 4)"],\
                    "install_id":"i-\(number)","platform":"ios","telemetry":{"power_mode":"normal",\
                    "app_state":"background","queue_depth":0},"updates":[{"sequence":\(900 + minute),\
                    "captured_at":\(at - 2000 - Int64(number % 7))}]}
                    """
                }
                let bytes = Array("[\(lines.joined(separator: ","))]".utf8)
                let scan = try ItemScanner.scan(bytes.span, kind: .batch)
                let now = RunningTime(milliseconds: at)
                _ = engine.fold(.items(scan.items, source: Array("default".utf8)), at: now)
                engine.advance(to: now)
                _ = engine.takeDecisions()
            }
        }
        let checkpoint = Checkpoint(engine)
        let bytes = (0..<checkpoint.sliceCount).map { checkpoint.slice($0) }
            .filter { Checkpoint.firstPerson(ofSlice: $0) != nil }.reduce(0) { $0 + $1.count }
        #expect(bytes < 3000 * 64, "\(bytes / 3000)")
    }

    @Test func `bytes that nobody wrote are damage and no trap`() throws {
        var numbers = Seeded(seed: 5)
        var slice = PeopleSlice(first: 0)
        for _ in 0..<20 { slice.append(Self.person(&numbers), [1, 2], PersonExtras()) }
        for _ in 0..<Effort.count(3000) {
            var bytes = slice.bytes
            let place = 2 + Int(numbers.next() % UInt64(bytes.count - 2))
            bytes[place] = UInt8(truncatingIfNeeded: numbers.next())
            guard var reader = PeopleReader(bytes, Engine.version) else { continue }
            var (person, extras) = (Responder(), PersonExtras?.none)
            while !reader.isAtEnd, reader.next(&person, &extras) {}
        }
    }
}

/// Numbers of which only those take bytes that are not as foreseen.
@Suite struct ForeseenNumbersTests {
    @Test func `any number comes back, and one that is as foreseen takes a bit`() {
        let rows: [[Int64]] = [
            [5, 1000, .min], [6, 1006, .max], [7, 1007, 0], [0, 1000, -1], [7, 1007, .max / 2],
            [.max, .min, 1], [.min, .max, .min + 1], [-1, 999, .min],
        ]
        func code(_ archive: inout Archive, _ rows: [[Int64]]) -> [[Int64]] {
            var numbers = ForeseenNumbers()
            return rows.map { row in
                var row = row
                numbers.begin(&archive)
                numbers.code(&row[0], 0, &archive)
                numbers.code(&row[1], 1, from: row[0], as: .sequences, &archive)
                numbers.code(&row[2], 63, from: 3, as: .instants, &archive)
                numbers.end(&archive)
                return row
            }
        }
        var written = Archive()
        _ = code(&written, rows)
        var read = Archive(reading: written.bytes)
        #expect(code(&read, rows.map { $0.map { _ in 77 } }) == rows)
        #expect(read.isAtEnd && !read.isDamaged)
        var same = Archive()
        _ = code(&same, [[Int64]](repeating: [5, 1000, 9], count: 100))
        // The first of them, and a byte each.
        #expect(same.bytes.count < 120)
    }
}
