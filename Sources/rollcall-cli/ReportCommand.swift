import ArgumentParser
import Glibc
import RollcallBasis
import RollcallSupport
import RollcallTools

/// `rollcall report`: one file for a report of a bug.
struct ReportCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "report",
        abstract: "Write one file without personal data for a report of a bug.",
        discussion: """
            Asks the server, if one answers, and reads what it can without: versions, settings \
            without names and secrets, metrics, what the process and its threads do, the disk, what \
            the store is made of, the last log lines. Each part says what it could not get, and why; \
            a server that hangs is waited for some seconds. Run it on the server's machine, as the \
            server's user or root, with a token of the scopes read and admin. Read the file before \
            you send it.
            """
    )

    @Option(
        help: ArgumentHelp(
            "The file; - is standard output. (default: rollcall-report-TIME.txt)", valueName: "file"
        ), completion: .file())
    var output: String?

    @OptionGroup
    var server: ServerPlace

    @Option(
        name: .customLong("storage.path"),
        help: "The database; the settings say it too. (default: ./rollcall.db)",
        completion: .file())
    var storagePath: String?

    @Option(
        name: .customLong("config.file"), help: "The server's settings, YAML.", completion: .file())
    var configurationFile: String?

    @Flag(help: "Leave the names of regions, sources and receivers in it.")
    var withNames = false

    func run() throws {
        let now = ClockReading.now().wall
        let source = SettingsSource(
            path: configurationFile, flags: ["storage.path": storagePath], isInsecure: true,
            environment: SettingsSource.environment)
        let address: ServerAddress
        do throws(QuestionError) {
            // What cannot be read is told in the report.
            address = try server.address(otherwise: (try? source.read()).flatMap(ServerAddress.url))
        } catch {
            complain("\(error)")
            throw ExitCode(error.exitCode)
        }
        var report = Report(
            Report.Place(
                address: address, isAddressAssumed: !server.isNamed, storagePath: storagePath,
                source: source, showsNames: withNames))
        let text = report.make(at: now)
        // What hangs in a thread of its own must not hold this up.
        if output == "-" {
            do throws(QuestionError) { try put(text) } catch { finish(error.exitCode) }
            finish(0)
        }
        let path = output ?? ReportFile.name(at: now)
        do throws(ReportFileError) {
            try ReportFile.write(text, to: path)
        } catch {
            complain("\(error)")
            finish(error.exitCode)
        }
        try? put(
            "\(path): \(text.utf8.count) bytes, \(text.split(separator: "\n").count) lines. Read it before you send it.\n"
        )
        finish(0)
    }

    private func finish(_ status: CInt) -> Never {
        fflush(nil)
        _exit(status)
    }
}
