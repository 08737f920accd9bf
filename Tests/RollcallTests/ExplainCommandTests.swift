import RollcallCore
import Testing

@testable import RollcallSupport
@testable import RollcallTools

/// What `rollcall explain` prints, of canned answers.
@Suite struct ExplainCommandTests {
    private static func answers(_ events: [String]) -> [String: String] {
        [
            "/v1/responders/r-17": GapSamples.person,
            "/v1/responders/r-17/timeline": GapSamples.timeline(events),
            "/v1/dark": GapSamples.dark, "/v1/status": GapSamples.status,
        ]
    }

    private static func print(
        _ answers: [String: String], id: String = "r-17", form: OutputForm = .table
    ) throws -> String {
        let server = try CannedServer(answers)
        defer { server.stop() }
        return try Explanation.Question(
            id: id, since: "24h", form: form, now: GapsCommandTests.now
        ).answer(from: try server.asked(), style: ConsoleStyle()).text
    }

    /// The lines between the title and what is said of now.
    private static func story(_ events: [String]) throws -> String {
        let text = try print(answers(events))
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        return lines.dropFirst(2).prefix { !$0.hasPrefix("Dark") }.dropLast()
            .joined(separator: "\n")
    }

    @Test func `a day is told so that a dispatcher understands it`() throws {
        let text = try Self.print(Self.answers(GapSamples.day))
        #expect(
            text == """
                r-17 from 2026-11-20 06:00:00 to 2026-11-21 06:00:00 UTC

                2026-11-20
                21:58:10  Your server told: duty ON_DUTY, region north.
                21:58:10  NOT_EXPECTED → UNKNOWN: expected to report from now on.
                21:58:22  Contact, 1 update; permission granted, app in the foreground, network
                          wifi, battery 91 %.
                21:58:22  UNKNOWN → ONLINE: they were heard.
                21:59:22  2 contacts until 22:00:22, 7 updates (1 from a cache); permission
                          granted, app in the foreground, network wifi, battery 91 %.
                22:01:20  2 contacts until 2026-11-21 03:00:05, 5 updates; permission granted,
                          app in the background, network cellular, queue depth 0, battery 62 %.
                2026-11-21
                03:01:35  ONLINE → DEGRADED: no contact for longer than allowed.
                03:01:35  A gap opens. Suspected: app_suspended, because the app was in the
                          background, where the phone's system may suspend it. Last known:
                          permission granted, location services on, app in the background,
                          network cellular, last queue depths 3 1 0, battery 62 %.
                03:03:05  DEGRADED → OFFLINE: still no contact.
                03:03:05  The gap counts. Still suspected: app_suspended.
                03:09:30  Contact, 3 updates captured 03:02:00–03:09:00; permission granted, app
                          in the background, network cellular, queue depth 0, battery 62 %.
                03:09:30  OFFLINE → ONLINE: they were heard.
                03:09:30  The gap ends after 7m 55s.
                03:11:30  It was: network (suspected: app_suspended). 3 locations were captured
                          03:02:00–03:09:00 while out of contact: the app ran, the network did
                          not. This goes by the phone's own clock; it does not say whose network
                          failed, nor that the app ran all the time.
                03:15:00  We were not watching 03:12:00–03:15:00 (3m): Rollcall was stopped.
                          This counts against nobody.
                03:15:30  Contact, 1 update; permission granted, app in the background, network
                          cellular, queue depth 0, battery 62 %.
                04:00:10  Your server said: ONLINE → DEGRADED, as of 04:00:05.
                04:10:30  Contact without an update; permission granted, app in the background,
                          network cellular, queue depth 0, battery 62 %.
                04:12:00  ONLINE → DEGRADED: no contact for longer than allowed.
                04:12:00  A gap opens. Suspected: app_suspended, because the app was in the
                          background, where the phone's system may suspend it. Last known:
                          permission granted, location services on, app in the background,
                          network cellular, last queue depths 3 1 0, battery 62 %.
                04:12:20  Contact, 1 update; permission granted, app in the background, network
                          cellular, queue depth 0, battery 62 %.
                04:12:20  DEGRADED → ONLINE: they were heard.
                04:12:20  The gap ends after 20s. It never reached OFFLINE: mere lateness, which
                          does not count.
                05:30:00  Your server told: duty ON_MISSION.
                05:30:15  2 contacts until 05:59:48, 4 updates; permission granted, app in the
                          foreground, network wifi, battery 91 %.

                Dark      2026-11-20: never. 2026-11-21: out of contact for 7m 55s, without a
                          location for 55s. Days are UTC; only time on duty that we watched
                          counts.
                Now       ONLINE since 04:12:20. Reachable: yes. Confirmed: yes. ON_MISSION in
                          region north, ios. Last contact 05:59:48 (12s ago), last location
                          05:59:44 (16s ago).

                """)
        #expect(text.split(separator: "\n").allSatisfy { ConsoleText.columns(String($0)) <= 80 })
    }

    @Test func `P7: who is silent now is told of with what usually follows`() throws {
        var answers = Self.answers([])
        answers["/v1/responders/r-17"] = GapSamples.person.replacing(
            #""platform":"ios","#,
            with: #""platform":"ios","gap":{"gap":7,"suspected":"no_network","usual_return":"#
                + #"{"median_seconds":95.5,"gaps":20,"of":"responder"},"odds":"#
                + #"{"verdicts":{"network":20},"gaps":20,"of":"suspicion"}},"#)
        let text = try Self.print(answers).split(separator: "\n").map { $0.drop { $0 == " " } }
            .joined(separator: " ")
        #expect(
            text.contains(
                "Suspected: no_network. Half of their own 20 such gaps were over after 1m 35s. "
                    + "Of 20 such gaps 20 were network."))
        answers["/v1/responders/r-17"] = answers["/v1/responders/r-17"]?
            .replacing(#"{"median_seconds":95.5,"gaps":20,"of":"responder"}"#, with: "null")
            .replacing(#"{"verdicts":{"network":20},"gaps":20,"of":"suspicion"}"#, with: "null")
        let bare = try Self.print(answers).split { $0.isWhitespace }.suffix(2)
        #expect(bare == ["Suspected:", "no_network."])
    }

    /// A dark stretch that goes on is in no day's row; what was seen of a gap is not what passed.
    @Test func `D7: what goes on says so far, and observed time stands beside the clock's`() throws
    {
        var answers = Self.answers([
            GapSamples.gap(
                "2026-11-21T03:19:00Z", "closed",
                #""evidence":{"opened_at":"2026-11-21T03:00:00Z","length_ms":780000}"#),
            GapSamples.gap(
                "2026-11-21T03:40:00Z", "closed",
                #""evidence":{"opened_at":"2026-11-21T03:30:00Z","length_ms":599500}"#),
        ])
        let rows = answers["/v1/dark"]
        answers["/v1/dark"] = #"{"rows":[]}"#
        // This machine's clock is an hour ahead of the server's.
        answers["/v1/responders/r-17"] = """
            {"status":"OFFLINE","dark_seconds":1440.0,"as_of":"2026-11-21T05:00:00.000Z",
             "last_contact_at":"2026-11-21T04:59:50.000Z"}
            """
        var text = try Self.print(answers).split(separator: "\n").map { $0.drop { $0 == " " } }
            .joined(separator: " ")
        #expect(text.contains("The gap ends after 13m that we watched (19m by the clock)."))
        #expect(text.contains("The gap ends after 9m 59s. What it was"))
        #expect(text.contains("Dark      Out of contact longer than allowed for 24m so far. Now"))
        #expect(!text.contains("Never"))
        #expect(text.contains("Last contact 04:59:50 (10s ago)"))
        answers["/v1/dark"] = rows
        text = try Self.print(answers).split(separator: "\n").map { $0.drop { $0 == " " } }
            .joined(separator: " ")
        #expect(
            text.contains(
                "without a location for 55s. Out of contact again or still, for 24m more so far. "
                    + "Days are UTC"))
    }

    @Test func `the server is asked for one person and one span`() throws {
        let server = try CannedServer(Self.answers([]))
        defer { server.stop() }
        _ = try Explanation.Question(
            id: "r-17", since: "24h", form: .table, now: GapsCommandTests.now
        ).answer(from: try server.asked(), style: ConsoleStyle()).text
        #expect(
            server.questions == [
                "/v1/responders/r-17",
                "/v1/responders/r-17/timeline?since=2026-11-20T06:00:00.000Z&limit=1000",
                "/v1/dark?responder=r-17&by=day&since=2026-11-20&until=2026-11-21", "/v1/status",
            ])
    }

    @Test func `nudges are told with why, why not, and what followed`() throws {
        let facts = #""cause":"app_suspended","stale_seconds":14400"#
        func event(_ members: String, kind: String = "nudge", minute: String = "00") -> String {
            #""at":"2026-11-21T03:\#(minute):00Z","kind":"\#(kind)",\#(members)"#
        }
        let text = try Self.story([
            event(#""followed":"silent""#), event(#""decision":"send",\#(facts)"#),
            event(#""followed":"located""#, minute: "04"),
            event(#""followed":"silent""#, minute: "05"),
            event(#""decision":"dry_run",\#(facts)"#),
            event(
                #""decision":"hold","reason":"throttled","until":"2026-11-21T05:00:00Z",\#(facts)"#),
            event(#""decision":"hold","reason":"solo","cause":"unexplained","stale_seconds":60"#),
            event(#""decision":"hold","reason":"rain\u0007""#),
            event(#""followed":"unseen""#, minute: "30"),
            event(#""decision":"shout""#), event(#""push":7"#, kind: "wake"),
        ])
        #expect(
            text == """
                2026-11-21
                03:00:00  What followed the nudge: nothing came within half an hour.
                03:00:00  Nudged: their location was 4h old (suspected: app_suspended).
                03:04:00  What followed the nudge: a location came 4m later.
                03:05:00  What followed the nudge: nothing came in the 5m until the next nudge.
                03:00:00  To be nudged, in a dry run: their location was 4h old (suspected:
                          app_suspended). Nothing was sent.
                03:00:00  Not nudged: they were nudged or asked for within the interval, or
                          nudges are frozen, until 05:00:00. Their location was 4h old
                          (suspected: app_suspended).
                03:00:00  Not nudged: nobody else of their circles is active. Their location was
                          1m old.
                03:00:00  Not nudged: rain\\u{7}. Their location was too old.
                03:30:00  What followed the nudge: nothing was seen within half an hour, but we
                          were blind for a part of it.
                03:00:00  Nudge, shout: this rollcall does not know what that is.
                03:00:00  Their phone was to be woken: somebody looked at their circle.
                """)
    }

    @Test func `every cause says what it rests on`() throws {
        let at = "2026-11-21T03:00:00Z"
        let lines = GapCause.allCases.map {
            GapSamples.gap(at, "open", suspected: "\($0.word)", #""evidence":{}"#)
        }
        let groups = [
            #""group":{"id":1,"of":"region","region":"north","members":9,"active":20}"#,
            #""group":{"id":1,"of":"feed","members":30,"active":41}"#,
        ].map { GapSamples.gap(at, "open", suspected: "mass_gap", #""evidence":{\#($0)}"#) }
        let network = GapSamples.gap(
            at, "open", suspected: "no_network", #""evidence":{"network_type":"none"}"#)
        let text = try Self.story(lines + groups + [network])
        #expect(
            text == """
                2026-11-21
                03:00:00  A gap opens. Suspected: permission_denied, because the phone had said
                          that the location permission is denied. The phone had said nothing of
                          itself.
                03:00:00  A gap opens. Suspected: location_services_off, because the phone had
                          said that its location services are off. The phone had said nothing of
                          itself.
                03:00:00  A gap opens. Suspected: no_network, because its queue was growing: it
                          collected, and could not deliver. The phone had said nothing of
                          itself.
                03:00:00  A gap opens. Suspected: battery_empty, because its battery was almost
                          empty. The phone had said nothing of itself.
                03:00:00  A gap opens. Suspected: low_power, because the phone was saving power.
                          The phone had said nothing of itself.
                03:00:00  A gap opens. Suspected: mass_gap, because many fell silent together.
                          The phone had said nothing of itself.
                03:00:00  A gap opens. Suspected: app_suspended, because the app was in the
                          background, where the phone's system may suspend it. The phone had
                          said nothing of itself.
                03:00:00  A gap opens. Suspected: app_terminated, because the app was in the
                          foreground, where the phone's system does not suspend it: it may have
                          been ended, or have crashed. The phone had said nothing of itself.
                03:00:00  A gap opens. Suspected: never_heard, because nothing came since they
                          were expected. The phone had said nothing of itself.
                03:00:00  A gap opens. Suspected: unexplained, because nothing that the phone
                          had said explains it. The phone had said nothing of itself.
                03:00:00  A gap opens. Suspected: mass_gap, because many in region north fell
                          silent within a minute. The phone had said nothing of itself.
                03:00:00  A gap opens. Suspected: mass_gap, because many fell silent together:
                          the way from your backend to us is suspected, not the phones. The
                          phone had said nothing of itself.
                03:00:00  A gap opens. Suspected: no_network, because the phone had said that it
                          has no network. Last known: no network.
                """)
    }

    @Test func `every verdict says what it proves and what not`() throws {
        let at = "2026-11-21T03:00:00Z"
        let lines = GapVerdict.allCases.map {
            GapSamples.gap(at, #"verdict","verdict":"\#($0.word)"#, #""evidence":{"updates":1}"#)
        }
        let text = try Self.story(lines)
        #expect(
            text == """
                2026-11-21
                03:00:00  It was: reinstalled (suspected: app_suspended). A new install began
                          since the gap opened, so the app's data were gone. It does not say
                          when, nor that the install before had stopped by itself.
                03:00:00  It was: permission_denied (suspected: app_suspended). The returning
                          phone said that the location permission is denied. That holds now; for
                          the whole gap it is likely, not proved.
                03:00:00  It was: location_services_off (suspected: app_suspended). The
                          returning phone said that its location services are off. That holds
                          now; for the whole gap it is likely, not proved.
                03:00:00  It was: network (suspected: app_suspended). Locations were captured
                          while out of contact: the app ran, the network did not. This goes by
                          the phone's own clock; it does not say whose network failed, nor that
                          the app ran all the time.
                03:00:00  It was: app_stopped (suspected: app_suspended). The update since the
                          return goes on where the phone had left off, and none was captured in
                          between: the system or the user stopped the app, or the phone was off.
                          Which of them, it cannot say; a backlog that comes more than two
                          minutes after the return would refute it.
                03:00:00  It was: duty_ended (suspected: app_suspended). They were no longer
                          expected before they returned. It says nothing about the phone.
                03:00:00  It was: unexplained (suspected: app_suspended). Contact came, and
                          nothing new that it could be judged by.
                """)
    }

    @Test func `all that the phone had said is told`() throws {
        let facts = #"""
            "facts":{"permission_status":"denied","location_services":false,
            "app_state":"other","network_type":"none","power_mode":"low_power","queue_depth":7,
            "battery_level":0.05}
            """#
        let text = try Self.story([GapSamples.contact("2026-11-21T03:00:00Z", "", facts)])
        #expect(
            text == """
                2026-11-21
                03:00:00  Contact without an update; permission denied, location services off,
                          app state other, no network, saving power, queue depth 7, battery 5 %.
                """)
    }

    @Test func `blindness that goes on, or began before, is told`() throws {
        let early = "2026-11-20T05:00:00Z"
        let events =
            [GapSamples.blind("2026-11-20T07:00:00Z", "end", early, "store")]
            + ["heartbeat", "overload", "suspended", "locusts"].map {
                GapSamples.blind("2026-11-21T03:06:30Z", "begin", "2026-11-21T03:04:00Z", $0)
            }
        let text = try Self.story(events)
        #expect(
            text == """
                2026-11-20
                07:00:00  We were not watching 05:00:00–07:00:00 (2h): the store took nothing.
                          This counts against nobody.
                2026-11-21
                03:06:30  We are not watching since 03:04:00: your backend's heartbeats stayed
                          away. This counts against nobody.
                03:06:30  We are not watching since 03:04:00: Rollcall refused half of the
                          writes. This counts against nobody.
                03:06:30  We are not watching since 03:04:00: Rollcall, or its machine, stood
                          still. This counts against nobody.
                03:06:30  We are not watching since 03:04:00: locusts. This counts against
                          nobody.
                """)
    }

    @Test func `who is not watched is told with all reservations`() throws {
        var answers = Self.answers([])
        answers["/v1/responders/r-17"] = """
            {"responder_id":"r-17","status":"NOT_EXPECTED","not_expected":"paused",
            "since":"2026-11-19T04:12:20.000Z","confirmed":false,"reachable":"unknown",
            "last_contact_at":null,"platform":"unknown"}
            """
        answers["/v1/status"] =
            #"{"watching":false,"not_watching_since":"2026-11-21T05:58:00.000Z"}"#
        answers["/v1/dark"] = #"{"rows":[]}"#
        let text = try Self.print(answers)
        #expect(
            text == """
                r-17 from 2026-11-20 06:00:00 to 2026-11-21 06:00:00 UTC

                Nothing is known of this time.

                Dark      Never out of contact longer than allowed, as far as we saw.
                Now       NOT_EXPECTED (paused) since 2026-11-19 04:12:20. Reachable: unknown.
                          Confirmed: no, we were not watching and have not heard from them
                          since. No duty state. Last contact never, last location never. We are
                          not watching since 05:58:00: this is the last that was known.

                """)
    }

    // MARK: - Other servers

    @Test func `lines hold without fields, and with hostile ones`() throws {
        let events = [
            "", #""kind":"comet\u001b[2J","at":"2026-11-21T03:00:00Z""#, #""kind":"status""#,
            #""kind":"status","from":"\u0007","to":"B","origin":"\u009b""#,
            #""kind":"gap""#, #""kind":"gap","state":"open","suspected":"aliens\u001b""#,
            #""kind":"gap","state":"judged""#, #""kind":"gap","state":"closed""#,
            #""kind":"gap","state":"verdict","verdict":"\u202eabducted""#,
            #""kind":"gap","state":"resting\u001b""#, #""kind":"blind""#, #""kind":"told""#,
            #""kind":"server","at":"x""#, #""kind":"contact""#,
            #""kind":"contact","facts":{"app_state":"\u001b[1m","battery_level":62}"#,
        ]
        let text = try Self.story(events)
        #expect(
            text == """
                          –: this rollcall does not know what that is.
                2026-11-21
                03:00:00  comet\\u{1B}[2J: this rollcall does not know what that is.
                          – → –: no reason told.
                          \\u{7} → B: \\u{9B}.
                          Gap, –: this rollcall does not know what that is.
                          A gap opens. Suspected: aliens\\u{1B}, because for a reason that this
                          rollcall does not know. The phone had said nothing of itself.
                          The gap counts. Suspected: – (before: aliens\\u{1B}), because for a
                          reason that this rollcall does not know. The phone had said nothing of
                          itself.
                          The gap ends. It never reached OFFLINE: mere lateness, which does not
                          count.
                          It was: \\u{202E}abducted (suspected: –). This rollcall does not know
                          what that proves.
                          Gap, resting\\u{1B}: this rollcall does not know what that is.
                          We are not watching since –: no reason told. This counts against
                          nobody.
                          Your server told something about them.
                          Your server said: – → –.
                          Contact without an update.
                          Contact without an update; app state \\u{1B}[1m.
                """)
        #expect(
            text.unicodeScalars.allSatisfy { $0 == "\n" || ConsoleText.safe("\($0)") == "\($0)" })
    }

    @Test func `a server that counts no dark time says the rest`() throws {
        var answers = Self.answers([])
        answers["/v1/dark"] = nil
        answers["/v1/responders/r-17"] = "{}"
        let text = try Self.print(answers)
        #expect(
            text == """
                – from 2026-11-20 06:00:00 to 2026-11-21 06:00:00 UTC

                Nothing is known of this time.

                Dark      This server does not count dark time.
                Now       No status. Reachable: unknown. Confirmed: not told. No duty state.
                          Last contact never, last location never.

                """)
    }

    @Test func `a server without timelines is too old`() throws {
        var answers = Self.answers([])
        answers["/v1/responders/r-17/timeline"] = nil
        #expect(throws: QuestionError.self) { try Self.print(answers) }
    }

    @Test func `nobody has this id`() throws {
        let server = try CannedServer(
            ["/v1/responders/r-1%1B": #"{"detail":"nobody has this id"}"#], status: 404)
        defer { server.stop() }
        do {
            _ = try Explanation.Question(
                id: "r-1\u{1B}", since: "24h", form: .table, now: GapsCommandTests.now
            ).answer(from: try server.asked(), style: ConsoleStyle()).text
            Issue.record("somebody has it")
        } catch let error as QuestionError {
            #expect("\(error)" == "\(server.url) knows nobody with the id r-1\\u{1B}")
            #expect(error.exitCode == 1)
        }
    }

    @Test func `an id of 128 bytes is asked for, a longer one and none are not`() throws {
        func question(_ count: Int) throws -> Explanation.Question {
            try Explanation.Question(
                id: String(repeating: "x", count: count), since: "24h", form: .table,
                now: GapsCommandTests.now)
        }
        _ = try question(128)
        #expect(throws: QuestionError.self) { try question(129) }
        #expect(throws: QuestionError.self) { try question(0) }
    }

    @Test func `JSON is one object with the events oldest first`() throws {
        var answers = Self.answers([#""kind":"told","n":1"#, #""kind":"told","n":2"#])
        answers["/v1/responders/r-17"] = #"{"status":"ONLINE"}"#
        answers["/v1/dark"] = #"{"rows":[]}"#
        #expect(
            try Self.print(answers, form: .json)
                == #"{"status":{"status":"ONLINE"},"events":[{"kind":"told","n":1},"#
                + #"{"kind":"told","n":2}],"truncated":false,"dark":{"rows":[]}}"# + "\n")
    }
}
