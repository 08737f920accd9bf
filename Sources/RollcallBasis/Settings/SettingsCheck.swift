import RollcallSupport

/// The report of `rollcall check` on a file.
package struct SettingsCheck: Sendable {
    /// The configuration warnings of the settings.
    package let configurationWarnings: [ConfigurationWarning]
    /// The whole text. The file may be a stranger's: a terminal cannot obey anything in it.
    package let text: String
    /// The report as a JSON document.
    package let tree: JSONTree
    /// The log of a watch on several machines that the file names.
    package let cluster: ClusterSettings

    /// Reads the file at `path` (`-`: standard input) as `serve` would, by itself: variables of
    /// `environment` are named where they would win, and do not.
    ///
    /// Throws `InputFileError` if it cannot be read or is wrong, as `serve` would.
    package init(path: String, environment: [String: String]) throws(InputFileError) {
        // What only --insecure lets through is told as a configuration warning.
        let source = SettingsSource(path: path, flags: [:], isInsecure: true, environment: [:])
        let configuration = try source.read()
        configurationWarnings = configuration.configurationWarnings
        let thresholds = ThresholdTable(configuration.policy)
        var lines = configuration.summary
        if !configuration.cluster.isGateway { lines += thresholds.lines }
        let winners = Setting.all.filter { setting in
            environment[SettingSources.variable(setting.key)]?.isEmpty == false
        }
        lines += winners.map { setting in
            "\(SettingSources.variable(setting.key)) is set here and would win over \(setting.key)."
        }
        lines += configuration.warnings.map { "warning: \($0)" }
        lines += configurationWarnings.map { "weak: \($0)" }
        cluster = configuration.cluster
        text = lines.map { ConsoleText.safe($0) + "\n" }.joined()
        tree = [
            "meaning": .list(configuration.summary.map { .text($0) }),
            "thresholds": thresholds.tree,
            "variables": .list(
                winners.map {
                    ["variable": .text(SettingSources.variable($0.key)), "setting": .text($0.key)]
                }),
            "warnings": .list(configuration.warnings.map { .text("\($0)") }),
            "weak": .list(
                configurationWarnings.map {
                    ["setting": .text($0.key), "reason": .text($0.reason)]
                }),
        ]
    }
}
