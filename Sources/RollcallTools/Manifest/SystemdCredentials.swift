import RollcallSupport

/// The lines of a unit about the files that its settings name. The unit's user owns none of them and is in no
/// group: what is secret stays with root, and systemd hands it to the unit as a credential.
enum SystemdCredentials {
    /// The folder of the unit's credentials.
    private static let folder = "/run/credentials/rollcall.service/"

    /// Returns the name of the credential that settings name so; nil if it is none.
    static func name(_ file: String) -> String? {
        guard file.hasPrefix(folder) else { return nil }
        let name = String(file.dropFirst(folder.count))
        return isName(name) ? name : nil
    }

    /// "ID: a short ASCII string suitable as filename in the filesystem" (systemd.exec).
    private static func isName(_ name: String) -> Bool {
        (1...255).contains(name.utf8.count) && name != "." && name != ".."
            && name.utf8.allSatisfy { (0x21...0x7E).contains($0) && $0 != 0x2F && $0 != 0x3A }
    }

    /// The lines for `settings`; nil if they name no files.
    static func text(_ settings: ManifestSettings?) -> String? {
        guard let settings = settings?.forMembers else { return nil }
        let own = settings.path.prefix(
            through: settings.path.lastIndex(of: "/") ?? settings.path.startIndex)
        let beside = SystemdUnit.isHidden(settings.path) ? "/etc/rollcall/" : String(own)
        var text = ""
        var names: Set<String> = []
        for name in settings.files.compactMap(name) where names.insert(name).inserted {
            text += line(name, beside + name)
        }
        var others: [String] = []
        for file in settings.files where Self.name(file) == nil {
            var name = SecretMounts.key(file.split(separator: "/").last.map(String.init) ?? "file")
            while !names.insert(name).inserted { name += "-2" }
            others.append("#" + line(name, file.hasPrefix("/") ? file : beside + file))
        }
        if !others.isEmpty {
            text += """
                # CHANGE: the unit's user reads of these what everybody may read. What is secret stays with root, and
                # the settings name it \(folder)NAME.

                """ + others.joined()
        }
        if settings.webFault != nil {
            text += """
                # CHANGE: web.config_file could not be read here: what it names is needed, too.

                """
        }
        return text.isEmpty ? nil : text
    }

    private static func line(_ name: String, _ path: String) -> String {
        // "%" begins what systemd puts in.
        func escaped(_ text: String) -> String {
            ConsoleText.safe(text).replacing("%", with: "%%")
        }
        return "LoadCredential=\(escaped(name)):\(escaped(path))\n"
    }
}
