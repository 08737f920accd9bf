import ArgumentParser
import RollcallBasis

/// `rollcall config`: the default file.
struct ConfigCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "config",
        abstract: "Print a file of all settings with their defaults and what they mean."
    )

    func run() throws { print(SettingsFile.text(), terminator: "") }
}
