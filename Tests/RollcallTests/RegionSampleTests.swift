import RollcallCore
import Testing

@testable import Rollcall
@testable import RollcallBasis
@testable import RollcallStore

/// Counts by region in the store. Source: J10, I11, J7.
@Suite struct RegionSampleTests {
    private let directory = TemporaryDirectory()

    private func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }

    private func counts(_ byStatus: [Int], _ notExpected: Int = 0) -> RegionCounts {
        var counts = RegionCounts()
        for (place, count) in byStatus.enumerated() { counts.byStatus[place] = count }
        counts.notExpected = notExpected
        return counts
    }

    /// One turn that takes a sample as the state writer does.
    private func turn(
        _ story: inout HistoryStory, _ sampler: inout FleetSampler, at seconds: Int64,
        _ events: [Event] = []
    ) throws {
        var pending = try story.pendingTurn(at: seconds, events)
        pending.sample = sampler.sample(story.engine)
        try story.store.commit([pending])
    }

    /// The samples of a store, a line each: number or `rest`, then counts by status.
    private func lines(_ story: HistoryStory) throws -> [String] {
        var lines: [String] = []
        let reader = try RegionSampleReader(story.store.journal.connection)
        try reader.samples(since: Timestamp(milliseconds: 0), until: .distantFuture) { sample in
            let regions = sample.entries.map { entry in
                let counts = (0..<4).map { "\(entry.counts.byStatus[$0])" }
                let absent = entry.counts.notExpected > 0 ? "+\(entry.counts.notExpected)" : ""
                let mark = entry.counts.isUnstaffed ? "!" : ""
                return "\(entry.number):\(counts.joined(separator: ","))\(absent)\(mark)"
            }
            lines.append(regions.joined(separator: " "))
            return true
        }
        return lines
    }

    private func names(_ story: HistoryStory) throws -> [String] {
        try RegionSampleReader(story.store.journal.connection)
            .regions(since: Timestamp(milliseconds: 0), limit: 1000)
            .map { "\($0.number) \(String(decoding: $0.name, as: UTF8.self))" }
    }

    // MARK: - Bytes

    @Test func `J10: a sample comes out of its bytes as it went in, and takes few`() throws {
        var random = SystemRandomNumberGenerator()
        let at = Timestamp(milliseconds: HistoryStory.began)
        for _ in 0..<200 {
            let entries = (0..<Int.random(in: 0...40, using: &random)).map { place in
                var counts = counts(
                    (0..<4).map { _ in Bool.random() ? 0 : Int.random(in: 0...100_000) },
                    Int.random(in: 0...3))
                counts.isUnstaffed = Bool.random()
                return RegionSample.Entry(
                    number: Int64(place) * Int64.random(in: 3...9) + (place > 0 ? 1 : 0),
                    counts: counts)
            }
            var unique: [RegionSample.Entry] = []
            for entry in entries.sorted(by: { $0.number < $1.number })
            where entry.number != unique.last?.number { unique.append(entry) }
            let sample = RegionSample(at: at, entries: unique)
            #expect(RegionSample(at: at, journalBytes: sample.journalBytes) == sample)
            // Damaged bytes make none, or others; they never trap.
            let bytes = sample.journalBytes
            for end in bytes.indices.prefix(40) {
                _ = RegionSample(at: at, journalBytes: Array(bytes[..<end]))
            }
        }
        let usual = RegionSample(
            at: at,
            entries: (1...256).map { .init(number: $0, counts: counts([40, 1, 0, 2], 9)) })
        #expect(usual.journalBytes.count == 6 * 256)
        for broken in [[0x80], [1], [1, 0x40], [1, 1], [1, 0, 0, 0]] as [[UInt8]] {
            #expect(RegionSample(at: at, journalBytes: broken) == nil, "\(broken)")
        }
    }

    @Test func `a region that is not in a sample had nobody, unless it was one of too many`() {
        let at = Timestamp(milliseconds: 0)
        let some = RegionSample(at: at, entries: [.init(number: 3, counts: counts([1]))])
        #expect(some.counts(of: 3) == counts([1]))
        #expect(some.counts(of: 4) == RegionCounts() && some.counts(of: nil) == RegionCounts())
        let many = RegionSample(
            at: at,
            entries: [.init(number: 3, counts: counts([1])), .init(number: 0, counts: counts([7]))])
        #expect(many.hasRest && many.counts(of: 3) == counts([1]))
        #expect(many.counts(of: 4) == nil && many.counts(of: nil) == nil)
    }

    // MARK: - In the store

    @Test func `J10: each minute has its regions by number, and their names stand once`() throws {
        var story = try HistoryStory(directory)
        var sampler = FleetSampler()
        var policy = Policy()
        policy.coverageRegions = [bytes("light"), bytes("south")]
        try turn(
            &story, &sampler, at: 0,
            [
                .policy(policy),
                try HistoryStory.batches(["a", "b"], sequence: 1, captured: 0, region: "north"),
                try HistoryStory.batches(["c"], sequence: 2, captured: 0, region: "south"),
            ])
        try turn(&story, &sampler, at: 30)
        try turn(&story, &sampler, at: 60)
        try turn(&story, &sampler, at: 120)
        let duty = #"[{"responder_id":"c","duty_state":"OFF_DUTY"}]"#
        try turn(&story, &sampler, at: 180, [try HistoryStory.items(.responder, duty)])
        #expect(try names(story) == ["1 light", "2 south", "3 north"])
        #expect(
            try lines(story) == [
                "1:0,0,0,0! 2:1,0,0,0 3:2,0,0,0", "1:0,0,0,0! 2:1,0,0,0 3:2,0,0,0",
                "1:0,0,0,0! 2:0,1,0,0 3:0,2,0,0", "1:0,0,0,0! 2:0,0,0,0+1! 3:0,0,0,2",
            ])
        // All of them come to the whole fleet's.
        #expect(
            try story.integers("SELECT online + degraded + offline FROM samples") == [3, 3, 3, 2])
        for table in [RowChecksum.Table.regionSamples, .sampledRegions] {
            try RowChecksum.check(table, story.store.journal.connection)
        }
        try story.store.journal.close()
    }

    @Test func `J10: beyond 256 regions the later ones are counted as one`() throws {
        var story = try HistoryStory(directory)
        var sampler = FleetSampler()
        let events = try (0..<300).map {
            try HistoryStory.batches(["p\($0)"], sequence: 1, captured: 0, region: "r\($0)")
        }
        try turn(&story, &sampler, at: 0, events)
        let line = try #require(try lines(story).first)
        #expect(line.hasPrefix("0:44,0,0,0 1:1,0,0,0 "))
        #expect(line.split(separator: " ").count == 257)
        #expect(try names(story).last == "256 r255")
        try story.store.journal.close()
    }

    @Test
    func `I11: an erasure takes a region's name, its counts stay, and nobody gets its number`()
        throws
    {
        var story = try HistoryStory(directory)
        var sampler = FleetSampler()
        try turn(
            &story, &sampler, at: 0,
            [
                try HistoryStory.batches(["kim"], sequence: 1, captured: 0, region: "kims-house"),
                try HistoryStory.batches(["a"], sequence: 1, captured: 0, region: "north"),
            ])
        try turn(
            &story, &sampler, at: 60,
            [.erase(.id(bytes("kim")), source: EventSource.standard)])
        var erased = ErasedRegions()
        erased.note(bytes("kims-house"))
        erased.note(bytes("north"))
        let journal = story.store.journal
        var place: Int64? = 0
        while let last = place {
            try journal.begin()
            place = try journal.forgetSampledRegions(erased, story.engine, after: last, limit: 1)
            try journal.commit()
        }
        // Somebody else is in the other one.
        #expect(try names(story) == ["2 north"])
        #expect(try lines(story) == ["1:1,0,0,0 2:1,0,0,0", "2:1,0,0,0"])
        try RowChecksum.check(.sampledRegions, journal.connection)
        try turn(
            &story, &sampler, at: 120,
            [try HistoryStory.batches(["lee"], sequence: 1, captured: 120, region: "kims-house")])
        #expect(try names(story) == ["2 north", "3 kims-house"])
        try journal.close()
    }

    @Test func `J7: counts by region go with the journal's days, and their names behind them`()
        throws
    {
        var story = try HistoryStory(directory)
        var sampler = FleetSampler()
        let day: Int64 = 86_400
        for (at, region) in [(0, "old"), (60, "old"), (day, "new"), (2 * day, "new")]
            as [(Int64, String)]
        {
            let facts =
                "[{\"responder_id\":\"a\",\"region\":\"\(region)\",\"duty_state\":\"ON_DUTY\"}]"
            try turn(&story, &sampler, at: at, [try HistoryStory.items(.responder, facts)])
        }
        #expect(try names(story) == ["1 old", "2 new"])
        let journal = story.store.journal
        let until = Timestamp(milliseconds: HistoryStory.began + day * 1000)
        var isLeft = true
        var pieces = 0
        while isLeft {
            try journal.begin()
            isLeft = try journal.cutSamples(before: until, limit: 2)
            try journal.commit()
            pieces += 1
        }
        #expect(pieces == 3)
        #expect(try lines(story).count == 2)
        #expect(try names(story) == ["2 new"])
        #expect(
            try story.integers("SELECT day FROM sampled_regions") == [
                (HistoryStory.began / 1000 + 2 * day) / day
            ])
        try journal.close()
    }

    @Test func `S7: a turn's counts by region come out of its bytes; one without them is read too`()
        throws
    {
        var story = try HistoryStory(directory)
        var pending = try story.pendingTurn(
            at: 0, [try HistoryStory.batches(["a"], sequence: 1, captured: 0)])
        pending.sample = FleetSample(story.engine)
        let read = try #require(PendingTurn(logBytes: pending.logBytes))
        #expect(read.sample == pending.sample && read.sample?.regions.count == 1)
        pending.sample?.regions = []
        // The count of regions is the last byte.
        let before = try #require(PendingTurn(logBytes: Array(pending.logBytes.dropLast())))
        #expect(before.sample == pending.sample)
        try story.store.journal.close()
    }
}
