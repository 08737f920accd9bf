import ArgumentParser
import RollcallBasis
import RollcallSupport
import RollcallTools

/// `rollcall manifest`: files for those who run it and scrape it.
struct ManifestCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "manifest",
        abstract:
            "Print a unit for systemd, a manifest, a scrape configuration, a mirror, or completions.",
        discussion: """
            The file goes to standard output. It works as it is, where the comments marked CHANGE \
            say nothing else. With --config.file it is made for these settings: the unit reads \
            that file, the ConfigMap holds its text, Prometheus scrapes its address, and nginx and \
            Envoy mirror to it what phones post to your backend. With --members \
            it is for several of one watch, whose etcd the unit of `manifest etcd` runs. `completions` \
            prints what bash, zsh or fish completes the command line by; `man` writes manual pages into \
            a folder, and prints their names.
            """
    )

    @Argument(
        help: "\(Self.kindWords).",
        completion: .list(Manifest.allCases.map(\.rawValue) + ["completions", "man"]))
    var kind: String

    @Argument(
        help: "Of completions: bash, zsh or fish. Of man: the folder.",
        completion: .list(CompletionShell.allCases.map(\.rawValue)))
    var target: String?

    @Option(name: .customLong("config.file"), help: "Settings to make it for.", completion: .file())
    var configurationFile: String?

    @Option(help: "For so many members of one watch, 2 or 3. (default: one alone; etcd: 3)")
    var members: Int?

    private static let kindWords =
        "systemd, kubernetes, prometheus, etcd, nginx, envoy, completions or man"

    func run() throws {
        switch kind {
        case "completions": return try printCompletions()
        case "man": return try writeManual()
        default: break
        }
        guard let manifest = Manifest(rawValue: kind) else {
            throw ValidationError("\(Self.kindWords) expected (\(ConsoleText.safe(kind)))")
        }
        if let target {
            throw ValidationError("\(kind): one word expected (\(ConsoleText.safe(target)))")
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

    /// Prints what a shell completes the command line by.
    private func printCompletions() throws {
        try checkAlone()
        guard let shell = CompletionShell(rawValue: target ?? "") else {
            throw ValidationError(
                "completions: bash, zsh or fish expected (\(ConsoleText.safe(target ?? "")))")
        }
        try orExit {
            var bytes = Array("\(RollcallCommand.completionScript(for: shell))\n".utf8)
            try StandardOutput.write(&bytes)
        }
    }

    /// Writes manual pages into a folder.
    private func writeManual() throws {
        try checkAlone()
        guard let target, !target.isEmpty else {
            throw ValidationError("man: a folder for the pages expected")
        }
        try orExit {
            guard let pages = ManPages(dump: RollcallCommand._dumpHelp()) else { return }
            let names = try pages.write(into: target)
            var bytes = Array((names.map(ConsoleText.safe).joined(separator: "\n") + "\n").utf8)
            try StandardOutput.write(&bytes)
        }
    }

    private func checkAlone() throws {
        if configurationFile != nil || members != nil {
            throw ValidationError("\(kind): goes without --config.file and --members")
        }
    }
}
