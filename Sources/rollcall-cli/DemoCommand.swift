import ArgumentParser
import FoundationEssentials
import Glibc
import Logging
import Rollcall
import RollcallBasis
import RollcallSupport
import RollcallTools

/// `rollcall demo`: a server with simulated phones, to see what it does.
struct DemoCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "demo",
        abstract: "See it work in two minutes: a server, forty simulated phones, and their story.",
        discussion: """
            A real server on loopback, with short settings of its own (no file, no variables). What \
            happens to phones and what Rollcall makes of it is told line by line; everything that \
            is shown of Rollcall it answered or sent. Ctrl-C ends it and removes its store.
            """
    )

    @Option(
        name: .customLong("web.listen-address"),
        help: "Where to listen, loopback only; port 0 picks a free one. (default: 127.0.0.1:10112)")
    var listenAddress: String?

    @Option(
        name: .customLong("storage.path"),
        help: "Keep the store, in a file that does not exist yet. (default: a folder that goes)",
        completion: .file())
    var storagePath: String?

    @Option(
        help: """
            So many members of one watch, 2 or 3, on an etcd that it starts: their leader is killed.
            """)
    var members: Int?

    @Flag(help: "End with the script: 0 if all that it waits for was seen, else 1.")
    var once = false

    @Flag(help: "Print the settings that it runs with, and end.")
    var printConfig = false

    @Option(
        name: .customLong("log.level"),
        help: "What of the server's log to show: debug, info, warn or error. (default: warn)")
    var logLevel: String?

    func run() throws {
        var options = Demo.Options()
        if let listenAddress { options.listenAddress = listenAddress }
        options.storagePath = storagePath
        options.endsAfterScript = once
        if let members, !Demo.members.contains(members) {
            throw ValidationError("--members: 2 or 3 expected (\(members))")
        }
        options.members = members
        options.program = Demo.program(
            CommandLine.arguments.first ?? "", here: FileManager.default.currentDirectoryPath)
        let levelText = logLevel ?? "warn"
        guard let level = Logger.Level(rawValue: levelText == "warn" ? "warning" : levelText) else {
            throw ValidationError(
                "--log.level: debug, info, warn or error expected "
                    + "(\(ConsoleText.safe(levelText)))")
        }
        options.logLevel = level
        do throws(Demo.Fault) {
            let demo = try Demo(options, serve: Self.serve)
            if printConfig {
                print(demo.settings, terminator: "")
                return
            }
            Glibc.exit(try demo.run())
        } catch {
            complain(error.description)
            throw ExitCode(error.exitCode)
        }
    }

    /// Starts the real server for the demo.
    private static func serve(
        _ configuration: Configuration, _ source: SettingsSource, _ log: Logger
    ) throws(DemoServer.Fault) -> DemoServer {
        do throws(ServerError) {
            let server = try Server(configuration, source: source, log: log)
            return DemoServer(port: server.port) { server.stop() }
        } catch {
            let isTaken =
                if case .listener(_, .socket(_, _, EADDRINUSE)) = error { true } else { false }
            throw DemoServer.Fault(isAddressTaken: isTaken, description: "\(error)")
        }
    }
}
