/// What `rollcall check` says of a file.
package struct SettingsCheck: Sendable {
    /// What is weak.
    package let weaknesses: [Weakness]
    /// The whole text.
    package let text: String

    /// Reads the file at `path` (`-`: standard input) as `serve` would, by itself: variables of
    /// `environment` are named where they would win, and do not.
    ///
    /// Errors: those of `serve`.
    package init(path: String, environment: [String: String]) throws(InputFileError) {
        // What only --insecure lets through is told as a weakness.
        let source = SettingsSource(path: path, flags: [:], isInsecure: true, environment: [:])
        let configuration = try source.read()
        weaknesses = configuration.weaknesses
        var lines = configuration.meaning
        let winners = Setting.all.filter { setting in
            environment[SettingSources.variable(setting.key)]?.isEmpty == false
        }
        lines += winners.map { setting in
            "\(SettingSources.variable(setting.key)) is set here and would win over \(setting.key)."
        }
        lines += configuration.warnings.map { "warning: \($0)" }
        lines += weaknesses.map { "weak: \($0)" }
        text = lines.map { $0 + "\n" }.joined()
    }
}
