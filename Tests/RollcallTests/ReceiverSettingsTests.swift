import RollcallCore
import Testing

@testable import RollcallBasis
@testable import RollcallSupport

/// The list `receivers`, and `alive_ping`. Source: A8, §11.
@Suite struct ReceiverSettingsTests {
    private static let key = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

    /// Reads as `serve` does; with files in `directory`.
    private func read(
        _ yaml: String, in directory: TemporaryDirectory? = nil, hasCurl: Bool = true
    ) throws -> (configuration: Configuration, sources: SettingSources) {
        var sources = SettingSources()
        sources.directory = directory?.path ?? ""
        sources.missingCurl = { hasCurl ? nil : CurlMissing(troubles: ["no libcurl.so.4"]) }
        let configuration = try Configuration(yaml: yaml, sources: &sources)
        return (configuration, sources)
    }

    private func fault(_ entry: String, hasCurl: Bool = true) -> String {
        do {
            _ = try read("receivers:\n  - {\(entry)}", hasCurl: hasCurl)
            return "no error"
        } catch {
            return "\(error)"
        }
    }

    @Test(arguments: ["", "receivers:", "receivers: []"])
    func `without receivers alerts go to the log`(yaml: String) throws {
        let configuration = try read(yaml).configuration
        #expect(configuration.policy.receivers == [Receiver(name: Array("log".utf8), kind: .log)])
        #expect(configuration.receivers == [ReceiverAddress(name: "log", kind: .log)])
        #expect(configuration.alivePing.url == nil)
        #expect(configuration == Configuration())
    }

