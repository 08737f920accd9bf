import ArgumentParser
import Glibc
import RollcallBasis
import RollcallSupport

/// `rollcall`: argument parsing and printing, nothing else.
@main
struct RollcallCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rollcall",
        abstract: "Who of your people can be reached now, and why not the others.",
        version: BuildInformation.text,
        subcommands: [
            ServeCommand.self, GatewayCommand.self, DemoCommand.self, CheckCommand.self,
            ConfigCommand.self,
            BackupCommand.self, ExportCommand.self, ReplayCommand.self, TuneCommand.self,
            SimulateCommand.self, ManifestCommand.self, NowCommand.self, StatusCommand.self,
            WatchCommand.self, PeopleCommand.self, GapsCommand.self, ExplainCommand.self,
            EventsCommand.self,
            NudgesCommand.self, SilenceCommand.self, AskCommand.self, TakeCommand.self,
            DrillCommand.self, ClusterCommand.self, MapCommand.self, ReportCommand.self,
            UpgradeCommand.self, DowngradeCommand.self,
        ],
        defaultSubcommand: NowCommand.self
    )
}

/// Runs `body`; if that throws, says why on standard error and throws the `ExitCode` of an input's
/// error, else 64 (sysexits.h EX_USAGE). The arguments were well-formed, so their usage is not what
/// the reader needs.
func orExit<Value>(_ body: () throws -> Value) throws -> Value {
    do {
        return try body()
    } catch let error as InputFileError {
        complain("\(error)")
        throw ExitCode(error.exitCode)
    } catch {
        complain("\(error)")
        throw ExitCode(64)
    }
}

/// Says on standard error what is wrong. It may quote a file or an argument, which a terminal must
/// not obey.
func complain(_ text: String) {
    advise("rollcall: \(ConsoleText.safeLines(text))")
}

/// Writes lines that are safe for a terminal on standard error.
func advise(_ text: String) {
    _ = Array("\(text)\n".utf8).withUnsafeBytes {
        write(STDERR_FILENO, $0.baseAddress, $0.count)
    }
}
