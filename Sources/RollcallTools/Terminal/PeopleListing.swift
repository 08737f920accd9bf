import RollcallCore
import RollcallSupport

/// People as a table for people.
struct PeopleListing {
    private static let columns = [
        ConsoleTable.Column("responder", least: 8), .init("status"), .init("silent", isRight: true),
        .init("suspected"), .init("region", least: 5), .init("battery", isRight: true),
        .init("phone", least: 6), .init("app", least: 4), .init("network"),
    ]

    private let people: [JSONTree]
    private let total: Int64?
    private let asOf: Timestamp?

    /// A table of `people` as the server told them; `rest` is what else it said.
    init(_ people: [JSONTree], rest: [JSONTree.Member]) {
        self.people = people
        let rest = JSONTree.object(rest)
        total = rest["total"]?.whole
        asOf = rest["as_of"]?.instant
    }

    /// The whole page.
    func text(_ style: ConsoleStyle) -> String {
        if people.isEmpty { return "Nobody fits.\n" }
        let total = total ?? Int64(people.count)
        let shown =
            total > people.count
            ? "\(people.count.grouped) of \(total.grouped) people" : Self.count(total)
        let at = asOf.map { ", as of \(style.moment($0)) \(style.zone($0))" } ?? ""
        let rows = people.map(Self.cells)
        let table = ConsoleTable(Self.columns, rows, style)
        var lines = ["\(shown)\(at).", "", style.bold(table.head)]
        lines += rows.map(table.line)
        if total > people.count {
            lines.append("")
            lines += ConsoleText.wrapped(
                "There are more: --limit shows more of them, filters choose.", style.columns)
        }
        return lines.joined(separator: "\n") + "\n"
    }

    private static func count(_ total: Int64) -> String {
        total == 1 ? "1 person" : "\(total.grouped) people"
    }

    private static func cells(_ one: JSONTree) -> [String] {
        let silent = one["silent_seconds"]?.seconds.map { ConsoleStyle.span($0, between: "") }
        let phone = [one["manufacturer"]?.shown, one["model"]?.shown].compactMap { $0 }
        let platform = one["platform"]?.shown
        let percent = one["battery_level"]?.number.flatMap {
            Int64(exactly: ($0 * 100).rounded())
        }
        return [
            one["responder_id"]?.shown, one["status"]?.shown, silent, one["suspected"]?.shown,
            one["region"]?.shown, percent.map { "\($0) %" },
            phone.isEmpty ? platform : phone.joined(separator: " "), one["app_version"]?.shown,
            one["telemetry"]?["network_type"]?.shown,
        ].map { $0 ?? GapListing.missing }
    }
}
