import ArgumentParser
import RollcallCore
import RollcallTools

/// `rollcall replay`: folds a file in virtual time and prints every decision.
struct ReplayCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "replay",
        abstract: "Fold a file of events in virtual time and print each decision as a line.",
        discussion: """
            FILE holds lines {"at":T,"kind":K,"source"?:S,"body":…} in time order; - reads standard \
            input; a store is read as `rollcall export` writes it. With --config.file its settings \
            decide and `policy` lines are ignored. With --verify nothing is printed but whether \
            that was decided which the export says, or where it first differs.
            """
    )

    @Argument(help: "The events, NDJSON, or a store; - for standard input.", completion: .file())
    var file: String

    @Option(
        name: .customLong("config.file"), help: "Settings to decide by: what if.",
        completion: .file())
    var configurationFile: String?

    @Flag(help: "Also print what became of every update.")
    var updates = false

    @Flag(help: "Compare with what had been decided; 1 if something differs.")
    var verify = false

    @Flag(help: "With --verify: print what came of it as JSON.")
    var json = false

    func validate() throws {
        if json, !verify {
            throw ValidationError("--json goes with --verify: without it each line is JSON already")
        }
        if verify, configurationFile != nil || updates {
            throw ValidationError(
                "--verify compares what was decided: it takes neither --config.file nor --updates")
        }
    }

    func run() throws {
        if verify {
            let (report, isSame) = try orExit { try VerifyFile(path: file, isJSON: json).run() }
            print(report, terminator: "")
            if !isSame { throw ExitCode(1) }
            return
        }
        let replay = ReplayFile(
            path: file, configurationPath: configurationFile, reportsUpdates: updates)
        try orExit { try replay.run() }
    }
}
