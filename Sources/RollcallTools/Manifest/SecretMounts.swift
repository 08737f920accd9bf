import RollcallBasis
import RollcallCore

/// The places in a Pod of the files that settings name: those beside the settings are part of their
/// volume, those elsewhere get a volume for each folder, all from one Secret.
struct SecretMounts {
    /// The Secret.
    static let secret = "rollcall-secrets"
    /// The folder of the settings.
    static let folder = "/etc/rollcall"
    /// The file of the settings, and folders of which the Pod has something already.
    private static let taken = [
        "/etc/rollcall/rollcall.yml", "/var/lib/rollcall", "/etc/ssl/certs", "/usr", "/bin",
        "/sbin", "/lib", "/lib64", "/proc", "/sys", "/dev",
    ]
    /// The places at which Kubernetes mounts the token of the Pod's account; the second is the first, where
    /// `/var/run` is a link.
    private static let account = [
        "/var/run/secrets/kubernetes.io/serviceaccount",
        "/run/secrets/kubernetes.io/serviceaccount",
    ]

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
        var places: Set<String> = []
        var files: [(place: String, key: String, name: String)] = []
        for name in settings?.files ?? [] {
            let place = Self.place(of: name)
            guard !Self.isOfTheImage(place), places.insert(place).inserted else { continue }
            var key = Self.key(Self.split(place).name)
            while !keys.insert(key).inserted { key += "-2" }
            files.append((place, key, name))
        }
        let folders = files.map { Self.split($0.place).folder }
        for (place, key, name) in files {
            // Nothing can be mounted below a volume that nobody may write to: its items are there.
            let own = Self.split(place).folder
            let folder =
                Self.isBelow(place, Self.folder)
                ? Self.folder
                : folders.filter { Self.isBelow(own, $0) }.min { $0.count < $1.count }
                    ?? own
            let file = File(
                key: key, path: String(place.dropFirst(folder.count + 1)), name: name)
            if folder == Self.folder {
                beside.append(file)
            } else if let place = elsewhere.firstIndex(where: { $0.folder == folder }) {
                elsewhere[place].files.append(file)
            } else {
                elsewhere.append((folder, [file]))
            }
        }
    }

    /// All of them.
    var files: [File] { beside + elsewhere.flatMap(\.files) }

    /// True if the account's token cannot be mounted beside them: its place is below a volume that nobody may
    /// write to. Source: kubernetes#65835.
    var hidesAccount: Bool {
        elsewhere.contains { mount in
            Self.account.contains { Self.isBelow($0, mount.folder) }
        }
    }

    /// Returns why the file that settings name so can have no place in a Pod; nil if it can.
    static func refusal(of name: String) -> String? {
        let place = place(of: name)
        let mount = isBelow(place, folder) ? place : split(place).folder
        guard !isOfTheImage(place),
            let taken = taken.first(where: { isBelow($0, mount) || isBelow(mount, $0) })
        else { return nil }
        return "\(name): in a Pod a volume at \(mount) would take the place of "
            + "\(isBelow(mount, taken) ? mount : taken): name a file beside the settings, or in a "
            + "folder of its own"
    }

    /// True of the authorities that are in the image.
    private static func isOfTheImage(_ place: String) -> Bool {
        place == "/etc/ssl/certs/ca-certificates.crt"
            || isBelow(place, "/usr/share/ca-certificates")
    }

    /// True of a path that is `folder` or below it.
    private static func isBelow(_ path: String, _ folder: String) -> Bool {
        path == folder || path.hasPrefix(folder == "/" ? folder : folder + "/")
    }

    /// The path in the container of what settings name so, without `.` and `..`.
    private static func place(of name: String) -> String {
        var parts: [Substring] = []
        let path = name.hasPrefix("/") ? name : "\(folder)/\(name)"
        for part in path.split(separator: "/") where part != "." {
            if part == ".." {
                _ = parts.popLast()
            } else {
                parts.append(part)
            }
        }
        return "/" + parts.joined(separator: "/")
    }

    /// The folder and the name of a path that begins with `/`.
    private static func split(_ place: String) -> (folder: String, name: String) {
        let parts = place.split(separator: "/")
        return ("/" + parts.dropLast().joined(separator: "/"), String(parts.last ?? ""))
    }

    /// Returns what may be a key: "alphanumeric characters, `-`, `_` or `.`" (Kubernetes, Secret).
    static func key(_ name: String) -> String {
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
