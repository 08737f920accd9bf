import ArgumentParser
import RollcallBasis

/// `rollcall check`: what a file of settings means.
struct CheckCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Tell in words what a file of settings means, and what is weak in it.",
        discussion: """
            FILE (- is standard input) is judged by itself, as serve would read it; variables that \
            would win are named. Ends with 64 and the message of serve if it is wrong.
            """
    )

    @Argument(help: "The settings, YAML; - for standard input.")
    var file: String

    @Flag(help: "End with 1 if something is weak.")
    var strict = false

    @Flag(help: "Print JSON.")
    var json = false

    func run() throws {
        let check = try orExit {
            try SettingsCheck(path: file, environment: SettingsSource.environment)
        }
        print(json ? check.json : check.text, terminator: "")
        if strict, !check.configurationWarnings.isEmpty { throw ExitCode(1) }
    }
}
