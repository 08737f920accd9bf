import ArgumentParser
import Rollcall
import RollcallBasis

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

    @OptionGroup
    var options: ListeningOptions

    @Option(
        name: .customLong("storage.path"), help: "The database. (default: ./rollcall.db)",
        completion: .file())
    var storagePath: String?

    func run() throws {
        try options.run(flags: ["storage.path": storagePath]) { settings in
            guard settings.cluster.fleetCell.isEmpty else {
                throw ValidationError(
                    "cluster.fleet_cell is a gateway's: start this one with rollcall gateway")
            }
        }
    }
}
