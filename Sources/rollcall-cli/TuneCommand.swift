import ArgumentParser
import RollcallTools

/// `rollcall tune`: what other settings would have done with the fleet's own history.
struct TuneCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "tune",
        abstract: "Try other settings on a history and tell what each would have brought.",
        discussion: """
            FILE is what replay takes; - reads standard input. It is read once and folded with every \
            setting by the server's own engine. Without --set the usual twenty are tried, each by \
            itself. A setting is only advised if it misses nothing that the present ones find.
            """
    )

    @Argument(help: "The history, NDJSON; - for standard input.", completion: .file())
    var file: String

    @Option(
        name: .customLong("config.file"),
        help: "Settings to begin with, instead of the history's own.", completion: .file())
    var configurationFile: String?

    @Option(
        name: .customLong("set"),
        help: ArgumentHelp(
            "Try these values: liveness.on_duty.offline_after=120s,240s. Can be repeated.",
            valueName: "key=values"))
    var wishes: [String] = []

    @Flag(help: "Try every value of a --set with every value of the others.")
    var grid = false

    @Option(help: "An OFFLINE that is over within this span was a false alarm.")
    var healsWithin = "5m"

    @Option(help: "What things cost: \(TuneCosts.standard).")
    var costs: String?

    @Option(help: "Tell phones apart by their \(TuneCosts.phoneNames).")
    var by = "manufacturer"

    @Flag(help: "Print JSON.")
    var json = false

    @Option(help: "Also write a page with plots.", completion: .file())
    var html: String?

    func run() throws {
        try orExit {
            var options = TuneJob.Options(path: file)
            options.configurationPath = configurationFile
            options.wishes = wishes
            options.isGrid = grid
            options.healsWithin = try TuneCosts.span(healsWithin)
            options.phoneName = try TuneCosts.phoneName(by)
            if let costs { options.weights = try TuneCosts.weights(costs) }
            try TunePrint(options, isJSON: json, pagePath: html).run()
        }
    }
}
