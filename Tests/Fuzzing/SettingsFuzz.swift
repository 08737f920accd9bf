import RollcallCore

@testable import RollcallBasis
@testable import RollcallTools

/// Files of settings. One that is taken says the same again as the tree of its policy, has a meaning
/// that can be told, and an error names a line that there is.
enum SettingsFuzz {
    static let target = FuzzTarget("settings", texts: samples) { bytes in
        let text = String(decoding: bytes, as: UTF8.self)
        var sources = SettingSources()
        // What is on this machine must not decide.
        sources.opensSecrets = false
        sources.missingCurl = { nil }
        let configuration: Configuration
        do throws(ConfigurationError) {
            configuration = try Configuration(yaml: text, sources: &sources)
        } catch {
            let ends = "\n\r\u{85}\u{2028}\u{2029}".unicodeScalars
            let lines = text.unicodeScalars.count { ends.contains($0) }
            if case .file(let line) = error.origin {
                require((0...(lines + 2)).contains(line), "line \(line) of \(lines)")
            }
            require(!"\(error)".isEmpty, "an error says something")
            return
        }
        _ = (configuration.summary, configuration.configurationWarnings, configuration.warnings)
        require(!SettingsFile.text(configuration).isEmpty, "it can be printed")
        let tree = String(decoding: PolicyTree.text(configuration.policy), as: UTF8.self)
        guard let again = try? Configuration(yaml: tree) else { fatalError("not read: \(tree)") }
        require(
            PolicyTree.text(again.policy) == Array(tree.utf8), "the same rules come back: \(tree)")
    }

    private static let samples = [
        SettingsFile.text(), String(decoding: PolicyTree.text(Policy()), as: UTF8.self),
        """
        web: {listen_address: "[::1]:8080", external_url: https://a.example/b, trusted_hosts: [a.example-shadow, "[::2]"], person_url: "https://a.example/{id}"}
        storage: {path: ./x.db, retention: 30d, size: 4GiB}
        liveness: &a
          on_duty: {expected: 15s, degraded_after: 90s, offline_after: 3m}
          platform_factors: {ios: 1.5, android: 1e0}
        coverage: {regions: [north, "a|b", 'c d']}
        limits: {body: 8MiB, items: 10_000, depth: 0x10}
        """,
        """
        receivers:
          - name: pager
            webhook: {url: "https://a.example/x", signing_secret: whsec_MDEyMzQ1Njc4OWFiY2RlZg==}
            match: ["severity=critical", "region!=a|b"]
          - {name: slack, slack: {url: https://hooks.example/T/B/x}}
          - {name: mail, email: {url: smtp://m.example:587, from: a@b.example, to: [c@d.example]}}
          - {name: team, opsgenie: {api_url: https://api.eu.opsgenie.com, api_key: 0123-4567}}
          - {name: phones, ntfy: {url: https://ntfy.example/rollcall, username: u, password: p}}
        nudges:
          mode: dry_run
          sink: {expo: {access_token: abcdefgh, channel: c}}
          quiet_hours: {from: "22:00", until: "06:00", time_zone: Europe/Berlin}
        alive_ping: {url: https://a.example/ping, every: 60s}
        otlp: {endpoint: "https://c.example/otlp", temporality: delta, headers: [{name: a, value: b}], resource: {a.b: c}}
        alerts:
          HighOfflineRate: {for: 5m, share: 0.25}
        """,
        "? [a, {b: !!binary aGk=}]\n: *x\n--- |\n  text\n...\n- - - <<: [*a]\n",
    ]
}
