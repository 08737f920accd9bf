import ArgumentParser
import Logging
import Rollcall
import RollcallBasis
import RollcallSupport

/// The options of whatever listens: where, and where its settings stand.
struct ListeningOptions: ParsableArguments {
    @Option(name: .customLong("config.file"), help: "Settings, YAML.", completion: .file())
    var configurationFile: String?

    @Option(
        name: .customLong("web.listen-address"),
        help: "Where to listen, host:port; port 0 picks a free one. (default: 127.0.0.1:10112)")
    var listenAddress: String?

    @Option(
        name: .customLong("web.metrics-listen-address"),
        help: "Where /metrics and health have a listener of their own, host:port. (default: none)")
    var metricsListenAddress: String?

    @Option(
        name: .customLong("web.config.file"),
        help: "TLS, users and headers, as every exporter reads them. (default: none)",
        completion: .file())
    var webConfigurationFile: String?

    @Flag(help: "Listen beyond loopback without tokens: everybody reads and writes all.")
    var insecure = false

    @Option(
        name: .customLong("log.level"), help: "debug, info, warn or error. (default: info)")
    var logLevel: String?

    @Option(
        name: .customLong("log.format"), help: "logfmt or json. (default: logfmt)")
    var logFormat: String?

    /// Reads the settings, of which `flags` says more than the options here, and runs until a signal ends
    /// it. `check` throws if they are another program's.
    func run(
        flags: [String: String?] = [:], isGateway: Bool = false,
        check: (Configuration) throws -> Void
    ) throws {
        let source = SettingsSource(
            path: configurationFile,
            flags: [
                "web.listen_address": listenAddress,
                "web.metrics_listen_address": metricsListenAddress,
                "web.config_file": webConfigurationFile,
            ].merging(flags) { $1 },
            isInsecure: insecure,
            environment: SettingsSource.environment)
        let levelText = logLevel ?? source.value(of: .logLevel) ?? "info"
        guard let level = Logger.Level(rawValue: levelText == "warn" ? "warning" : levelText) else {
            throw ValidationError(
                "--log.level: debug, info, warn or error expected "
                    + "(\(ConsoleText.safe(levelText)))")
        }
        let formatText = logFormat ?? source.value(of: .logFormat) ?? "logfmt"
        guard let format = LogFormat(rawValue: formatText) else {
            throw ValidationError(
                "--log.format: logfmt or json expected "
                    + "(\(ConsoleText.safe(formatText)))")
        }
        let settings = try orExit {
            let settings = try source.read()
            try check(settings)
            return settings
        }
        Foreground.run(
            settings, source: source, level: level, format: format, isGateway: isGateway)
    }
}
