import ArgumentParser
import Glibc
import Rollcall
import RollcallCore

/// `rollcall simulate`: a fleet that does not exist, with phones that behave as phones do.
struct SimulateCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "simulate",
        abstract: "Make up a fleet with a known truth: a file for replay, or a store.",
        discussion: """
            Phones move, sleep, lose their network, are swiped away and come back; backends buffer, \
            repeat and overtake. The same options give the same bytes. --truth tells who was silent \
            when, and why.
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

    @Option(name: .shortAndLong, help: "Write lines for `rollcall replay`; - for standard output.")
    var output: String?

    @Option(help: "Write a store that `rollcall serve` opens.")
    var store: String?

    @Option(help: "Write who was silent when, and why, as NDJSON.")
    var truth: String?

    @Option(name: .customLong("config.file"), help: "Settings to decide by.")
    var configurationFile: String?

    func run() throws {
        var options = FleetOptions()
        options.responders = responders
        options.regions = regions
        options.days = days
        options.span = span
        options.seed = seed
        options.start = start
        guard (output == nil) != (store == nil) else {
            throw ValidationError("one of --output and --store expected")
        }
        do throws(FleetError) {
            let simulation = try FleetSimulation(
                options, truth: truth, configurationPath: configurationFile)
            if let output {
                complain(try simulation.write(file: output))
            } else if let store {
                complain(try simulation.write(store: store))
            }
        } catch {
            complain("\(error)")
            throw ExitCode(error.exitCode)
        }
    }
}
