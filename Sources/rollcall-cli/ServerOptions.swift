import ArgumentParser
import Glibc
import RollcallBasis
import RollcallCore
import RollcallSupport
import RollcallTools

/// The options that say where the answers come from, and how they are printed.
struct ServerOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The server; ROLLCALL_SERVER says it too. (default: \(ServerAddress.standard))",
            valueName: "url"))
    var server: String?

    @Option(
        help: ArgumentHelp(
            "A file with a token; ROLLCALL_TOKEN_FILE or ROLLCALL_TOKEN say it too.",
            valueName: "file"))
    var tokenFile: String?

    @Flag(help: "Print JSON.")
    var json = false

    @Flag(help: "Print times in the zone of this machine, not in UTC.")
    var local = false

    /// Asks the server and prints what is to be printed; else says why not.
    /// - Throws: `ExitCode` of 1, 64 or 69 if an option is wrong, or there is no answer.
    func print(
        _ answer: (ServerQuestions, ConsoleStyle, Timestamp) throws(QuestionError) -> String
    ) throws {
        var now = timespec()
        clock_gettime(CLOCK_REALTIME, &now)
        let milliseconds = Int64(now.tv_sec) * 1000 + Int64(now.tv_nsec) / 1_000_000
        do throws(QuestionError) {
            let address = try ServerAddress(
                url: server, tokenPath: tokenFile, environment: SettingsSource.environment)
            let text = try answer(
                try ServerQuestions(address), .ofStandardOutput(isLocal: local),
                Timestamp(milliseconds: milliseconds))
            Swift.print(text, terminator: "")
        } catch {
            complain("\(error)")
            throw ExitCode(error.exitCode)
        }
    }
}
