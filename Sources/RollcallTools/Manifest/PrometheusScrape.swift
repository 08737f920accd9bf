import RollcallBasis
import RollcallCore

/// The scrape configuration that `rollcall manifest prometheus` prints.
enum PrometheusScrape {
    static func text(_ settings: ManifestSettings?) -> String {
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
                # authorization:
                #   type: Bearer
                #   credentials_file: /etc/prometheus/rollcall.token
            \(web(settings?.scrapeWeb))

            """
    }

    /// The lines that go with a web configuration: its files are the server's own, so that most of it is a
    /// comment until somebody has decided.
    private static func web(_ name: String?) -> String {
        let scheme = name == nil ? "    # scheme: https" : "    scheme: https"
        let whose = name.map { "The settings name a web configuration, \($0)" }
        return """
                # CHANGE: \(whose ?? "with web.config_file"). With TLS in it the scheme is https, with an
                # authority that Prometheus has a file of; with users, one of them and a password.
            \(scheme)
                # tls_config:
                #   ca_file: /etc/prometheus/rollcall-ca.pem
                # basic_auth:
                #   username: prometheus
                #   password_file: /etc/prometheus/rollcall.password
            """
    }
}