    @Test func `each kind is read with what it needs, and its secrets from files`() throws {
        let directory = TemporaryDirectory()
        directory.write("pd", "routing-key\n")
        directory.write("hook", Self.key + "\n")
        directory.write("slack", "https://hooks.slack.example/T/secret\n")
        directory.write("bearer", "token\n")
        directory.write("password", "pass word\n")
        let configuration = try read(
            """
            receivers:
              - name: oncall
                pagerduty: {routing_key_file: pd}
                match: {severity: critical, region: "a|b", alertname: "!=Watchdog"}
                send_resolved: false
                repeat_interval: 30m
              - name: hook
                webhook: {url: "https://hooks.example.org/alerts?k=v", secret_file: hook, bearer_token_file: bearer}
                match: ["severity!=info", 'region="north"']
              - {name: chat, slack: {url_file: slack}}
              - name: am
                alertmanager: {urls: ["http://127.0.0.1:9093", "http://[::1]:9093/am"]}
                resolve_timeout: 30m
              - {name: lines, log: {}}
              - {name: phones, ntfy: {url: "https://ntfy.example/topic", username: phil, password_file: password}}
            """, in: directory
        ).configuration
        let receivers = configuration.policy.receivers
        #expect(
            receivers.map(\.kind) == [.pagerduty, .webhook, .slack, .alertmanager, .log, .ntfy])
        #expect(receivers.map(\.targets) == [1, 1, 1, 2, 1, 1])
        #expect(
            receivers[0].match.map(MatcherText.text) == [
                "severity=critical", "region=a|b", "alertname!=Watchdog",
            ])
        // D9: the address says until when, the outbox for how long ends are told.
        #expect(receivers[3].resolveTimeout == .seconds(1800))
        #expect(configuration.receivers[3].resolveTimeout == .seconds(1800))
        #expect(receivers[0].sendsResolved == false)
        #expect(receivers[0].repeatInterval == .seconds(1800))
        #expect(receivers[1].match.map(MatcherText.text) == ["severity!=info", "region=north"])
        #expect(receivers[1].sendsResolved && receivers[1].repeatInterval == .seconds(14_400))
        let addresses = configuration.receivers
        #expect(addresses.map(\.name) == ["oncall", "hook", "chat", "am", "lines", "phones"])
        #expect(addresses[0].urls == ["https://events.pagerduty.com/v2/enqueue"])
        #expect(addresses[0].routingKey?.bytes == Array("routing-key".utf8))
        #expect(addresses[1].urls == ["https://hooks.example.org/alerts?k=v"])
        #expect(addresses[1].signingKeys.count == 1)
        #expect(addresses[1].bearer?.bytes == Array("token".utf8))
        #expect(addresses[2].urls == ["https://hooks.slack.example/T/secret"])
        #expect(addresses[3].urls == ["http://127.0.0.1:9093", "http://[::1]:9093/am"])
        #expect(addresses[4] == ReceiverAddress(name: "lines", kind: .log))
        #expect(addresses[5].urls == ["https://ntfy.example/topic"])
        #expect(addresses[5].basicCredentials == "cGhpbDpwYXNzIHdvcmQ=")
    }

    @Test(
        arguments: [
            ("log: {}", ".name must be 1 to 64 letters, digits and . _ - ()"),
            ("name: 'a b', log: {}", ".name must be 1 to 64 letters, digits and . _ - (a b)"),
            (
                "name: x",
                ": exactly one of alertmanager, webhook, pagerduty, opsgenie, slack, ntfy, email, log must be given"
            ),
            (
                "name: x, log: {}, slack: {url: 'https://a'}",
                ": exactly one of alertmanager, webhook, pagerduty, opsgenie, slack, ntfy, email, log must be given"
            ),
            (
                "name: x, pagerdutty: {}",
                ".pagerdutty: unknown setting, did you mean \"pagerduty\"?"
            ),
            ("name: x, pagerduty: {}", ".pagerduty.routing_key or routing_key_file must be given"),
            ("name: x, webhook: {}", ".webhook.url or url_file must be given"),
            ("name: x, slack: {}", ".slack.url or url_file must be given"),
            ("name: x, opsgenie: {}", ".opsgenie.api_key or api_key_file must be given"),
            ("name: x, ntfy: {}", ".ntfy.url or url_file must be given"),
            (
                "name: x, ntfy: {url: 'https://a/topsecret/'}",
                ".ntfy.url must end with a topic, 1 to 64 letters, digits, - and _: "
                    + "https://host/topic"
            ),
            (
                "name: x, ntfy: {url: 'https://a/t', username: u}",
                ".ntfy.password or password_file must be given beside username"
            ),
            (
                "name: x, ntfy: {url: 'https://a/t', password: topsecret}",
                ".ntfy.username must be given beside password"
            ),
            (
                "name: x, ntfy: {url: 'https://a/t', username: 'u:v', password: topsecret}",
                ".ntfy.username must have no colon and no control characters"
            ),
            (
                "name: x, ntfy: {url: 'https://a/t', username: u, password: topsecret, "
                    + "bearer_token: topsecret}",
                ".ntfy.username and bearer_token must not both be given"
            ),
            ("name: x, alertmanager: {}", ".alertmanager.urls must be given"),
            (
                "name: x, alertmanager: {urls: []}",
                ".alertmanager.urls must be a list of 1 to 16 URLs"
            ),
            (
                "name: x, alertmanager: {urls: ['http://a', 'http://a']}",
                ".alertmanager.urls must not hold the same URL twice"
            ),
            (
                "name: x, slack: {url: 'hooks.slack.com/topsecret'}",
                ".slack.url must be like https://host/path or http://host:port"
            ),
            (
                "name: x, slack: {url: 'https://user:topsecret@a/'}",
                ".slack.url must not hold a user or a password: readers of URLs show them"
            ),
            (
                "name: x, alertmanager: {urls: ['http://a', 'http://topsecret@b']}",
                ".alertmanager.urls must not hold a user or a password: readers of URLs show them"
            ),
            (
                "name: x, webhook: {url: 'https://a', secret: topsecret}",
                ".webhook.secret must be whsec_ and the base64 of 24 to 64 bytes; openssl rand "
                    + "-base64 32 makes such bytes"
            ),
            (
                "name: x, pagerduty: {routing_key: 'top secret'}",
                ".pagerduty.routing_key must have visible characters only"
            ),
            (
                "name: x, slack: {url: 'https://a', ca_file: /missing}",
                ".slack.ca_file must name a file of certificates in PEM that can be read (/missing)"
            ),
            (
                "name: x, log: {}, match: {'7': a}",
                ".match must begin with a label's name of "
                    + "letters, digits and _, no digit first"
            ),
            (
                "name: x, log: {}, match: [severity]",
                ".match must be like name=value, name!=value "
                    + "or name=a|b"
            ),
            (
                "name: x, log: {}, match: ['a=~b.*']",
                ".match regular expressions are not "
                    + "understood: name=a|b is any of them"
            ),
            ("name: x, log: {}, match: all", ".match must be a mapping, a list, or none"),
            ("name: x, log: {}, colour: red", ".colour: unknown setting"),
            ("name: x, log: {level: warn}", ".log.level: unknown setting"),
        ])
    func `a wrong receiver is told with its rule and never its secret`(
        entry: String, message: String
    ) {
        let text = fault(entry)
        #expect(text.hasPrefix("line 2: receivers[0]"))
        #expect(text.hasSuffix("receivers[0]" + message.replacing(" ()", with: "")))
        #expect(!text.contains("topsecret") && !text.contains("top secret"))
    }

    @Test func `R2: a receiver that is told of what nobody has taken is read, told and warned of`()
        throws
    {
        let text = """
            receivers:
              - {name: oncall, webhook: {url: "http://127.0.0.1:9/"}, match: {severity: warning}}
              - {name: boss, webhook: {url: "http://127.0.0.1:9/"}, escalate_after: 15m}
            """
        let configuration = try read(text).configuration
        let receivers = configuration.policy.receivers
        #expect(receivers.map(\.escalateAfter) == [.seconds(0), .seconds(900)])
        #expect(
            configuration.notifyingWords[1].hasSuffix(
                "is told of every alert that nobody has taken after 15 m, again every 4 h while "
                    + "it fires, and when it ends."))
        let entries = ReceiverField.entries(configuration).map(\.text)
        #expect(!entries[0].contains("escalate_after"))
        #expect(entries[1].contains("escalate_after: 15m"))
        #expect(
            Policy(journalBytes: configuration.policy.journalBytes)?.receivers == receivers)
        // Nothing critical is told anybody at once.
        let late = "nobody is told of NoOnlineResponders when it fires"
        #expect(configuration.receiverWarnings.contains { $0.reason.hasPrefix(late) })
        let soon = try read(text.replacing("severity: warning", with: "severity: critical"))
        #expect(!soon.configuration.receiverWarnings.contains { $0.reason.hasPrefix(late) })
    }

    @Test func `D3: a fallback is read with its time, and told as it is`() throws {
        let configuration = try read(
            """
            receivers:
              - {name: oncall, log: {}, fallback: duty-phone, fallback_after: 90s}
              - {name: chat, log: {}, fallback: duty-phone}
              - {name: duty-phone, log: {}, match: none}
            """
        ).configuration
        let receivers = configuration.policy.receivers
        #expect(receivers.map(\.fallback).map { $0.count } == [10, 10, 0])
        #expect(receivers.map(\.fallbackAfter) == [.seconds(90), .seconds(60), .seconds(60)])
        let words = configuration.notifyingWords
        #expect(words[1].hasSuffix(", and when it ends; after 60 s untaken: duty-phone."))
        #expect(
            words[2]
                == "duty-phone (log) is told only what others have not taken, and when it ends.")
        #expect(!configuration.receiverWarnings.contains { $0.key.hasSuffix(".match") })
        let entries = ReceiverField.entries(configuration).map(\.text)
        #expect(entries[0].hasSuffix("fallback: duty-phone, fallback_after: 90s"))
        #expect(entries[2].contains("match: none"))
        #expect(
            Policy(journalBytes: configuration.policy.journalBytes)?.receivers == receivers)
    }

    @Test(
        arguments: [
            ("{name: a, log: {}, fallback: b}", "[0].fallback must be the name of a receiver (b)"),
            (
                "{name: a, log: {}, fallback: duty-fone}, {name: duty-phone, log: {}}",
                "[0].fallback must be the name of a receiver, did you mean \"duty-phone\"? (duty-fone)"
            ),
            ("{name: a, log: {}, fallback: a}", "[0].fallback must be another receiver (a)"),
            (
                "{name: a, log: {}, fallback: b}, {name: b, log: {}, fallback: a}",
                "[0].fallback must not lead back: a → b → a (b)"
            ),
            (
                "{name: a, log: {}, fallback: b}, {name: b, log: {}, fallback: c}, "
                    + "{name: c, log: {}, fallback: b}",
                "[1].fallback must not lead back: b → c → b (c)"
            ),
            (
                "{name: a, log: {}, fallback_after: 60s}",
                "[0].fallback_after says when, but fallback does not say who"
            ),
            (
                "{name: a, log: {}, fallback: b, fallback_after: 4s}, {name: b, log: {}}",
                "[0].fallback_after must be a duration such as 1500ms, 90s, 2m30s, 4h or 30d, "
                    + "from 5s to 12h (4s)"
            ),
            (
                "{name: a, log: {}, fallback: b, fallback_after: 13h}, {name: b, log: {}}",
                "[0].fallback_after must be a duration such as 1500ms, 90s, 2m30s, 4h or 30d, "
                    + "from 5s to 12h (13h)"
            ),
        ])
    func `D3: a fallback that nobody is, or that leads back, is an error`(
        entries: String, message: String
    ) {
        var text = "no error"
        do {
            _ = try read("receivers: [\(entries)]")
        } catch { text = "\(error)" }
        #expect(text == "line 1: receivers\(message)")
    }

    @Test func `D3: who is passed over for another fault is not missed as a fallback`() {
        let yaml = "receivers: [{name: a, log: {}, fallback: 'b c'}, {name: 'b c', log: {}}]"
        do {
            _ = try read(yaml)
            Issue.record("no error")
        } catch { #expect("\(error)".contains("receivers[1].name must be")) }
    }

    @Test func `D3: whom nothing reaches is warned of unless somebody falls back on them`() throws {
        let alone = try read("receivers: [{name: a, log: {}}, {name: b, log: {}, match: none}]")
        #expect(
            alone.configuration.receiverWarnings.map(\.reason).contains(
                "none, and b is nobody's fallback: it is never told anything"))
    }

    @Test func `two receivers must not share a name`() {
        #expect(throws: ConfigurationError.self) {
            try read("receivers: [{name: a, log: {}}, {name: a, log: {}}]")
        }
    }

    @Test(arguments: [
        (64, 16, 32, 64, true), (65, 1, 1, 1, false), (1, 17, 1, 1, false), (1, 1, 33, 1, false),
        (1, 1, 1, 65, false),
    ])
    func `receivers, addresses, conditions and values have their most`(
        receivers: Int, urls: Int, matchers: Int, values: Int, isLegal: Bool
    ) throws {
        let places = (0..<urls).map { "'http://a\($0)'" }.joined(separator: ", ")
        let value = (0..<values).map { "\($0)" }.joined(separator: "|")
        let match = (0..<matchers).map { "'a\($0)=\(value)'" }.joined(separator: ", ")
        let entries = (0..<receivers).map {
            "{name: r\($0), alertmanager: {urls: [\(places)]}, match: [\(match)]}"
        }
        let yaml = "receivers: [\(entries.joined(separator: ", "))]"
        if isLegal {
            #expect(try read(yaml).configuration.receivers.count == receivers)
        } else {
            #expect(throws: ConfigurationError.self) { try read(yaml) }
        }
    }

    @Test func `several secrets sign while one is replaced by another`() throws {
        func yaml(_ count: Int) -> String {
            let secrets = Array(repeating: "{secret: \(Self.key)}", count: count)
            return "receivers: [{name: a, webhook: {url: 'https://a', secrets: "
                + "[\(secrets.joined(separator: ", "))]}}]"
        }
        #expect(try read(yaml(4)).configuration.receivers[0].signingKeys.count == 4)
        #expect(throws: ConfigurationError.self) { try read(yaml(5)) }
    }

    @Test func `A12: without libcurl a receiver is an error that names the package`() throws {
        #expect(
            fault("name: x, slack: {url: 'https://a'}", hasCurl: false)
                == "line 2: receivers[0].slack: libcurl cannot be loaded (no libcurl.so.4): "
                + "install it (on Debian, package libcurl4 or curl)")
        #expect(fault("name: x, log: {}", hasCurl: false) == "no error")
        #expect(throws: ConfigurationError.self) {
            try read("alive_ping: {url: 'https://a'}", hasCurl: false)
        }
        _ = try read("alive_ping: {url: '', every: 1h}", hasCurl: false)
    }

    @Test func `a replay knows the receivers and neither their secrets nor libcurl`() throws {
        let configuration = try Configuration(
            yaml: """
                receivers:
                  - {name: oncall, pagerduty: {routing_key_file: /missing}, match: {severity: critical}}
                  - {name: hook, webhook: {url: "https://a", secret_file: /missing, ca_file: /missing}}
                  - {name: exported, slack: {}}
                  - {name: am, alertmanager: {}}
                alive_ping: {url_file: /missing}
                """)
        let names = configuration.policy.receivers.map { String(decoding: $0.name, as: UTF8.self) }
        #expect(names == ["oncall", "hook", "exported", "am"])
        #expect(configuration.receivers == [])
        #expect(configuration.alivePing.url == nil)
    }

    @Test func `a reload tells which receiver is another one, and never a secret`() throws {
        let rest = "{name: b, log: {}}]"
        let hook = "receivers: [{name: a, webhook: {url: 'https://a/topsecret'}"
        let old = try read("\(hook)}, \(rest)").configuration
        func change(_ yaml: String) throws -> [String] {
            let new = try read(yaml).configuration
            return SettingsChange(from: old, started: old, to: new).changed.map(\.description)
        }
        #expect(
            try change("\(hook), repeat_interval: 1h}, {name: c, log: {}}]") == [
                "receivers.a: webhook: {https://a}, repeat_interval: 4h → webhook: {https://a}, "
                    + "repeat_interval: 1h",
                "receivers.b: log: {}, repeat_interval: 4h → none",
                "receivers.c: none → log: {}, repeat_interval: 4h",
            ])
        #expect(
            try change("receivers: [{name: a, webhook: {url: 'https://a/other'}}, \(rest)") == [
                "receivers: addresses and secrets → others of the same name"
            ])
        #expect(try change("\(hook)}, \(rest)") == [])
        let turned = "receivers: [{name: b, log: {}}, {name: a, webhook: {url: "
        #expect(
            try change("\(turned)'https://a/topsecret'}}]") == [
                "receivers: their order → another order"
            ])
    }

    @Test func `the ping has limits`() throws {
        #expect(try read("alive_ping: {every: 10s}").configuration.alivePing.every == .seconds(10))
        #expect(throws: ConfigurationError.self) { try read("alive_ping: {every: 9999ms}") }
        #expect(throws: ConfigurationError.self) { try read("alive_ping: {every: 3601s}") }
        #expect(throws: ConfigurationError.self) { try read("alive_ping: {url: nowhere}") }
    }
}
