import ArgumentParser
import Glibc
import RollcallBasis
import RollcallCore
import RollcallSupport
import RollcallTools

/// The options that say which server is asked, and as whom.
struct ServerPlace: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The server; ROLLCALL_SERVER says it too. (default: \(ServerAddress.standard))",
            valueName: "url"))
    var server: String?

    @Option(
        help: ArgumentHelp(
            "A file with a token; ROLLCALL_TOKEN_FILE or ROLLCALL_TOKEN say it too.",
            valueName: "file"), completion: .file())
    var tokenFile: String?

    @Option(
        help: ArgumentHelp(
            "The user whose password the token is; ROLLCALL_USER says it too.", valueName: "name"))
    var user: String?

    @Option(
        help: ArgumentHelp(
            "A file with an authority that vouches for the server; ROLLCALL_CA_FILE says it too.",
            valueName: "file"), completion: .file())
    var caFile: String?

    @Option(
        help: ArgumentHelp(
            "A file with our certificate, if asked for; ROLLCALL_CERT_FILE says it too.",
            valueName: "file"), completion: .file())
    var certFile: String?

    @Option(
        help: ArgumentHelp(
            "A file with the certificate's key; ROLLCALL_KEY_FILE says it too.",
            valueName: "file"), completion: .file())
    var keyFile: String?

    /// True if they or the environment name a server.
    var isNamed: Bool {
        server != nil || SettingsSource.environment["ROLLCALL_SERVER"]?.isEmpty == false
    }

    /// The server that they and the environment name; else the one at the URL `otherwise`, or at the usual
    /// one.
    /// - Throws: `QuestionError` if one of them is wrong.
    func address(otherwise: String? = nil) throws(QuestionError) -> ServerAddress {
        var options = ServerAddress.Options()
        options.user = user
        options.authorityPath = caFile
        options.certificatePath = certFile
        options.keyPath = keyFile
        return try ServerAddress(
            url: isNamed ? server : otherwise, tokenPath: tokenFile, options: options,
            environment: SettingsSource.environment)
    }
}

/// The options that say where the answers come from, and how they are printed.
struct ServerOptions: ParsableArguments {
    @OptionGroup
    var place: ServerPlace

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
    /// - Throws: `ExitCode` of 1 or 69 if it lacks something; else those of `print`.
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
    /// - Throws: `ExitCode` of 1 if something is, of 69 if the part of a cell is; else those of `print`.
    func ask(
        _ answer: (ServerQuestions, ConsoleStyle, Timestamp) throws(QuestionError) -> String?
    ) throws {
        var lack: String?
        var missing = MissingCells()
        try reach { (address, now) throws(QuestionError) in
            let questions = try ServerQuestions(address)
            lack = try answer(questions, .ofStandardOutput(isLocal: local), now)
            missing = questions.missing
        }
        if let lack { complain(lack) }
        if let sentence = missing.sentence {
            complain(sentence)
            throw ExitCode(69)
        }
        if lack != nil { throw ExitCode(1) }
    }

    /// Does `work` with the server's address and the wall's time; says what went wrong.
    /// - Throws: `ExitCode` as `print` does.
    func reach(_ work: (ServerAddress, Timestamp) throws(QuestionError) -> Void) throws {
        do throws(QuestionError) {
            let address = try place.address()
            try work(address, ClockReading.now().wall)
        } catch {
            // Who read has gone, and wants no word of it.
            if error != .notPrinted(EPIPE) { complain("\(error)") }
            throw ExitCode(error.exitCode)
        }
    }
}

/// Writes a text on standard output, all of it.
/// - Throws: `QuestionError` if the system does not take it.
func put(_ text: String) throws(QuestionError) {
    let failure = StandardOutput.write(Array(text.utf8), to: STDOUT_FILENO)
    if failure != 0 { throw .notPrinted(failure) }
}
