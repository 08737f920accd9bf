import ArgumentParser
import RollcallTools

/// The option of every command that prints a list.
struct ListOptions: ParsableArguments {
    @Option(
        name: .shortAndLong,
        help: ArgumentHelp(
            "json, table, csv or ids. (default: table; --json is -o json)", valueName: "form"))
    var output: OutputForm?

    /// The form that is asked for, here or by `--json`.
    /// - Throws: `ExitCode` of 64 if both ask, for two.
    func form(_ server: ServerOptions) throws -> OutputForm {
        guard server.json else { return output ?? .table }
        guard output ?? .json == .json else {
            complain("--json and -o \(output?.rawValue ?? ""): one form expected")
            throw ExitCode(64)
        }
        return .json
    }
}

extension OutputForm: ExpressibleByArgument {}
extension StatusPart: ExpressibleByArgument {}
