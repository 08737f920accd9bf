import RollcallCore
import RollcallSupport

/// The source that gave a setting its value.
package enum SettingOrigin: Equatable, Sendable {
    /// The file, at this line from 1 on; 0 where it says nothing.
    case file(line: Int)
    case variable(String)
    case flag(String)

    /// Flag > variable > file. Source: V8.
    var rank: Int {
        switch self {
        case .file: 0
        case .variable: 1
        case .flag: 2
        }
    }
}

/// The values that win over those of a file, and what was asked for while it was read.
package struct SettingSources: Sendable {
    /// The prefix of variables' names.
    static let prefix = "ROLLCALL_"

    /// Values given on the command line, by setting.
    package var flags: [String: String] = [:]
    /// Values given by the environment, by variable.
    var variables: [String: String] = [:]
    /// The directory at which the file's relative names of secret files begin; empty for the
    /// working directory.
    var directory = ""
    /// False where secrets decide nothing, as in a replay: then their files are not even opened.
    package var opensSecrets = true
    /// The number of tokens that the settings name, whether their secrets were opened or not.
    package internal(set) var tokens = 0
    /// Settings that are read as if nobody had given them: what is wrong with them is known.
    var skipped: Set<String> = []
    /// Returns why nothing can be sent; nil if it can.
    var missingCurl: @Sendable () -> CurlMissing? = {
        if case .failure(let missing) = CurlLibrary.shared { missing } else { nil }
    }

    package init() {}

    /// Settings of one value that the reader asked for, in its order; these may be variables.
    private(set) var keys: [String] = []
    /// Settings that only the file can give: lists and mappings of free names.
    private(set) var listKeys: [String] = []
    /// Settings whose secrets stand in the file itself.
    package private(set) var inlineSecrets: [String] = []
    /// Files that settings name, as they are written there.
    package private(set) var files: [String] = []
    /// The warnings about what is legal and still not as it should be.
    private(set) var warnings: [String] = []

    /// The variable of a setting: `storage.path` is `ROLLCALL_STORAGE_PATH`.
    static func variable(_ key: String) -> String {
        prefix + String(key.uppercased().map { $0 == "." ? "_" : $0 })
    }

    /// Notes a question for a setting, and answers it if somebody outside of the file can.
    ///
    /// A variable that is set to nothing counts as not set, as OpenTelemetry has it: that is what
    /// `${NAME:-}` leaves behind in a file of containers.
    mutating func winner(_ key: String) -> (text: String, origin: SettingOrigin)? {
        keys.append(key)
        if let text = flags[key] { return (text, .flag("--" + Self.flag(key))) }
        let name = Self.variable(key)
        if let text = variables[name], !text.isEmpty { return (text, .variable(name)) }
        return nil
    }

    /// Notes a question for a list, or a mapping of free names.
    mutating func askedForList(_ key: String) { listKeys.append(key) }

    /// Notes a file beside this one that a setting names.
    mutating func foundFile(_ name: String) {
        if !files.contains(name) { files.append(name) }
    }

    /// Notes a secret that stands in the file itself.
    mutating func foundSecret(_ key: String) { inlineSecrets.append(key) }

    /// Takes over what was found below.
    mutating func take(from below: SettingSources) {
        warnings = below.warnings
        inlineSecrets = below.inlineSecrets
        (files, tokens) = (below.files, below.tokens)
    }

    /// Notes something for the log.
    mutating func warn(_ text: String) { warnings.append(text) }

    private static func flag(_ key: String) -> String {
        // The name that every exporter has for it.
        key == "web.config_file" ? "web.config.file" : String(key.map { $0 == "_" ? "-" : $0 })
    }
}
