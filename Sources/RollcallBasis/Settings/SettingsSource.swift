import Foundation
import RollcallSupport

/// The source of a server's settings: flag > `ROLLCALL_…` variable > file > default.
///
/// It can be read as often as one likes: the file and the files of secrets are read anew each time,
/// flags and variables are those of the start. Source: V8.
package struct SettingsSource: Sendable {
    /// The file; nil if there is none.
    package let path: String?
    /// True if `--insecure` was said.
    private let isInsecure: Bool
    private let flags: [String: String]
    private let variables: [String: String]

    /// Unknown variables that are named in the log at most.
    private static let unknownMax = 10

    /// Settings by the file at `path`, else at `ROLLCALL_CONFIG_FILE`; by `flags`, with the names
    /// of settings; and by those of `environment` that begin with `ROLLCALL_`.
    package init(
        path: String?, flags: [String: String?], isInsecure: Bool = false,
        environment: [String: String]
    ) {
        self.isInsecure = isInsecure
        variables = environment.filter { $0.key.hasPrefix(SettingSources.prefix) }
        self.flags = flags.compactMapValues { $0 }
        self.path = path ?? Self.value(of: .configFile, in: variables)
    }

    /// Defaults and nothing else.
    package static let defaults = SettingsSource(path: nil, flags: [:], environment: [:])

    /// The environment of this process.
    package static var environment: [String: String] { ProcessInfo.processInfo.environment }

    /// Variables of flags that are no settings.
    package enum FlagVariable: String, CaseIterable, Sendable {
        case configFile = "ROLLCALL_CONFIG_FILE"
        case logLevel = "ROLLCALL_LOG_LEVEL"
        case logFormat = "ROLLCALL_LOG_FORMAT"
    }

    /// Returns the value of a flag's variable; nil if it is not set, or set to nothing.
    package func value(of variable: FlagVariable) -> String? {
        Self.value(of: variable, in: variables)
    }

    private static func value(
        of variable: FlagVariable, in variables: [String: String]
    ) -> String? {
        variables[variable.rawValue].flatMap { $0.isEmpty ? nil : $0 }
    }

    /// Reads the settings. `isAgain`: for a server that runs already; see `InputFile.text`.
    ///
    /// Throws `InputFileError`, which never holds a secret, if the file cannot be read or the
    /// settings are wrong.
    package func read(isAgain: Bool = false) throws(InputFileError) -> Configuration {
        let text = if let path { try InputFile.text(path, isAgain: isAgain) } else { "" }
        var sources = SettingSources()
        sources.flags = flags
        sources.variables = variables
        if let path, path != "-", let end = path.lastIndex(of: "/") {
            // "/x.yml" lies in the root, which begins names that begin with nothing.
            sources.directory = end == path.startIndex ? "/." : String(path[..<end])
        }
        do throws(ConfigurationError) {
            var configuration = try Configuration(yaml: text, sources: &sources)
            configuration.accessPolicy.isInsecure = isInsecure
            try configuration.accessPolicy.check(listenAddress: configuration.listenAddress)
            configuration.warnings = sources.warnings + openFile(sources) + warnings(of: sources)
            return configuration
        } catch {
            throw .wrongConfiguration(path: path, error)
        }
    }

    /// Tells that everybody may read the secrets that stand in the file itself.
    private func openFile(_ sources: SettingSources) -> [String] {
        guard let path, path != "-", let first = sources.inlineSecrets.first,
            InputFile.isOpenToAll(path)
        else { return [] }
        let count = sources.inlineSecrets.count
        let more = count > 1 ? " and \(count - 1) more" : ""
        return [
            "\(path): every user of this machine can read it, and the secret \(first)\(more) in it: "
                + "chmod o-r, or name files instead (…_file)"
        ]
    }

    // MARK: - Variables that nobody reads

    /// A word about each variable that looks like ours and is not.
    ///
    /// Only a word: whoever runs a Service named `rollcall` in Kubernetes finds variables in every
    /// pod that nobody wrote, and the watch must not stay down for one.
    private func warnings(of sources: SettingSources) -> [String] {
        let known =
            sources.keys.map { SettingSources.variable($0) }
            + FlagVariable.allCases.map(\.rawValue)
        let lists = Set(sources.listKeys.map { SettingSources.variable($0) })
        let unknown = variables.keys.filter { !known.contains($0) && !Self.isForeign($0) }.sorted()
        return unknown.prefix(Self.unknownMax).map { name in
            lists.contains(name)
                ? "\(name): only the file can give it"
                : "\(name): unknown variable\(Spelling.hint(for: name, among: known))"
        }
    }

    /// True for what others put into environments under our prefix: Kubernetes for Services named
    /// `rollcall` or `rollcall-…`, the examples and tests of this project, and tokens of clients.
    static func isForeign(_ name: String) -> Bool {
        let rest = name.dropFirst(SettingSources.prefix.count)
        let clients: [Substring] = ["SERVER", "URL", "USER", "CA_FILE", "CERT_FILE", "KEY_FILE"]
        if (clients + ["BINARY", "KILLS", "SEEDS"]).contains(rest) || rest.hasPrefix("TOKEN") {
            return true
        }
        let padded = "_" + rest
        if padded.hasSuffix("_SERVICE_HOST") || padded.contains("_SERVICE_PORT") { return true }
        guard let port = padded.ranges(of: "_PORT").last?.upperBound else { return false }
        // `…_PORT`, `…_PORT_10112_TCP` and `…_PORT_10112_TCP_PROTO`, `_PORT`, `_ADDR`.
        let parts = padded[port...].split(separator: "_")
        if padded.hasSuffix("_PORT") { return true }
        return parts.count >= 2 && UInt16(parts[0]) != nil
            && ["TCP", "UDP", "SCTP"].contains(parts[1])
    }
}
