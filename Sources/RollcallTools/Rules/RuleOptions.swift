import RollcallSupport

/// The choices of what rules are printed.
package struct RuleOptions: Sendable {
    /// The tests of the rules instead.
    package var printsTests = false
    /// Also of what Rollcall tells its own receivers.
    package var printsAll = false
    /// The name of Rollcall's job in Prometheus; `isJob` is true of it.
    package var job = ownJob
    /// The address of a folder of runbooks; nil for the one beside the rules.
    package var runbooks: ExternalURL?
    /// The address of Rollcall's page, before that of the settings.
    package var page: ExternalURL?

    /// The job of the scrape that `rollcall manifest prometheus` prints.
    package static let ownJob = "rollcall"

    /// Rules without what Rollcall tells its own receivers.
    package init() {}

    /// Returns true of a name that YAML, PromQL and templates leave as it is.
    package static func isJob(_ name: String) -> Bool {
        !name.isEmpty
            && name.utf8.allSatisfy {
                (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0 | 0x20)
                    || "0123456789_.:/-".utf8.contains($0)
            }
    }

    /// The options as they are written on a command line, with a blank before each.
    var words: String {
        (printsAll ? " --all" : "") + (job == Self.ownJob ? "" : " --job \(job)")
            + Self.word("--runbook-url", runbooks) + Self.word("--page-url", page)
    }

    private static func word(_ option: String, _ url: ExternalURL?) -> String {
        url.map { " \(option) '\($0.text.replacing("'", with: "'\\''"))'" } ?? ""
    }
}
