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
    /// - Throws: `ExitCode` of 1, 64 or 69 if an option is wrong, or there is no answer; 74 if it
    ///   cannot be printed.
    func print(
        _ answer: (ServerQuestions, ConsoleStyle, Timestamp) throws(QuestionError) -> String
    ) throws {
        try ask { (questions, style, now) throws(QuestionError) in
            try put(try answer(questions, style, now))
            return nil
        }
    }

    /// Asks the server and prints a list; says what it lacks.
    /// - Throws: `ExitCode` of 1 if it lacks something; else those of `print`.
    func list(
        _ answer: (ServerQuestions, ConsoleStyle, Timestamp) throws(QuestionError) -> Printout
    ) throws {
        try ask { (questions, style, now) throws(QuestionError) in
            let printout = try answer(questions, style, now)
            try put(printout.text)
            return printout.lack
        }
    }

    /// Asks the server; `answer` prints, and returns what is lacking in it.
    /// - Throws: `ExitCode` of 1 if something is; else those of `print`.
    func ask(
        _ answer: (ServerQuestions, ConsoleStyle, Timestamp) throws(QuestionError) -> String?
    ) throws {
        var now = timespec()
        clock_gettime(CLOCK_REALTIME, &now)
        let milliseconds = Int64(now.tv_sec) * 1000 + Int64(now.tv_nsec) / 1_000_000
        let lack: String?
        do throws(QuestionError) {
            let address = try ServerAddress(
                url: server, tokenPath: tokenFile, environment: SettingsSource.environment)
            lack = try answer(
                try ServerQuestions(address), .ofStandardOutput(isLocal: local),
                Timestamp(milliseconds: milliseconds))
        } catch {
            // Who read has gone, and wants no word of it.
            if error != .notPrinted(EPIPE) { complain("\(error)") }
            throw ExitCode(error.exitCode)
        }
        guard let lack else { return }
        complain(lack)
        throw ExitCode(1)
    }
}

/// Writes a text on standard output, all of it.
/// - Throws: `QuestionError` if the system does not take it.
func put(_ text: String) throws(QuestionError) {
    let failure = StandardOutput.write(Array(text.utf8), to: STDOUT_FILENO)
    if failure != 0 { throw .notPrinted(failure) }
}
