import ArgumentParser
import Rollcall

/// `rollcall`: argument parsing and printing, nothing else.
@main
struct RollcallCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rollcall",
        abstract: "Who of your people can be reached now, and why not the others.",
        version: BuildInformation.text,
        subcommands: [ServeCommand.self, ReplayCommand.self]
    )
}
