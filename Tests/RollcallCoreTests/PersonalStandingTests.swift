import Testing

@testable import RollcallCore

/// How somebody stands, for their own phone, and what they should put right on it. Source: R4.
@Suite struct PersonalStandingTests {
    /// The keys of the advice for the first person of a timeline.
    private func advice(
        _ text: String, sourceLocation: SourceLocation = #_sourceLocation
    ) throws -> [String] {
        let engine = try timeline(text, sourceLocation: sourceLocation)
        let standing = try #require(engine.standing(of: 0))
        return Self.keys(standing.advice)
    }

    private static func keys(_ advice: PhoneAdvice) -> [String] {
        Advice.allCases.filter(advice.contains).map { "\($0.word)" }
    }

    @Test func `R4: each thing that is wrong is advised upon, the most important first`() throws {
        let all = "phone denied,unlocated,none,saving,suspended battery 0.01"
        #expect(
            try advice("0s 41 reports \(all) → 41 unknown, 41 online") == [
                "permission_denied", "location_services_off", "no_network", "battery_empty",
                "low_power", "app_suspended",
            ])
        #expect(
            try advice("0s 41 reports phone terminated → 41 unknown, 41 online")
                == ["app_terminated"])
        for fine in [
            "", "phone granted,located,wifi,normal,background battery 0.06",
            "phone cellular,foreground,inactive,queue7",
        ] where try advice("0s 41 reports \(fine) → 41 unknown, 41 online") != [] {
            Issue.record("nothing is wrong with \(fine)")
        }
    }

    @Test func `R4: a queue that grew over three batches does not get through`() throws {
        let rising = """
            0s     41 reports phone queue1                → 41 unknown, 41 online
            10s    41 reports phone queue2
            20s    41 reports phone queue3
            """
        #expect(try advice(rising) == ["no_network"])
        #expect(try advice(rising + "\n30s 41 reports phone granted") == [])
        #expect(try advice(rising + "\n30s 41 reports phone queue0") == [])
    }

    @Test func `R4: advice is about what the newest batch said, and no older one`() throws {
        let wrong = "0s 41 reports phone denied battery 0.01 → 41 unknown, 41 online\n"
        #expect(try advice(wrong) == ["permission_denied", "battery_empty"])
        #expect(try advice(wrong + "10s 41 reports") == [], "it may be put right already")
        #expect(try advice(wrong + "10s 41 reports battery 0.02") == ["battery_empty"])
        #expect(try advice(wrong + "10s 41 reports phone granted") == [])
        // What an older batch says that comes later is no news (F15).
        let late = "10s 41 reports\n20s 41 reports phone denied received 5s"
        #expect(try advice("0s 41 reports → 41 unknown, 41 online\n" + late) == [])
        // The server's word that they are there is contact, too, and says nothing of the phone.
        #expect(try advice(wrong + "10s server says 41 online to online") == [])
    }

    @Test func `R4: who is not expected to report is advised nothing, as they are never nudged`()
        throws
    {
        for ended in ["41 pauses", "41 goes off duty", "41 reports off duty phone denied"] {
            let engine = try timeline(
                """
                0s     41 reports phone denied                → 41 unknown, 41 online
                10s    \(ended)                               → 41 not expected
                """)
            let standing = try #require(engine.standing(of: 0))
            #expect(
                standing
                    == PersonalStanding(
                        status: nil, reachable: .unknown, promisedUntil: nil, advice: PhoneAdvice())
            )
        }
    }

    @Test func `R4: status, reachable and the promise are those of every other answer`() throws {
        let engine = try timeline(
            """
            0s     41 reports next 15m                    → 41 unknown, 41 online
            10s    42 reports                             → 42 unknown, 42 online
            100s                                          → 42 degraded
            190s                                          → 42 offline
            """)
        for number in 0..<2 {
            let standing = try #require(engine.standing(of: number))
            let person = engine.roster[number]
            #expect(standing.status == person.status)
            #expect(standing.reachable == engine.reachable(person))
            #expect(standing.promisedUntil == engine.policy.promisedUntil(person))
        }
        #expect(engine.standing(of: 0)?.promisedUntil?.milliseconds == Script.zero + 900_000)
        #expect(engine.standing(of: 1)?.reachable == .no)
        let blind = try timeline(
            """
            0s     41 reports                             → 41 unknown, 41 online
            10s    store fails
            """)
        #expect(blind.standing(of: 0)?.status == .online)
        #expect(blind.standing(of: 0)?.reachable == .unknown)
    }

    @Test func `R4: nobody is somebody who was erased, or never there`() throws {
        let engine = try timeline(
            """
            0s     41 reports                             → 41 unknown, 41 online
            10s    41 is erased
            """)
        for number in [-1, 0, 1] { #expect(engine.standing(of: number) == nil) }
    }

    @Test func `R4: a sentence needs no escapes, and tells somebody what to do`() {
        for advice in Advice.allCases {
            let text = "\(advice.text)"
            #expect(text.hasSuffix(".") && text.count <= 60)
            #expect(text.utf8.allSatisfy { (0x20...0x7E).contains($0) && $0 != 0x22 && $0 != 0x5C })
        }
        #expect(Advice.allCases.map(\.cause) == GapCause.allCases.filter(Advice.causes.contains))
    }
}

extension Advice {
    /// The causes that somebody can do something about.
    fileprivate static let causes = allCases.map(\.cause)
}
