import ArgumentParser
import Rollcall
import RollcallCore

/// `rollcall replay`: folds a file in virtual time and prints every decision.
struct ReplayCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "replay",
        abstract: "Fold a file of events in virtual time and print each decision as a line.",
        discussion: """
            FILE holds lines {"at":T,"kind":K,"source"?:S,"body":…} in time order; - reads standard \
            input. With --config.file its settings decide and `policy` lines are ignored.
            """
    )

    @Argument(help: "The events, NDJSON; - for standard input.")
    var file: String

    @Option(name: .customLong("config.file"), help: "Settings to decide by: what if.")
    var configurationFile: String?

    @Flag(help: "Also print what became of every update.")
    var updates = false

    func run() throws {
        let replay = ReplayFile(
            path: file, configurationPath: configurationFile, reportsUpdates: updates)
        try orExit { try replay.run() }
    }
}
