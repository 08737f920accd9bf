import RollcallCore
import Testing

@testable import RollcallBasis
@testable import RollcallSupport

/// The settings under `nudges`. Source: Contract/Nudges, V8, F34.
@Suite struct NudgeSettingsTests {
    private static let key = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
    private static let webhook = "sink: {webhook: {url: 'https://push.example.org/a?b=c'}}"

    /// Reads as `serve` does; with files in `directory`.
    private func read(
        _ nudges: String, in directory: TemporaryDirectory? = nil,
        variables: [String: String] = [:], hasCurl: Bool = true
    ) throws -> Configuration {
        var sources = SettingSources()
        sources.directory = directory?.path ?? ""
        sources.variables = variables
        sources.missingCurl = { hasCurl ? nil : CurlMissing(troubles: ["no libcurl.so.4"]) }
        return try Configuration(yaml: "nudges: {\(nudges)}", sources: &sources)
    }

    private func fault(_ nudges: String, hasCurl: Bool = true) -> String {
        do {
            _ = try read(nudges, hasCurl: hasCurl)
            return "no error"
        } catch {
            return "\(error)"
        }
    }

    // MARK: - What decides

    @Test func `nothing is sent, and everything else is as the memo has it`() throws {
        let configuration = try read("")
        #expect(configuration == Configuration())
        let rules = configuration.policy.nudges
        #expect(rules.mode == .dryRun && rules.sink == .none)
        #expect(rules.staleAfter.standard == .seconds(4 * 3600))
        #expect(rules.minInterval == .seconds(6 * 3600))
        #expect(rules.timeToLive == .seconds(3600) && rules.ratePerSecond == 5)
        #expect(rules.peers == .circleOrRegion)
    }

    @Test func `every rule can be set`() throws {
        let rules = try read(
            """
            stale_after: {default: 5h, on_duty: 3h, on_mission: 1h, ios: 2h, android: 90m},
            min_interval: 12h, ttl: 30m, rate: 600/s, company: circle, mode: disabled
            """
        ).policy.nudges
        var expected = NudgeRules()
        expected.mode = .disabled
        expected.staleAfter.standard = .seconds(5 * 3600)
        expected.staleAfter.onDuty = .seconds(3 * 3600)
        expected.staleAfter.onMission = .seconds(3600)
        expected.staleAfter.ios = .seconds(2 * 3600)
        expected.staleAfter.android = .seconds(5400)
        expected.minInterval = .seconds(12 * 3600)
        expected.timeToLive = .seconds(1800)
        expected.ratePerSecond = 600
        expected.peers = .circle
        #expect(rules == expected)
    }

    @Test func `an age for everybody can be written by itself, and a variable gives it`() throws {
        #expect(try read("stale_after: 3h").policy.nudges.staleAfter.standard == .seconds(10_800))
        let stale = try read(
            "stale_after: {ios: 1h}", variables: ["ROLLCALL_NUDGES_STALE_AFTER": "2h"]
        ).policy.nudges.staleAfter
        #expect(stale.standard == .seconds(7200) && stale.ios == .seconds(3600))
        #expect(stale.others.map(\.name) == ["ios"])
    }

    @Test(arguments: [
        ("", "", NudgeRules.Mode.dryRun), ("", Self.webhook, .live), ("''", Self.webhook, .live),
        ("live", Self.webhook, .live), ("dry_run", Self.webhook, .dryRun),
        ("disabled", Self.webhook, .disabled), ("dry_run", "", .dryRun),
        ("disabled", "", .disabled), ("''", "", .dryRun), ("", "sink: {expo: {}}", .live),
        ("", "sink: {}", .dryRun),
    ])
    func `a written mode wins, and else the sink decides`(
        mode: String, sink: String, holds: NudgeRules.Mode
    ) throws {
        let parts = [mode.isEmpty ? "" : "mode: \(mode)", sink].filter { !$0.isEmpty }
        let configuration = try read(parts.joined(separator: ", "))
        #expect(configuration.policy.nudges.mode == holds)
        #expect(configuration.nudgeMode == (["", "''"].contains(mode) ? nil : holds))
    }

    @Test func `a replay opens no secrets and needs no sink`() throws {
        let live = try Configuration(yaml: "nudges: {mode: live}")
        #expect(live.policy.nudges.mode == .live && live.policy.nudges.sink == .none)
        let sink = "nudges: {sink: {webhook: {url_file: /nowhere, secret_file: /nowhere}}}"
        let webhook = try Configuration(yaml: sink)
        #expect(webhook.policy.nudges.mode == .live && webhook.policy.nudges.sink == .webhook)
        #expect(webhook.pushSink == nil)
    }

