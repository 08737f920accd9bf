import RollcallSupport

/// A whole file of settings with a comment for each, as `rollcall config` prints it.
package enum SettingsFile {
    /// The column at which comments begin, if the setting before leaves room.
    private static let column = 40
    private static let head = """
        # The settings of Rollcall \(BuildInformation.version). All can be left out; these are the
        # defaults. A flag wins over a ROLLCALL_… variable, that over this file:
        # ROLLCALL_STORAGE_PATH is storage.path. Durations and sizes need a unit (1500ms, 90s,
        # 2m30s, 4h, 30d, 2w, 1y; B, KiB, MiB, GiB, TiB). `rollcall check FILE` tells what a file
        # means; SIGHUP or POST /-/reload reads it again. What is marked * takes effect with the
        # next start.

        """

    /// The file in which `configuration` stands.
    package static func text(_ configuration: Configuration = Configuration()) -> String {
        var text = head
        var above: [Substring] = []
        for setting in Setting.all {
            let parts = setting.key.split(separator: ".")
            let sections = parts.dropLast()
            let shared = zip(above, sections).prefix { $0 == $1 }.count
            if shared == 0 { text += "\n" }
            for depth in shared..<sections.count {
                text += indent(depth) + sections[depth] + ":\n"
            }
            above = Array(sections)
            let name = parts.last ?? ""
            var line = indent(sections.count) + name + ": " + setting.value(configuration)
            line += String(repeating: " ", count: max(2, column - line.count)) + "# "
            text += line + (setting.effect == .start ? "* " : "") + setting.summary + "\n"
        }
        return text
    }

    private static func indent(_ depth: Int) -> String { String(repeating: "  ", count: depth) }
}
