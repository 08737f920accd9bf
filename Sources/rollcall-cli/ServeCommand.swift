import ArgumentParser
import Glibc
import Logging
import Rollcall
import RollcallBasis
import RollcallSupport

/// `rollcall serve`: the watch itself.
struct ServeCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve",
        abstract: "Take what phones and backends say, keep the watch, expose metrics.",
        discussion: """
            A flag wins over its ROLLCALL_… variable, that over the configuration file, the file \
            over the default. Once ready, one line with the address goes to standard output; logs \
            go to standard error. SIGHUP reads the settings again. SIGTERM and SIGINT end it: what \
            was acknowledged is stored.
            """
    )

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
        name: .customLong("storage.path"), help: "The database. (default: ./rollcall.db)",
        completion: .file())
    var storagePath: String?

    @Option(
        name: .customLong("log.level"), help: "debug, info, warn or error. (default: info)")
    var logLevel: String?

    @Option(
        name: .customLong("log.format"), help: "logfmt or json. (default: logfmt)")
    var logFormat: String?

    func run() throws {
        let source = SettingsSource(
            path: configurationFile,
            flags: [
                "web.listen_address": listenAddress,
                "web.metrics_listen_address": metricsListenAddress,
                "web.config_file": webConfigurationFile, "storage.path": storagePath,
            ],
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
        let settings = try orExit { try source.read() }
        Foreground.run(settings, source: source, level: level, format: format)
    }
}