    @Test(
        arguments: [
            ("mode: on", "mode must be one of disabled, dry_run, live (on)"),
            (
                "mode: live",
                "mode needs nudges.sink, or must be dry_run or disabled: nobody carries a push (live)"
            ),
            (
                "stale_after: 4",
                "stale_after must be a duration such as 1500ms, 90s, 2m30s, 4h or 30d, from 1s to "
                    + "366d (4)"
            ),
            (
                "stale_after: {}",
                "stale_after must be a duration such as 1500ms, 90s, 2m30s, 4h or 30d, from 1s to "
                    + "366d"
            ),
            (
                "stale_after: {on_mision: 1h}",
                "stale_after.on_mision: unknown setting, did you mean \"on_mission\"?"
            ),
            (
                "stale_after: {ios: 500ms}",
                "stale_after.ios must be a duration such as 1500ms, 90s, 2m30s, 4h or 30d, from 1s "
                    + "to 366d (500ms)"
            ),
            ("rate: 5", "rate must be a rate such as 5/s, from 1/s to 600/s (5)"),
            ("rate: 5/m", "rate must be a rate such as 5/s, from 1/s to 600/s (5/m)"),
            ("company: alone", "company must be one of circle_or_region, circle (alone)"),
            ("intervall: 1h", "intervall: unknown setting"),
            ("sink: {}, texts: {low: {}}", "texts.low: unknown setting"),
            (
                "texts: {lowpower: {title: a}}",
                "texts.lowpower: unknown setting, did you mean \"low_power\"?"
            ),
            (
                "texts: {default: {title: 'Hi {name}'}}",
                "texts.default.title may hold {stale}, {platform}, {responder_id} and no other "
                    + "braces ({name})"
            ),
            (
                "texts: {low_power: {body: ''}}",
                "texts.low_power.body must be one line of 1 to 1000 bytes"
            ),
            (
                "texts: {low_power: {titel: a}}",
                "texts.low_power.titel: unknown setting, did you mean \"title\"?"
            ),
        ])
    func `an error says what, and what to do`(nudges: String, message: String) {
        #expect(fault(nudges) == "line 1: nudges.\(message)")
    }

    @Test(arguments: [
        ("stale_after: 1s", "stale_after: 999ms"), ("stale_after: 366d", "stale_after: 367d"),
        ("stale_after: {on_duty: 1s}", "stale_after: {on_duty: 999ms}"),
        ("min_interval: 1s", "min_interval: 999ms"), ("min_interval: 366d", "min_interval: 367d"),
        ("ttl: 1s", "ttl: 999ms"), ("ttl: 28d", "ttl: 29d"), ("rate: 1/s", "rate: 0/s"),
        ("rate: 600/s", "rate: 601/s"),
        (
            "texts: {default: {title: '\(String(repeating: "t", count: 200))'}}",
            "texts: {default: {title: '\(String(repeating: "t", count: 201))'}}"
        ),
        (
            "texts: {default: {body: '\(String(repeating: "b", count: 1000))'}}",
            "texts: {default: {body: '\(String(repeating: "b", count: 1001))'}}"
        ),
        (
            "sink: {expo: {channel: \(String(repeating: "c", count: 64))}}",
            "sink: {expo: {channel: \(String(repeating: "c", count: 65))}}"
        ),
    ])
    func `a setting is taken at its limit and refused one past it`(
        inside: String, outside: String
    ) throws {
        _ = try read(inside)
        #expect(throws: ConfigurationError.self) { try read(outside) }
    }

    // MARK: - The sink

    @Test func `a webhook is read with its secrets from files`() throws {
        let directory = TemporaryDirectory()
        directory.write("url", "https://push.example.org/topsecret\n")
        directory.write("key", Self.key + "\n")
        directory.write("bearer", "token\n")
        let configuration = try read(
            "sink: {webhook: {url_file: url, secret_file: key, bearer_token_file: bearer}}",
            in: directory)
        var expected = PushSink(.webhook, url: "https://push.example.org/topsecret")
        expected.signingKeys = [try #require(SigningKey(try NotificationSamples.secret(Self.key)))]
        expected.bearer = try NotificationSamples.secret("token")
        #expect(configuration.pushSink == expected)
        #expect(configuration.policy.nudges.sink == .webhook)
    }

    @Test func `expo needs nothing, and takes an access token and a channel`() throws {
        let plain = try read("sink: {expo: {}}").pushSink
        #expect(plain == PushSink(.expo, url: "https://exp.host"))
        #expect(plain?.channel == "default")
        let directory = TemporaryDirectory()
        directory.write("token", "access\n")
        let configuration = try read(
            """
            sink: {expo: {url: "http://127.0.0.1:1/", access_token_file: token, channel: nudges}},
            texts: {default: {title: Hello}}
            """, in: directory)
        var expected = PushSink(.expo, url: "http://127.0.0.1:1/")
        expected.bearer = try NotificationSamples.secret("access")
        expected.channel = "nudges"
        expected.texts.fallback.title = "Hello"
        #expect(configuration.pushSink == expected)
        #expect(configuration.nudgeTexts == expected.texts)
        #expect(configuration.policy.nudges.sink == .expo)
    }

    @Test(
        arguments: [
            ("webhook: {}", ".webhook.url or url_file must be given"),
            (
                "webhook: {url: 'https://a'}, expo: {}", ": only one of webhook, expo may be given"
            ),
            ("webhok: {}", ".webhok: unknown setting, did you mean \"webhook\"?"),
            (
                "webhook: {url: 'push.example.org/topsecret'}",
                ".webhook.url must be like https://host/path or http://host:port"
            ),
            (
                "webhook: {url: 'https://a', secret: topsecret}",
                ".webhook.secret must be whsec_ and the base64 of 24 to 64 bytes; openssl rand "
                    + "-base64 32 makes such bytes"
            ),
            (
                "webhook: {url: 'https://a', access_token: topsecret}",
                ".webhook.access_token: unknown setting"
            ),
            (
                "expo: {access_token: 'top secret'}",
                ".expo.access_token must have visible characters only"
            ),
            (
                "expo: {access_token_file: /nowhere}",
                ".expo.access_token_file must name a file of one line that can be read (/nowhere: "
                    + "No such file or directory)"
            ),
            (
                "expo: {channel: 'a b'}", ".expo.channel must be 1 to 64 visible characters (a b)"
            ),
            (
                "expo: {ca_file: /nowhere}",
                ".expo.ca_file must name a file of certificates in PEM that can be read (/nowhere)"
            ),
        ])
    func `an error of the sink shows no secret`(sink: String, message: String) {
        #expect(fault("sink: {\(sink)}") == "line 1: nudges.sink\(message)")
    }

    @Test func `without libcurl there can be no sink`() {
        #expect(
            fault(Self.webhook, hasCurl: false)
                == "line 1: nudges.sink.webhook: libcurl cannot be loaded (no libcurl.so.4): "
                + "install it (on Debian, package libcurl4 or curl)")
        #expect(fault("mode: dry_run", hasCurl: false) == "no error")
    }

