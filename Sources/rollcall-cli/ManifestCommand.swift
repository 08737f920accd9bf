import ArgumentParser
import RollcallSupport
import RollcallTools

/// `rollcall manifest`: files for those who run it and scrape it.
struct ManifestCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "manifest",
        abstract: "Print a unit for systemd, a manifest, a scrape configuration or a mirror.",
        discussion: """
            The file goes to standard output. It works as it is, where the comments marked CHANGE \
            say nothing else. With --config.file it is made for these settings: the unit reads \
            that file, the ConfigMap holds its text, Prometheus scrapes its address, and nginx and \
            Envoy mirror to it what phones post to your backend. With --members \
            it is for several of one watch, whose etcd the unit of `manifest etcd` runs.
            """
    )

    @Argument(help: "systemd, kubernetes, prometheus, etcd, nginx or envoy.")
    var kind: String

    @Option(name: .customLong("config.file"), help: "Settings to make it for.")
    var configurationFile: String?

    @Option(help: "For so many members of one watch, 2 or 3. (default: one alone; etcd: 3)")
    var members: Int?

    func run() throws {
        guard let manifest = Manifest(rawValue: kind) else {
            throw ValidationError(
                "systemd, kubernetes, prometheus, etcd, nginx or envoy expected "
                    + "(\(ConsoleText.safe(kind)))")
        }
        if let members {
            guard Manifest.members.contains(members) else {
                throw ValidationError("--members: 2 or 3 expected (\(members))")
            }
            guard manifest.isOfMembers else {
                throw ValidationError("--members: \(kind) is the same for one and for several")
            }
        }
        if manifest == .etcd, configurationFile != nil {
            throw ValidationError("--config.file: etcd reads no settings of Rollcall's")
        }
        try orExit {
            let settings = try configurationFile.map { try ManifestSettings(path: $0) }
            try manifest.write(settings, members: members)
        }
    }
}
