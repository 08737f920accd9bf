import ArgumentParser
import RollcallTools

/// `rollcall watch`: how everything stands, live.
struct WatchCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "watch",
        abstract: "Show how everything stands, live, the worst first.",
        discussion: """
            Draws on a terminal of any size: the sentence, alerts with who took them, regions, and who \
            is silent longest. It changes as soon as something is decided, and says so if the server does \
            not answer. q or Ctrl-C ends it.
            """
    )

    @Option(
        help: """
            Between two changes at least: 1s to 10m. (default: \(WatchRun.intervalStandard))
            """)
    var interval = WatchRun.intervalStandard

    @OptionGroup var server: ServerOptions

    func run() throws {
        if server.json {
            complain("--json: watch draws for people; rollcall events --follow -o json prints JSON")
            throw ExitCode(64)
        }
        try server.reach { (address, _) throws(QuestionError) in
            try WatchRun(address, interval: interval, isLocal: server.local).run()
        }
    }
}
