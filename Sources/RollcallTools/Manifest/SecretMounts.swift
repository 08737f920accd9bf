import RollcallBasis
import RollcallCore

/// The places in a Pod of the files that settings name: those beside the settings are part of their
/// volume, those elsewhere get a volume for each folder, all from one Secret.
struct SecretMounts {
    /// The Secret.
    static let secret = "rollcall-secrets"
    /// The folder of the settings.
    static let folder = "/etc/rollcall"
    /// The folders that an image has of itself: a volume there would hide them.
    private static let ofTheImage = ["/etc/ssl/", "/usr/"]

    /// One file.
    struct File: Equatable {
        /// Its key in the Secret.
        let key: String
        /// Its name below its folder.
        let path: String
        /// As it is written in the settings.
        let name: String
    }

    /// The files below `folder`.
    private(set) var beside: [File] = []
    /// Other folders with their files, in the order in which they are named.
    private(set) var elsewhere: [(folder: String, files: [File])] = []

    /// The files of `settings`.
    init(_ settings: ManifestSettings?) {
        var keys: Set<String> = []
        for name in settings?.files ?? [] {
            let parts = Self.parts(of: name.hasPrefix("/") ? name : "\(Self.folder)/\(name)")
            let path = "/" + parts.joined(separator: "/")
            guard let last = parts.last, !Self.ofTheImage.contains(where: path.hasPrefix) else {
                continue
            }
            var key = Self.key(last)
            while !keys.insert(key).inserted { key += "-2" }
            if path.hasPrefix(Self.folder + "/") {
                let below = String(path.dropFirst(Self.folder.count + 1))
                beside.append(File(key: key, path: below, name: name))
                continue
            }
            let folder = "/" + parts.dropLast().joined(separator: "/")
            let file = File(key: key, path: last, name: name)
            if let place = elsewhere.firstIndex(where: { $0.folder == folder }) {
                elsewhere[place].files.append(file)
            } else {
                elsewhere.append((folder, [file]))
            }
        }
    }

    /// All of them.
    var files: [File] { beside + elsewhere.flatMap(\.files) }

    /// The parts of a path without `.` and `..`.
    private static func parts(of path: String) -> [String] {
        var parts: [String] = []
        for part in path.split(separator: "/") where part != "." {
            if part == ".." {
                _ = parts.popLast()
            } else {
                parts.append(String(part))
            }
        }
        return parts
    }

    /// Returns what may be a key: "alphanumeric characters, `-`, `_` or `.`" (Kubernetes, Secret).
    private static func key(_ name: String) -> String {
        String(
            name.map { $0.isASCII && ($0.isLetter || $0.isNumber || "-_.".contains($0)) ? $0 : "-" }
        )
    }

    // MARK: - As text

    /// Items of a Secret's volume, a line each.
    static func items(_ files: [File], indent: String) -> String {
        files.map { "\(indent)- {key: \(quoted($0.key)), path: \(quoted($0.path))}\n" }.joined()
    }

    /// The command that makes the Secret; an example where nothing is named.
    var command: String {
        let named = files.map { ShellText.quoted("--from-file=\($0.key)=\($0.name)") }
        let arguments = named.isEmpty ? ["--from-file=backend-1.token=backend-1.token"] : named
        return (["kubectl create secret generic \(Self.secret)"] + arguments).joined(separator: " ")
    }

    /// A text that YAML takes for nothing else.
    static func quoted(_ text: String) -> String { SettingValue.quoted(Array(text.utf8)) }
}
