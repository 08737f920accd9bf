import ArgumentParser
import RollcallSupport
import RollcallTools

/// `rollcall manifest`: files for those who run it and scrape it.
struct ManifestCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "manifest",
        abstract: "Print a systemd unit, a Kubernetes manifest or a scrape configuration.",
        discussion: """
            The file goes to standard output. It works as it is, where the comments marked CHANGE \
            say nothing else. With --config.file it is made for these settings: the unit reads \
            that file, the ConfigMap holds its text, Prometheus scrapes its address.
            """
    )

    @Argument(help: "systemd, kubernetes or prometheus.")
    var kind: String

    @Option(name: .customLong("config.file"), help: "Settings to make it for.")
    var configurationFile: String?

    func run() throws {
        guard let manifest = Manifest(rawValue: kind) else {
            throw ValidationError(
                "systemd, kubernetes or prometheus expected "
                    + "(\(ConsoleText.safe(kind)))")
        }
        try orExit {
            try manifest.write(try configurationFile.map { try ManifestSettings(path: $0) })
        }
    }
}
