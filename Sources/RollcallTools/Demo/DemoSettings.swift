/// The settings that the demo runs with: those of a real fleet, in seconds instead of minutes and
/// hours.
struct DemoSettings {
    /// The name under which the demo's backend writes.
    static let source = "demo"
    /// The interval at which it beats, in seconds.
    static let beatSeconds = 5
    /// A secret that is none: it signs what never leaves this machine.
    static let signingKey = "whsec_dGhlIGRlbW8gc2lnbnMgb24gbG9vcGJhY2sgb25seQ=="
    /// The URL of the receivers in a file that is only printed.
    static let receiversStandard = "http://127.0.0.1:10113"

    var listenAddress: String
    /// The store; nil where nobody knows yet.
    var storagePath: String?
    /// The URL at which the demo itself takes pages and pushes.
    var receivers = receiversStandard

    /// The file.
    var text: String {
        let storage = storagePath.map { "storage: {path: \(Self.quoted($0))}\n" } ?? ""
        return """
            # What `rollcall demo` runs with. Spans are short so that minutes show what takes hours;
            # the defaults, which real fleets want, stand behind them.
            web: {listen_address: \(Self.quoted(listenAddress))}
            \(storage)liveness:
              on_duty: {expected: 2s, degraded_after: 4s, offline_after: 8s}      # 60s, 90s, 180s
              on_mission: {expected: 1s, degraded_after: 2s, offline_after: 4s}   # 15s, 30s, 60s
            alerts:
              NoOnlineResponders: {for: 4s, keep_firing_for: 4s}                  # 60s, 2m
              HighOfflineRate: {for: 2s}                                          # 60s
            # The demo's own receivers: it prints what they get. Each start takes a free port.
            receivers:
              - name: oncall
                webhook: {url: "\(receivers)/oncall", secret: "\(Self.signingKey)"}
                match: {severity: critical}
              - name: chat
                webhook: {url: "\(receivers)/chat", secret: "\(Self.signingKey)"}
                match: {severity: warning}
            nudges:
              stale_after: 20s                                                    # 4h
              min_interval: 2m                                                    # 6h
              ttl: 1m                                                             # 1h
              sink: {webhook: {url: "\(receivers)/pushes", secret: "\(Self.signingKey)"}}

            """
    }

    /// A text between quotation marks. Source: YAML 1.2.2 §7.3.1.
    static func quoted(_ text: String) -> String {
        "\""
            + text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"")
            .replacing("\n", with: "\\n") + "\""
    }
}
