import Glibc
import RollcallCore
import Testing

@testable import RollcallBasis
@testable import RollcallSupport

/// All that is wrong with a file is told at once, with what was probably meant; and what `check`
/// says of a file that is right. Source: V8, V8; D7.
@Suite struct SettingsFaultsTests {
    private let directory = TemporaryDirectory()

    private func faults(
        _ yaml: String, variables: [String: String] = [:], opensSecrets: Bool = true
    ) -> [String] {
        var sources = SettingSources()
        sources.variables = variables
        sources.opensSecrets = opensSecrets
        do throws(ConfigurationError) {
            _ = try Configuration(yaml: yaml, sources: &sources)
            return []
        } catch {
            return error.all.map { "\($0)" }
        }
    }

    // MARK: - All of them

    @Test func `every mistake of a file is told, each with its line, in the order of the file`() {
        let yaml = """
            web:
              listen_address: nowhere
              external_url: ftp://a
              tokens:
                - {name: a, scopes: [ingest], token: short}
                - {name: b, scopes: [all], token: 0123456789abcdef}
            liveness:
              on_duty: {expected: soon}
              on_mission: {degraded_after: 4m}
              low_power_factor: 0
            receivers:
              - name: hook
                webhook: {url: 'ftp://x', bearer_token: "a b"}
                repeat_interval: 1s
              - {name: hook, log: {}}
              - {name: '?', log: {}, sendresolved: false}
            alerts:
              NoOnlineResponders: {labels: {7up: x, region: y}, severity: loud}
            storag: {}
            """
        #expect(
            faults(yaml) == [
                "line 2: web.listen_address must be like 127.0.0.1:8080 or [::1]:8080 (nowhere)",
                "line 3: web.external_url must be like https://watch.example.org or "
                    + "http://host:8080/path, without user, query or fragment",
                "line 5: web.tokens[0]: token \"a\": must have 16 to 512 visible ASCII characters "
                    + "without spaces; make one with: openssl rand -hex 32",
                "line 6: web.tokens[1].scopes must be some of ingest, read, act, admin, input:NAME (all)",
                "line 8: liveness.on_duty.expected must be a duration such as 1500ms, 90s, 2m30s, "
                    + "4h or 30d, from 1ms to 366d (soon)",
                "line 9: liveness.on_mission.offline_after must be longer than degraded_after "
                    + "(60s <= 240s)",
                "line 10: liveness.low_power_factor must be a number from 0.1 to 100 (0)",
                "line 13: receivers[0].webhook.url must be like https://host/path or "
                    + "http://host:port",
                "line 13: receivers[0].webhook.bearer_token must have visible characters only",
                "line 14: receivers[0].repeat_interval must be a duration such as 1500ms, 90s, "
                    + "2m30s, 4h or 30d, from 60s to 30d (1s)",
                "line 15: receivers[1].name is another receiver's already (hook)",
                "line 16: receivers[2].name must be 1 to 64 letters, digits and . _ - (?)",
                "line 18: alerts.NoOnlineResponders.severity must be one of critical, warning, "
                    + "info, none (loud)",
                "line 18: alerts.NoOnlineResponders.labels: 7up must be a name of letters, digits "
                    + "and _, no digit first",
                "line 18: alerts.NoOnlineResponders.labels: region is set by Rollcall itself",
                "line 19: storag: unknown setting, did you mean \"storage\"?",
            ])
    }

    @Test func `what follows from a mistake is not told as one`() {
        // Against the default of degraded_after, 100 s would be too short.
        #expect(
            faults("liveness: {on_duty: {degraded_after: x, offline_after: 100s}}").map {
                $0.prefix(47)
            } == ["line 1: liveness.on_duty.degraded_after must be"])
        // Nobody is told, since the one who would be is wrong.
        #expect(faults("receivers:\n  - {name: a, webhok: {url: x}}").count == 1)
        #expect(faults("receivers:\n  - {name: a, pagerduty: {}}").count == 1)
        #expect(faults("storage: 5\nfeed: [1]").count == 2)
        for wrong in [
            "web: {tokens: [{name: a, scopes: [read], token_file: /not/there}]}",
            "receivers: [{name: a, webhook: {url_file: /not/there}}]",
            "receivers: [{name: a, pagerduty: {routing_key_file: /not/there}}]",
        ] {
            let told = faults(wrong)
            #expect(told.count == 1 && told[0].contains("/not/there"), "\(told)")
        }
    }

    @Test func `variables' mistakes come behind the file's, and hide none of them`() {
        let told = faults(
            "feed: {min_active: many}\nlimits: {items: none}",
            variables: ["ROLLCALL_STORAGE_RETENTION": "1s"])
        #expect(
            told.map { $0.prefix { $0 != " " } } == ["line", "line", "ROLLCALL_STORAGE_RETENTION:"])
    }

    @Test func `20 mistakes are told at most, and a thousand cost no more than that`() {
        let yaml = (0..<1000).map { "unknown\($0): 1\n" }.joined()
        #expect(faults(yaml).count == ConfigurationFaults.countMax)
    }

    @Test func `a file that is no YAML has one mistake`() {
        #expect(faults("a: [").count == 1)
        #expect(faults("- a").count == 1)
    }

    @Test func `the command tells all of them, each with file and line`() throws {
        let path = directory.path + "/wrong.yml"
        directory.write("wrong.yml", "feed: {min_active: x}\nstorag: {}\n")
        let error = #expect(throws: InputFileError.self) {
            try SettingsCheck(path: path, environment: [:])
        }
        let first = "\(path): line 1: feed.min_active must be an integer from 1 to 1000000 (x)"
        let second = "\(path): line 2: storag: unknown setting, did you mean \"storage\"?"
        #expect(error?.description == "\(first)\n\(second)")
        #expect(error?.sentence == "\(first); \(second)")
        #expect(error?.exitCode == 64)
    }

    // MARK: - What was meant

    @Test(arguments: [
        ("alerts: {HighOffline: {}}", "alerts.HighOffline", "HighOfflineRate"),
        ("alerts: {high_offline_rate: {}}", "alerts.high_offline_rate", "HighOfflineRate"),
        ("alerts: {NoOnline: {}}", "alerts.NoOnline", "NoOnlineResponders"),
        ("web: {listenAddress: x}", "web.listenAddress", "listen_address"),
        ("retention: 7d", "retention", "storage.retention"),
        ("offline_after: 7m", "offline_after", "liveness.on_duty.offline_after"),
        (
            "liveness: {offline_after: 7m}", "liveness.offline_after",
            "liveness.on_duty.offline_after"
        ),
        ("feed: {stall: 7m}", "feed.stall", "stall_after"),
    ])
    func `a name that was cut short, or stands elsewhere, is suggested`(
        yaml: String, key: String, meant: String
    ) {
        #expect(faults(yaml) == ["line 1: \(key): unknown setting, did you mean \"\(meant)\"?"])
    }

    @Test(arguments: ["alerts: {Hig: {}}", "colour: red", "a: 1", "storage: {xyz: 1}"])
    func `what resembles nothing has no suggestion`(yaml: String) {
        #expect(faults(yaml).count == 1)
        #expect(!faults(yaml)[0].contains("did you mean"))
    }

    // MARK: - Spans

    @Test(arguments: [
        ("2m30s", 150_000), ("2w", 1_209_600_000), ("1y", 31_536_000_000),
        ("1h30m", 5_400_000), ("1d12h", 129_600_000), ("1s500ms", 1500), ("0s", 0),
        ("1y2w3d4h5m6s7ms", 33019506007),
        ("90s", 90_000), ("1500ms", 1500), ("007s", 7000),
    ])
    func `spans are written as Prometheus has them`(text: String, milliseconds: Int64) {
        #expect(SettingText.duration(text) == Milliseconds(milliseconds))
    }

    @Test(arguments: [
        "", "s", "5", "0", "30s2m", "1m1m", "1m 30s", " 1m", "1m ", "-1s", "+1s", "1.5s", "1M",
        "1min", "1sec", "2mo", "1m30", "m", "9223372036854775807s", "9223372036854775807ms1s",
        "300000000y", "１s", "1ｓ",
    ])
    func `anything else is no span`(text: String) {
        #expect(SettingText.duration(text) == nil)
    }

    @Test func `a span is taken in both writings wherever one is asked for`() throws {
        var sources = SettingSources()
        let read = try Configuration(
            yaml: "storage: {retention: 2w}\nliveness: {on_duty: {offline_after: 2m30s}}",
            sources: &sources)
        #expect(read.policy.retention == .seconds(14 * 86_400))
        #expect(read.policy.onDuty.offlineAfter == .seconds(150))
        // It is told in the units that people compare: thresholds in seconds, history in days.
        #expect(SettingText.of(.seconds(150)) == "150s")
        #expect(SettingText.of(.seconds(14 * 86_400)) == "14d")
    }

    // MARK: - Secrets that everybody can read

    private func warnings(_ yaml: String, mode: mode_t) throws -> [String] {
        directory.write("open.yml", yaml, mode: mode)
        return try SettingsSource(
            path: directory.path + "/open.yml", flags: [:], environment: [:]
        ).read().warnings
    }

    @Test func `a file with secrets that everybody can read is told at the start and by check`()
        throws
    {
        let token = "web: {tokens: [{name: a, scopes: [read], token: 0123456789abcdef}]}\n"
        let path = directory.path + "/open.yml"
        let one = [
            "\(path): every user of this machine can read it, and the secret web.tokens[0].token in it: "
                + "chmod o-r, or name files instead (…_file)"
        ]
        #expect(try warnings(token, mode: 0o644) == one)
        #expect(
            try SettingsCheck(path: path, environment: [:]).text.contains("warning: \(one[0])\n"))
        for mode in [0o640, 0o600] as [mode_t] { #expect(try warnings(token, mode: mode) == []) }
        // Each kind of secret counts, a URL that is none does not.
        let others = """
            receivers:
              - {name: p, pagerduty: {routing_key: abc}}
              - {name: s, slack: {url: 'https://hooks.example/x'}}
              - {name: w, webhook: {url: 'http://127.0.0.1:1', bearer_token: abc}}
            """
        let told = try warnings(others, mode: 0o604)
        #expect(told.count == 1)
        #expect(told[0].contains("receivers[0].pagerduty.routing_key and 2 more in it"))
        #expect(
            try warnings(
                "receivers: [{name: w, webhook: {url: 'http://127.0.0.1:1'}}]", mode: 0o644) == [])
        #expect(!told[0].contains("abc"))
    }

    // MARK: - The meaning

    @Test func `D7: an Alertmanager is told again each minute, whatever repeat_interval says`()
        throws
    {
        directory.write(
            "told.yml",
            """
            receivers:
              - {name: am, alertmanager: {urls: ['http://127.0.0.1:9093']}, repeat_interval: 2h}
              - {name: hook, webhook: {url: 'http://127.0.0.1:1'}, repeat_interval: 2h}
            """)
        let words = try SettingsCheck(path: directory.path + "/told.yml", environment: [:]).text
        #expect(
            words.contains(
                "am (alertmanager at http://127.0.0.1:9093) is told of every alert, again every "
                    + "60 s while it fires, and when it ends.\n"))
        #expect(
            words.contains(
                "hook (webhook at http://127.0.0.1:1) is told of every alert, again every 2 h "
                    + "while it fires, and when it ends.\n"))
    }
}
