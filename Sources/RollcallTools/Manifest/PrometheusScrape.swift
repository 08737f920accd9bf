import RollcallBasis
import RollcallCore
import RollcallSupport

/// The scrape configuration that `rollcall manifest prometheus` prints.
enum PrometheusScrape {
    static func text(_ settings: ManifestSettings?) -> String {
        let access = settings?.scrapeAccess
        var target: [UInt8] = []
        let address = settings?.scrapeAddress ?? Configuration().listenAddress
        JSONWriter.string(address.utf8, to: &target)
        return """
            # A scrape configuration for Prometheus 2 and 3, printed by `rollcall manifest prometheus`.
            # Append the job to `scrape_configs` of your prometheus.yml, or use this file as it is.
            # What is yours to decide is marked CHANGE.
            scrape_configs:
              - job_name: rollcall
                # Statuses are exact at the instant of a scrape; what happens in between is counted.
                scrape_interval: 15s
                scrape_timeout: 5s
                # Keeps Rollcall's labels as they are documented. Where a target of yours has a label
                # `region`, `platform` or `source` too, Prometheus would else rename Rollcall's to
                # `exported_region` and so on, and alerts by region would go wrong without a word.
                # Rollcall sets neither `job` nor `instance`: they stay what Prometheus says.
                honor_labels: true
                static_configs:
                  # CHANGE: the address as Prometheus reaches it; with web.metrics_listen_address, that.
                  # In Kubernetes: backend-0.rollcall.NAMESPACE.svc:10113
                  - targets: [\(String(decoding: target, as: UTF8.self))]
                # CHANGE: on a listener with web.tokens, a token of scope read. The listener of
                # web.metrics_listen_address needs none.

            """ + lines(access?.hasTokens == true, token)
                + web(access?.web, hasTokens: access?.hasTokens == true)
    }

    private static let token = [
        "authorization:", "  type: Bearer", "  credentials_file: /etc/prometheus/rollcall.token",
    ]

    /// Lines of the job; a comment unless `isOn`.
    private static func lines(_ isOn: Bool, _ lines: [String]) -> String {
        lines.map { "    \(isOn ? "" : "# ")\($0)\n" }.joined()
    }

    /// The lines that go with a web configuration. Its files are the server's own: those that Prometheus reads are
    /// for somebody to put there. Prometheus shows a token or a password, not both.
    private static func web(_ web: WebSettings?, hasTokens: Bool) -> String {
        let whose =
            web.map { "The settings name a web configuration, \(ConsoleText.safe($0.name))" }
            ?? "with web.config_file"
        var tls = ["tls_config:", "  ca_file: /etc/prometheus/rollcall-ca.pem"]
        if web?.tls?.clientAuth.isRequired == true {
            tls += [
                "  cert_file: /etc/prometheus/rollcall-client.pem",
                "  key_file: /etc/prometheus/rollcall-client.key",
            ]
        }
        let users = web?.users.map(\.name) ?? []
        let usual = "prometheus"
        let user = users.contains(usual) ? usual : users.first ?? usual
        return """
                # CHANGE: \(whose). With TLS in it the scheme is https, with an
                # authority that Prometheus has a file of; with users, one of them and a password, or a token.

            """
                + lines(web?.tls != nil, ["scheme: https"] + tls)
                + lines(
                    !users.isEmpty && !hasTokens,
                    [
                        "basic_auth:",
                        "  username: \(user == usual ? usual : SecretMounts.quoted(user))",
                        "  password_file: /etc/prometheus/rollcall.password",
                    ])
    }
}

extension ManifestSettings {
    /// The ways to be let in at `scrapeAddress`: nil at the listener that asks nobody and speaks no TLS.
    fileprivate var scrapeAccess: (hasTokens: Bool, web: WebSettings?)? {
        let access = configuration.accessPolicy
        guard access.metricsListenAddress.isEmpty else { return nil }
        return (hasTokens, access.web.name.isEmpty ? nil : access.web)
    }
}