    // MARK: - Words

    @Test(arguments: [
        (
            "",
            "Somebody whose location is older than 4 h is asked to open the app, at most every 6 h, "
                + "if somebody else of their circles, or without circles of their region, is "
                + "active. Dry run: nothing is sent."
        ),
        ("mode: disabled", "Nobody is nudged, and nobody is woken."),
        (
            "stale_after: {on_mission: 1h, android: 2h}, company: circle, \(Self.webhook)",
            "Somebody whose location is older than 4 h (on a mission 1 h, on Android 2 h; the "
                + "smallest that applies) is asked to open the app, at most every 6 h, if somebody "
                + "else of their circles is active. webhook at https://push.example.org carries "
                + "that, at most 5 a second, within 1 h."
        ),
    ])
    func `the words say what the nudges are`(nudges: String, words: String) throws {
        #expect(try read(nudges).nudgeWords == [words])
    }

    @Test(
        arguments: [
            ("mode: disabled", "nudges.mode", "nobody learns"),
            ("mode: dry_run, \(Self.webhook)", "nudges.mode", "push.example.org is told of none"),
            ("stale_after: 180s", "nudges.stale_after", "180 s is not longer than offline_after"),
            ("stale_after: {ios: 1s}", "nudges.stale_after", "1 s is not longer"),
            ("stale_after: 7d", "nudges.stale_after", "7 d is not shorter than liveness.forget_"),
            ("min_interval: 59m, ttl: 59m", "nudges.min_interval", "59 m is less than 1 h"),
            ("ttl: 7h", "nudges.ttl", "7 h is longer than min_interval (6 h)"),
            (
                "sink: {webhook: {url: 'http://push.example.org/'}}", "nudges.sink.webhook.url",
                "http://push.example.org speaks no TLS"
            ),
        ])
    func `a weak setting is named with its reason`(
        nudges: String, key: String, reason: String
    ) throws {
        let configurationWarnings = try read(nudges).configurationWarnings
        try #require(configurationWarnings.count == 1)
        #expect(configurationWarnings[0].key == key)
        #expect(configurationWarnings[0].reason.contains(reason))
    }

    @Test(arguments: [
        Self.webhook, "mode: dry_run", "stale_after: 181s", "stale_after: 167h", "ttl: 6h",
        "min_interval: 1h", "sink: {webhook: {url: 'http://127.0.0.1:1/'}}",
    ])
    func `a setting at the edge is not weak`(nudges: String) throws {
        #expect(try read(nudges).configurationWarnings == [])
    }

    @Test func `a reload tells a new sink, and of a new secret only that it is new`() throws {
        let none = try read("")
        let webhook = try read(Self.webhook)
        func change(_ old: Configuration, _ new: Configuration) -> [String] {
            SettingsChange(from: old, started: old, to: new).changed.map(\.description)
        }
        #expect(
            change(none, webhook) == ["nudges.sink: {} → {webhook: {https://push.example.org}}"])
        var other = webhook
        other.pushSink?.url += "topsecret"
        let hidden = "nudges.sink: an address and secrets → others of the same name"
        #expect(change(webhook, other) == [hidden])
        let told = try read("\(Self.webhook), texts: {default: {title: Hello}}")
        #expect(change(webhook, told) == [#"nudges.texts: {} → {default: {title: "Hello"}}"#])
        #expect(
            change(webhook, try read("\(Self.webhook), mode: dry_run")) == [
                "nudges.mode: \"\" → dry_run"
            ])
    }
}
