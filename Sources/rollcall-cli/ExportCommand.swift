import ArgumentParser
import RollcallTools

/// `rollcall export`: a store's history as a file that can be replayed.
struct ExportCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "export",
        abstract: "Write a store's history as lines that can be replayed.",
        discussion: """
            Reads the store of a running server, or of none, and disturbs neither. It begins with \
            the newest kept checkpoint not after --since, else with the oldest history there is. \
            Push tokens and secrets are not in it; ids of people are.
            """
    )

    @Option(
        name: .customLong("storage.path"),
        help: "The database; ROLLCALL_STORAGE_PATH says it too. (default: ./rollcall.db)",
        completion: .file())
    var storagePath: String?

    @Option(help: "From then on, or a little before: 24h, or 2026-11-21T03:00:00Z.")
    var since: String?

    @Option(help: "Up to then, said alike. (default: now)")
    var until: String?

    @Option(help: ArgumentHelp("Write to this file.", valueName: "file"), completion: .file())
    var output: String?

    func run() throws {
        var options = ExportFile.Options()
        options.path = storagePath
        options.since = since
        options.until = until
        options.output = output
        let export: ExportFile
        do throws(QuestionError) {
            export = try ExportFile(options)
        } catch {
            complain("\(error)")
            throw ExitCode(error.exitCode)
        }
        try orExit { try export.run(say: complain) }
    }
}
