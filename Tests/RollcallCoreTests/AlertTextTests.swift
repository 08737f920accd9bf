import RollcallCore
import Testing

/// What is said of an alert. Source: A2 to A5, B4, F12.
@Suite struct AlertTextTests {
    private static let start = Timestamp(milliseconds: 1_795_219_200_000)

    private func labels(_ pairs: (String, String)...) -> [Label] {
        pairs.map { Label(Array($0.0.utf8), Array($0.1.utf8)) }
    }

    private func member(
        _ name: AlertName, _ count: Int, _ total: Int, _ labels: [Label] = []
    ) -> NoticeMember {
        var member = NoticeMember()
        member.name = name
        member.labels = labels
        member.startsAt = Self.start
        member.facts.stats = AlertStats(count: count, total: total)
        return member
    }

    /// Summary, description and details, a line each.
    private func told(_ member: NoticeMember) -> [String] {
        let text = AlertText(member) { number in
            number < 0 ? nil : Array("r-\(number)".utf8)
        }
        let details = text.details.map {
            String(decoding: $0.name + [0x3D] + $0.value, as: UTF8.self)
        }
        return [text.summary, text.description] + details
    }

    @Test func `a rate names numbers, limit, causes and people`() {
        var rate = member(.highOfflineRate, 6, 41)
        rate.facts.limit = 1000
        rate.facts.span = .seconds(60)
        rate.facts.causes = [
            .init(cause: .lowPower, count: 4), .init(cause: .noNetwork, count: 2),
        ]
        // One of them is erased by now.
        rate.facts.people = [17, -1, 18]
        #expect(
            told(rate) == [
                "6 of 41 cannot be reached: 4 low_power, 2 no_network",
                "6 of 41 active responders are OFFLINE (14.6 %), more than 10 % for 1 min: "
                    + "4 low_power, 2 no_network. Responders: r-17, r-18 and 4 more.",
                "count=6", "total=41", "threshold=0.1", "for=1 min",
                "causes=4 low_power, 2 no_network", "responders=r-17, r-18",
            ])
    }

    @Test(arguments: [
        (AlertName.highOfflineRate, "6 of 41 cannot be reached in 3 regions"),
        (.noOnlineResponders, "Nobody can be reached in 3 regions, 6 of 41 out of contact"),
        (.responderFlapping, "6 responders keep dropping out in 3 regions"),
        (.responderOffline, "3 regions: 6 of 41 OFFLINE"),
        (.telemetryFeedDown, "3 backends stopped beating"),
    ])
    func `D11: one message of many says how many there are`(name: AlertName, summary: String) {
        var member = member(name, 6, 41)
        var storm = StormFacts()
        storm.count = 3
        #expect(AlertText(member, storm: storm) { _ in nil }.summary == summary)
        member.endsAt = Self.start + .seconds(60)
        let places = name == .telemetryFeedDown ? "backends" : "regions"
        let over = AlertText(member, storm: storm) { _ in nil }
        #expect(over.summary == "Over: \(name.word) in none of 3 \(places) any more")
        // What held before is not said of the end (D7).
        #expect(over.description == "It fired at 00:00:00 UTC and is over since 00:01:00 UTC.")
    }

    @Test func `nobody online says whether they are silent or not there`() {
        var silent = member(.noOnlineResponders, 3, 3, labels(("region", "north")))
        silent.facts.span = .seconds(60)
        silent.facts.causes = [.init(cause: .massGap, count: 3)]
        #expect(
            told(silent) == [
                "Nobody can be reached in north, 3 of 3 out of contact: 3 mass_gap",
                "None of 3 active responders is ONLINE for 1 min; 3 are out of contact: 3 mass_gap.",
                "count=3", "total=3", "for=1 min", "reason=unreachable", "causes=3 mass_gap",
            ])
        var empty = member(.noOnlineResponders, 0, 0, labels(("region", "north")))
        empty.facts.span = .seconds(90)
        empty.facts.isUnstaffed = true
        #expect(
            told(empty) == [
                "Nobody is on duty in north",
                "Nobody is active in a region that must always be staffed, for 90 s.",
                "count=0", "total=0", "for=90 s", "reason=unstaffed",
            ])
    }

    @Test func `D7: the sentence of a region follows its reason while it fires`() {
        // It fired for want of anybody on duty; now somebody is, and is OFFLINE.
        var manned = member(.noOnlineResponders, 1, 1, labels(("region", "north")))
        manned.facts.isUnstaffed = true
        #expect(
            told(manned) == [
                "Nobody can be reached in north, 1 of 1 out of contact",
                "None of 1 active responders is ONLINE; 1 is out of contact.",
                "count=1", "total=1", "for=0 s", "reason=unreachable",
            ])
        // And the reverse: all of them went off duty.
        var left = member(.noOnlineResponders, 0, 0, labels(("region", "north")))
        left.facts.isUnstaffed = false
        #expect(told(left)[0] == "Nobody is on duty in north")
        #expect(told(left).last == "reason=unstaffed")
    }

    private func over(_ member: NoticeMember) -> [String] {
        var member = member
        member.endsAt = Timestamp(milliseconds: Self.start.milliseconds + 3_723_000)
        return Array(told(member).prefix(2))
    }

    @Test func `D7: the end says what holds then, and nothing of what held before`() {
        let north = labels(("region", "north"))
        let span = "It fired at 00:00:00 UTC and is over since 01:02:03 UTC."
        var rate = member(.highOfflineRate, 3, 300)
        rate.facts.limit = 1000
        rate.facts.lastBatchAt = Self.start
        #expect(
            over(rate) == [
                "Over: 3 of 300 cannot be reached",
                "3 of 300 active responders are OFFLINE now (1 %). \(span)",
            ])
        #expect(
            over(member(.noOnlineResponders, 1, 3, north)) == [
                "Over: north: 1 of 3 out of contact",
                "1 of 3 active responders are out of contact now. \(span)",
            ])
        #expect(
            over(member(.noOnlineResponders, 0, 0, north)) == [
                "Over: north: nobody is expected", "Nobody is expected there now. \(span)",
            ])
        var flapping = member(.responderFlapping, 0, 9, north)
        flapping.facts.limit = 4
        flapping.facts.span = .seconds(900)
        #expect(
            over(flapping) == [
                "Over: north: nobody keeps dropping out",
                "Nobody changes between ONLINE and OFFLINE 4 times within 15 min any more. \(span)",
            ])
        #expect(
            over(member(.telemetryFeedDown, 2, 2)) == [
                "Over: All 2 backends stopped beating: the watch is blind", span,
            ])
    }

    @Test func `D7: causes and people of another instant say of which`() {
        var rate = member(.highOfflineRate, 41, 300)
        rate.facts.limit = 1000
        rate.facts.causes = [.init(cause: .massGap, count: 58)]
        rate.facts.people = [17]
        let text = AlertText(rate, fired: AlertStats(count: 58, total: 300)) { _ in
            Array("r-17".utf8)
        }
        #expect(text.summary == "41 of 300 cannot be reached; when it fired 58: 58 mass_gap")
        #expect(
            text.description == "41 of 300 active responders are OFFLINE (13.6 %), more than 10 %; "
                + "when it fired 58: 58 mass_gap. Responders when it fired: r-17 and 57 more.")
        #expect(
            AlertText(rate, fired: AlertStats(count: 41, total: 300)) { _ in nil }.summary
                == "41 of 300 cannot be reached: 58 mass_gap")
    }

    @Test func `flapping names its window`() {
        var flapping = member(.responderFlapping, 1, 9, labels(("region", "north")))
        flapping.facts.limit = 4
        flapping.facts.span = .seconds(900)
        flapping.facts.people = [5]
        #expect(
            told(flapping) == [
                "1 responder keeps dropping out in north",
                "1 responder changed between ONLINE and OFFLINE at least 4 times within 15 min. "
                    + "Responders: r-5.",
                "count=1", "total=9", "threshold=4", "window=15 min", "responders=r-5",
            ])
    }

    @Test func `a feed says which source, or that nothing is known`() {
        var source = member(.telemetryFeedDown, 1, 2, labels(("source", "pod-a")))
        source.facts.sources = [Array("pod-a".utf8)]
        #expect(
            told(source) == [
                "Backend pod-a stopped beating", "1 of 2 backends does not beat: pod-a.",
                "count=1", "total=2", "sources=pod-a",
            ])
        var all = member(.telemetryFeedDown, 2, 2)
        all.facts.sources = [Array("a".utf8), Array("b".utf8)]
        #expect(
            told(all).prefix(2) == [
                "All 2 backends stopped beating: the watch is blind",
                "Nothing is known of anybody: phones may be fine, and nobody would know.",
            ])
        #expect(
            told(member(.telemetryFeedDown, 1, 1))[0]
                == "The only backend stopped beating: the watch is blind")
        var suspected = member(.telemetryFeedDown, 0, 0, labels(("suspected", "true")))
        suspected.facts.lastBatchAt = Self.start
        #expect(
            told(suspected).prefix(2) == [
                "No batches from anyone since 00:00:00 UTC: the feed seems to stand still",
                "Nothing is known of anybody since 00:00:00 UTC: phones may be fine, and nobody "
                    + "would know.",
            ])
    }

    @Test func `what we missed and a feed without batches are told with it`() {
        var rate = member(.highOfflineRate, 2, 2)
        rate.facts.limit = 1250
        rate.facts.absentFrom = Self.start
        rate.facts.absentTo = Timestamp(milliseconds: Self.start.milliseconds + 600_000)
        rate.facts.lastBatchAt = Self.start
        #expect(
            told(rate)[1]
                == "2 of 2 active responders are OFFLINE (100 %), more than 12.5 %. "
                + "No batch came from anyone since 00:00:00 UTC. "
                + "Rollcall itself was not running from 00:00:00 UTC to 00:10:00 UTC.")
    }

    @Test func `a title stays within 140 characters whatever a region is called`() {
        let region = String(repeating: "ä\n", count: 64)
        var silent = member(.noOnlineResponders, 1_000_000, 1_000_000, labels(("region", region)))
        silent.facts.causes = GapCause.allCases.prefix(4).map { .init(cause: $0, count: 250_000) }
        let title = told(silent)[0]
        #expect(title.count <= AlertText.titleMax)
        #expect(!title.contains("\n"))
        #expect(title.hasPrefix("Nobody can be reached in ä\u{FFFD}ä"))
    }

    @Test func `V14: a name can neither turn a title round nor hide in it`() {
        let marks = "\u{61C}\u{200E}\u{200F}\u{202A}\u{202E}\u{2066}\u{2069}\u{85}"
        let silent = member(
            .noOnlineResponders, 6, 6, labels(("region", "n\(marks)r \u{5D0}\u{5D1}")))
        let held = "n\(String(repeating: "\u{FFFD}", count: 8))r \u{5D0}\u{5D1}"
        #expect(told(silent)[0] == "Nobody can be reached in \(held), 6 of 6 out of contact")
        var text = AlertText(silent) { _ in nil }
        text.isolatesNames = true
        #expect(text.claim == "Nobody can be reached in \u{2068}\(held)\u{2069}")
    }

    @Test func `V14: numbers of a text are grouped, and those of a pager's fields are not`() {
        var rate = member(.highOfflineRate, 20_000, 1_000_000)
        rate.facts.limit = 100
        rate.facts.causes = [.init(cause: .lowPower, count: 12_000)]
        let texts = told(rate)
        #expect(texts[0] == "20,000 of 1,000,000 cannot be reached: 12,000 low_power")
        #expect(texts[1].hasPrefix("20,000 of 1,000,000 active responders are OFFLINE (2 %)"))
        let details = AlertText(rate) { _ in nil }.details
        #expect(details.value(of: Array("count".utf8)) == Array("20000".utf8))
        #expect(details.value(of: Array("causes".utf8)) == Array("12000 low_power".utf8))
    }

    @Test(arguments: [(10, ""), (11, " and 1 other"), (128, " and 118 others")])
    func `D7: beside four causes it is said how many others there are`(count: Int, others: String) {
        var rate = member(.highOfflineRate, count, 300)
        rate.facts.limit = 1000
        rate.facts.causes = [
            .init(cause: .lowPower, count: 4), .init(cause: .noNetwork, count: 3),
            .init(cause: .massGap, count: 2), .init(cause: .batteryEmpty, count: 1),
        ]
        let causes = ": 4 low_power, 3 no_network, 2 mass_gap, 1 battery_empty\(others)"
        #expect(told(rate)[0] == "\(count) of 300 cannot be reached\(causes)")
        #expect(told(rate)[1].hasSuffix(" %\(causes)."))
        // Those who are told of by a count of when it fired are the others of then.
        let later = AlertText(rate, fired: AlertStats(count: 12, total: 300)) { _ in nil }
        #expect(later.summary.hasSuffix("1 battery_empty and 2 others"))
    }

    @Test func `a title that is too long ends between causes, else between words`() {
        let region = String(repeating: "n", count: 40)
        var silent = member(.noOnlineResponders, 1_000_000, 1_000_000, labels(("region", region)))
        silent.facts.causes = GapCause.allCases.prefix(4).map { .init(cause: $0, count: 250_000) }
        let head = "Nobody can be reached in \(region), 1,000,000 of 1,000,000 out of contact"
        #expect(told(silent)[0] == head + ": 250,000 permission_denied, …")
        silent.fallback = Fallback(receiver: Array(region.utf8), after: .seconds(60))
        #expect(
            told(silent)[0]
                == "Nobody can be reached in \(region), 1,000,000 of… (fallback for \(region))")
    }

    @Test func `the settings' annotations win`() {
        var rate = member(.highOfflineRate, 1, 2)
        rate.annotations = labels(("summary", "Ours"), ("runbook_url", "https://wiki"))
        let annotations = AlertText(rate) { _ in nil }.annotations.map {
            String(decoding: $0.name + [0x3D] + $0.value, as: UTF8.self)
        }
        #expect(annotations.count == 3)
        #expect(annotations.contains("summary=Ours"))
        #expect(annotations.contains("runbook_url=https://wiki"))
    }
}
