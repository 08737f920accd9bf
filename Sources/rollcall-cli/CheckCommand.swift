import ArgumentParser
import RollcallBasis

/// `rollcall check`: what a file of settings means.
struct CheckCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Tell in words what a file of settings means, and what is weak in it.",
        discussion: """
            FILE (- is standard input) is judged by itself, as serve would read it; variables that \
            would win are named. Ends with 64 and the message of serve if it is wrong. With \
            cluster.log the engine of the log is asked how it is set up; ends with 1 if that is \
            unsafe. What does not answer is said, and is no failure.
            """
    )

    @Argument(help: "The settings, YAML; - for standard input.", completion: .file())
    var file: String

    @Flag(help: "End with 1 if something is weak.")
    var strict = false

    @Flag(help: "Print JSON.")
    var json = false

    func run() throws {
        let check = try orExit {
            try SettingsCheck(path: file, environment: SettingsSource.environment)
        }
        let log = LogCheck(check.cluster)
        if json {
            let tree = log.map { check.tree.with(["log": $0.tree]) } ?? check.tree
            print(tree.printed, terminator: "")
        } else {
            print(check.text + (log?.text ?? ""), terminator: "")
        }
        if let log, !log.refused.isEmpty { throw ExitCode(1) }
        let isWeak = !check.configurationWarnings.isEmpty || log?.weak.isEmpty == false
        if strict, isWeak { throw ExitCode(1) }
    }
}
