import RollcallCore
import Testing

@testable import RollcallBasis

/// What nudges say. Source: N6.
@Suite struct NudgeTextTests {
    private static func text(
        _ cause: GapCause, _ texts: NudgeTexts = NudgeTexts()
    ) -> (title: String, body: String) {
        var facts = PushSamples.facts
        facts.cause = cause
        return texts.filled(facts, responderID: Array("r-17".utf8), platform: .android)
    }

    @Test func `each cause has its own words`() {
        let all = GapCause.allCases.map { cause in
            let (title, body) = Self.text(cause)
            return "\(cause.word): \(title) | \(body)"
        }
        #expect(
            all.joined(separator: "\n") == """
                permission_denied: Location permission is off | The app may not see where you are. Allow it to, always, and open it again.
                location_services_off: Location services are off | No app on this phone can see where you are. Switch them on, then open the app.
                no_network: Your location does not get through | Your location has not been updated for 4 hours. Open the app where you have a network.
                battery_empty: Charge your phone and open the app | Your location has not been updated for 4 hours. The battery was almost empty.
                low_power: Open the app to resume sharing | Your location has not been updated for 4 hours. Low power mode may stop it: switch it off if you can.
                mass_gap: Open the app to resume sharing | Your location has not been updated for 4 hours.
                app_suspended: Open the app to resume sharing | Your location has not been updated for 4 hours. The phone put the app to sleep.
                app_terminated: Open the app to resume sharing | Your location has not been updated for 4 hours. The app seems to have been closed.
                never_heard: Open the app to start sharing | Nothing came from your phone for 4 hours.
                unexplained: Open the app to resume sharing | Your location has not been updated for 4 hours.
                """)
        #expect(GapCause.allCases.allSatisfy { Self.text($0).title.count <= 50 })
    }

    /// R4: what a phone says by itself, and what it is sent, must not seem to be two things.
    @Test func `advice says in a nudge's words what to do`() {
        let shared: [Advice: String] = [
            .permissionDenied: "always", .locationServicesOff: "location services",
            .noNetwork: "where you have a network", .batteryEmpty: "charge your phone",
            .lowPower: "low power mode", .appSuspended: "to sleep", .appTerminated: "open the app",
        ]
        for advice in Advice.allCases {
            let words = shared[advice] ?? "nothing"
            let (title, body) = Self.text(advice.cause)
            for text in ["\(advice.text)", "\(title) \(body)"] {
                #expect(text.lowercased().contains(words), "\(advice.word): \(text)")
            }
        }
    }

    @Test func `what is written of a cause wins over what is written of all, and that over ours`() {
        var texts = NudgeTexts()
        texts.fallback = NudgeTexts.Text(title: "Offen?", body: "Seit {stale}, {responder_id}.")
        texts.written[.lowPower] = NudgeTexts.Text(title: "Strom sparen auf {platform}")
        #expect(Self.text(.lowPower, texts) == ("Strom sparen auf android", "Seit 4 hours, r-17."))
        #expect(Self.text(.noNetwork, texts) == ("Offen?", "Seit 4 hours, r-17."))
        texts.fallback = NudgeTexts.Text()
        #expect(
            Self.text(.lowPower, texts) == (
                "Strom sparen auf android", Self.text(.lowPower).body
            ))
    }

    @Test(
        arguments: [
            (-1, "0 seconds"), (0, "0 seconds"), (1, "1 second"), (59, "59 seconds"),
            (60, "1 minute"), (3599, "59 minutes"), (3600, "1 hour"), (7199, "1 hour"),
            (14_400, "4 hours"), (172_799, "47 hours"), (172_800, "2 days"), (864_000, "10 days"),
        ] as [(Int64, String)])
    func `a span is told in the unit that people use`(seconds: Int64, words: String) {
        #expect(NudgeTexts.words(.seconds(seconds)) == words)
    }

    @Test(
        arguments: [
            ("no {stale} {platform}{responder_id} at all }", nil), ("{Stale}", "{Stale}"),
            ("{", "{"), ("a {stale", "{stale"), ("{stale}{}", "{}"), ("{{stale}}", "{{stale}"),
            ("", nil),
        ] as [(String, String?)])
    func `a placeholder that nobody knows is found`(template: String, found: String?) {
        #expect(NudgeTexts.unknownPlaceholder(in: template) == found)
    }

    @Test func `a text is cut to its limit and no sooner`() {
        var texts = NudgeTexts()
        let (title, body) = (
            String(repeating: "t", count: NudgeTexts.titleBytesMax),
            String(repeating: "b", count: NudgeTexts.bodyBytesMax)
        )
        texts.fallback = NudgeTexts.Text(title: title, body: body)
        #expect(Self.text(.unexplained, texts) == (title, body))
        texts.fallback = NudgeTexts.Text(title: title + "t", body: body + "b")
        let cut = Self.text(.unexplained, texts)
        #expect(cut.title.utf8.count == NudgeTexts.titleBytesMax && cut.title.hasSuffix("t…"))
        #expect(cut.body.utf8.count == NudgeTexts.bodyBytesMax && cut.body.hasSuffix("b…"))
    }
}
