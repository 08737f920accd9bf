import ArgumentParser
import RollcallBasis
import RollcallSupport
import RollcallTools

/// `rollcall manifest`: files for those who run it and scrape it.
struct ManifestCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "manifest",
        abstract:
            "Print a unit for systemd, a manifest, a scrape, rules for Prometheus, a mirror, or completions.",
        discussion: """
            The file goes to standard output. It works as it is, where the comments marked CHANGE \
            say nothing else. With --config.file it is made for these settings: the unit reads \
            that file, the ConfigMap holds its text, Prometheus scrapes its address, and nginx and \
            Envoy mirror to it what phones post to your backend. With --members \
            it is for several of one watch, whose etcd the unit of `manifest etcd` runs. `rules` prints \
            Rollcall's alerts for Prometheus with the thresholds of these settings, but for those that \
            Rollcall tells receivers of its own; `alertmanager` who gets them. `completions` \
            prints what bash, zsh or fish completes the command line by; `man` writes manual pages, and \
            `helm` a chart, into a folder, and they print the names.
            """
    )

    @Argument(
        help: "\(Self.kindWords).",
        completion: .list(Manifest.allCases.map(\.rawValue) + ["helm", "completions", "man"]))
    var kind: String

    @Argument(
        help: "Of completions: bash, zsh or fish. Of helm and man: the folder.",
        completion: .list(CompletionShell.allCases.map(\.rawValue)))
    var target: String?

    @Option(name: .customLong("config.file"), help: "Settings to make it for.", completion: .file())
    var configurationFile: String?

    @Option(help: "For so many members of one watch, 2 or 3. (default: one alone; etcd: 3)")
    var members: Int?

    @Flag(help: "In Kubernetes: in a Pod of its own, not beside a backend.")
    var standalone = false

    @Flag(help: "In Kubernetes: a PodMonitor instead of annotations.")
    var podMonitor = false

    @Flag(help: "Of rules: their tests, for promtool.")
    var tests = false

    @Flag(help: "Of rules: also those of which Rollcall tells receivers of its own.")
    var all = false

    @Option(help: "Of rules: the name of Rollcall's job in Prometheus. (default: rollcall)")
    var job: String?

    @Option(
        help: "Of rules: the address of your copy of Alerts/runbooks. (default: beside the rules)")
    var runbookURL: String?

    @Option(help: "Of rules: the address of Rollcall's page. (default: web.external_url)")
    var pageURL: String?

    private static let kindWords =
        "systemd, kubernetes, prometheus, rules, alertmanager, etcd, nginx, envoy, helm, completions or man"

    func run() throws {
        switch kind {
        case "completions": return try printCompletions()
        case "man": return try writeManual()
        case "helm": return try writeChart()
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
        if standalone || podMonitor, manifest != .kubernetes {
            throw ValidationError("--standalone, --pod-monitor: they are for kubernetes (\(kind))")
        }
        if standalone, members != nil {
            throw ValidationError("--standalone: several members have Pods of their own anyway")
        }
        if let option = ofRules.first, manifest != .rules {
            throw ValidationError("\(option): only rules have it")
        }
        if manifest == .etcd, configurationFile != nil {
            throw ValidationError("--config.file: etcd reads no settings of Rollcall's")
        }
        let rules = try ruleOptions()
        try orExit {
            let settings = try configurationFile.map { try ManifestSettings(path: $0) }
            var form = Manifest.Form(
                members: members, place: standalone ? .standalone : .sidecar,
                hasPodMonitor: podMonitor)
            form.rules = rules
            try manifest.write(settings, form)
        }
    }

    /// The options that are there and that only rules have.
    private var ofRules: [String] {
        [
            (tests, "--tests"), (all, "--all"), (job != nil, "--job"),
            (runbookURL != nil, "--runbook-url"), (pageURL != nil, "--page-url"),
        ].filter(\.0).map(\.1)
    }

    private func ruleOptions() throws -> RuleOptions {
        var options = RuleOptions()
        (options.printsTests, options.printsAll) = (tests, all)
        if let job {
            guard RuleOptions.isJob(job) else {
                throw ValidationError(
                    "--job: letters, digits and _ . : / - expected (\(ConsoleText.safe(job)))")
            }
            options.job = job
        }
        options.runbooks = try address(runbookURL, of: "--runbook-url")
        options.page = try address(pageURL, of: "--page-url")
        return options
    }

    private func address(_ text: String?, of option: String) throws -> ExternalURL? {
        guard let text else { return nil }
        guard let url = ExternalURL(text) else {
            // Not shown: a password may stand in it.
            throw ValidationError(
                "\(option): must be like https://wiki.example.org/runbooks, without user, query or fragment"
            )
        }
        return url
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
            try printNames(pages.write(into: target))
        }
    }

    /// Writes a chart into a folder.
    private func writeChart() throws {
        guard members == nil, !standalone, !podMonitor else {
            throw ValidationError("helm: goes without --members, --standalone and --pod-monitor")
        }
        guard let target, !target.isEmpty else {
            throw ValidationError("helm: a folder for the chart expected")
        }
        try orExit {
            let settings = try configurationFile.map { try ManifestSettings(path: $0) }
            try settings?.checkForStandalone()
            try printNames(HelmChart(settings).write(into: target))
        }
    }

    private func printNames(_ names: [String]) throws {
        var bytes = Array((names.map(ConsoleText.safe).joined(separator: "\n") + "\n").utf8)
        try StandardOutput.write(&bytes)
    }

    private func checkAlone() throws {
        if configurationFile != nil || members != nil || standalone || podMonitor
            || !ofRules.isEmpty
        {
            throw ValidationError("\(kind): goes without other options")
        }
    }
}
