import ArgumentParser
import Glibc
import RollcallCore
import RollcallTools
import Synchronization

/// `rollcall simulate`: a fleet that does not exist, with phones that behave as phones do.
struct SimulateCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "simulate",
        abstract: "Make up a fleet with a known truth: as a file, as a store, or against a server.",
        discussion: """
            Phones move, sleep, lose their network, are swiped away and come back; backends buffer, \
            repeat and overtake. The same options give the same bytes. --truth tells who was silent \
            when, and why. Against a server the fleet may live faster than the clock: then its \
            intervals and silences shrink, and so must the server's thresholds (--print-config).
            """
    )

    @Option(help: "People. (default: 1000)")
    var responders = 1000

    @Option(help: "Regions that they work in. (default: 4)")
    var regions = 4

    @Option(help: "So many days. (default: 1)")
    var days: Int64?

    @Option(name: .customLong("for"), help: "So long instead: 90m. Below a day all begin at once.")
    var span: String?

    @Option(help: "What decides all that is drawn. (default: 1)")
    var seed: UInt64 = 1

    @Option(
        help: "Begin at 2026-11-21T00:00:00Z, say; a store else ends now. (default: that date)")
    var start: String?

    @Option(
        name: .shortAndLong, help: "Write lines for `rollcall replay`; - for standard output.",
        completion: .file())
    var output: String?

    @Option(help: "Write a store that `rollcall serve` opens.", completion: .file())
    var store: String?

    @Option(help: ArgumentHelp("Report to the server there.", valueName: "url"))
    var target: String?

    @Option(help: "With --target: so many times faster than the clock, 1x to 100x. (default: 1x)")
    var speed = "1x"

    @Option(
        help: ArgumentHelp(
            "A file with a token; ROLLCALL_TOKEN_FILE or ROLLCALL_TOKEN say it too.",
            valueName: "file"), completion: .file())
    var tokenFile: String?

    @Flag(help: "Print what came of it as JSON; not with --output -.")
    var json = false

    @Flag(help: "Print settings for a server whose fleet lives at --speed, and nothing else.")
    var printConfig = false

    @Option(help: "Write who was silent when, and why, as NDJSON.", completion: .file())
    var truth: String?

    @Option(name: .customLong("config.file"), help: "Settings to decide by.", completion: .file())
    var configurationFile: String?

    func run() throws {
        var options = FleetOptions()
        options.responders = responders
        options.regions = regions
        options.days = days
        options.span = span
        options.seed = seed
        options.start = start
        do throws(FleetError) {
            if printConfig {
                return print(
                    FleetConfiguration.text(speed: try FleetTarget.speed(speed)), terminator: "")
            }
            guard [output, store, target].count(where: { $0 != nil }) == 1 else {
                throw .wrongOption("one of --output, --store and --target expected")
            }
            if json, output == "-" {
                throw .wrongOption("--json: the lines go to standard output already")
            }
            let simulation = try FleetSimulation(
                options, truth: truth, configurationPath: configurationFile)
            if let output {
                say(try simulation.write(file: output))
            } else if let store {
                say(try simulation.write(store: store))
            } else if let target {
                Interrupt.watch()
                let summary = try simulation.report(
                    to: target, speed: speed, tokenPath: tokenFile,
                    isInterrupted: { Interrupt.hasCome })
                print(json ? summary.json : summary.text, terminator: "")
            }
        } catch {
            complain("\(error)")
            throw ExitCode(error.exitCode)
        }
    }

    private func say(_ written: FleetSimulation.Written) {
        if json { print(written.json, terminator: "") } else { complain(written.text) }
    }
}

/// `Interrupt` knows whether somebody wants the command to end.
private enum Interrupt {
    private static let flag = Atomic(false)

    /// True once SIGINT or SIGTERM has come.
    static var hasCome: Bool { flag.load(ordering: .relaxed) }

    /// Takes the first SIGINT or SIGTERM for a wish; the second ends the process.
    static func watch() {
        // A static is made when it is first touched, which must not be in a signal's handler.
        _ = hasCome
        for number in [SIGINT, SIGTERM] {
            signal(number) { number in
                Interrupt.flag.store(true, ordering: .relaxed)
                signal(number, SIG_DFL)
            }
        }
    }
}
