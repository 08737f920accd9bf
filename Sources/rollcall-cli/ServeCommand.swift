import ArgumentParser
import Glibc
import Logging
import Rollcall

/// `rollcall serve`: the watch itself.
struct ServeCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve",
        abstract: "Take what phones and backends say, keep the watch, expose metrics.",
        discussion: """
            A flag wins over the configuration file, the file over the default. Once ready, one \
            line with the address goes to standard output; logs go to standard error. SIGTERM and \
            SIGINT end it: what was acknowledged is stored.
            """
    )

    @Option(name: .customLong("config.file"), help: "Settings, YAML.")
    var configurationFile: String?

    @Option(
        name: .customLong("web.listen-address"),
        help: "Where to listen, host:port; port 0 picks a free one. (default: 127.0.0.1:10112)")
    var listenAddress: String?

    @Option(
        name: .customLong("storage.path"), help: "The database. (default: ./rollcall.db)")
    var storagePath: String?

    @Option(name: .customLong("log.level"), help: "debug, info, warn or error.")
    var logLevel = "info"

    @Option(name: .customLong("log.format"), help: "logfmt or json.")
    var logFormat = "logfmt"

    func run() throws {
        guard let level = Logger.Level(rawValue: logLevel == "warn" ? "warning" : logLevel) else {
            throw ValidationError("--log.level: debug, info, warn or error expected (\(logLevel))")
        }
        guard let format = LogFormat(rawValue: logFormat) else {
            throw ValidationError("--log.format: logfmt or json expected (\(logFormat))")
        }
        var settings = Configuration()
        if let configurationFile {
            settings = try orExit { try InputFile.configuration(configurationFile) }
        }
        settings.listenAddress = listenAddress ?? settings.listenAddress
        settings.storagePath = storagePath ?? settings.storagePath
        Foreground.run(settings, level: level, format: format)
    }
}
