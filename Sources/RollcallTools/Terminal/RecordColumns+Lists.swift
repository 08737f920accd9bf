import RollcallCore
import RollcallSupport

/// The lists that can be printed as CSV. Their columns are promised in Reference: new ones come
/// behind those that are there.
extension RecordColumns {
    /// Gaps, of `rollcall gaps` and of who is silent.
    static let gaps = RecordColumns(
        [
            "gap", "responder_id", "state", "opened_at", "offline_at", "closed_at",
            "length_seconds", "suspected", "first_suspected", "verdict", "region", "platform",
            "manufacturer", "model", "os_version", "app_version", "blind_seconds", "left_out",
            Column("last_contact_at", at: "evidence", "last_contact_at"), "text",
        ], id: "responder_id")

    /// People, with what their phones said last.
    static let people = RecordColumns(
        [
            "responder_id", "status", "not_expected", "since", "confirmed", "reachable",
            "last_contact_at", "silent_seconds", "suspected", "last_location_at", "duty_state",
            "region", "circles", "sharing", "platform", "manufacturer", "model", "os_version",
            "app_version", "battery_level",
        ]
            + [
                "permission_status", "location_services", "power_mode", "app_state",
                "network_type", "queue_depth",
            ].map { Column($0, at: "telemetry", $0) }, id: "responder_id")

    /// The nudge ledger.
    static let nudges = RecordColumns(
        [
            "id", "at", "responder_id", "decision", "reason", "until", "dry_run", "cause",
            "stale_seconds", "last_location_at", "platform", "nudge_id",
            Column("push_state", at: "push", "state"),
            Column("push_outcome", at: "push", "outcome"), "followed", "text",
        ], id: "responder_id")

    /// Events, each by its cursor.
    static let events = RecordColumns(
        ["cursor", "at", "kind", "responder_id", "region", .details], id: "cursor")

    /// Events of one person, as a timeline has them.
    static let story = RecordColumns(["at", "kind", .details])

    /// Mutes of notifications.
    static let silences = RecordColumns(
        [
            "id", "state", "matchers", "starts_at", "ends_at", "author", "comment", "muting",
            "request_id", "cell",
        ], id: "id", inFleet: { SilenceName($0)?.text })

    /// Members of a watch on several machines.
    static let members = RecordColumns(
        ["member", "listed", "position", "noted_at", "address"], id: "member")

    /// Cells of a fleet, with their slots.
    static let cells = RecordColumns(["name", "share", "slots", "urls"], id: "name")

    /// Regions, with how many people are what.
    static let regions = RecordColumns(
        ["region", "active"]
            + ["ONLINE", "DEGRADED", "UNKNOWN", "OFFLINE"].map { Column($0, at: "responders", $0) }
            + ["not_expected", "flapping", "must_be_staffed"], id: "region")

    /// Alerts; those that fire are known by their incident, of several cells by its key.
    static let alerts = RecordColumns(
        [
            "alertname", "state", "severity", "labels", "value", "count", "total", "active_at",
            "starts_at", "incident", Column("summary", at: "annotations", "summary"), "told",
            "receivers", "muted", "key", "cell",
        ], id: "incident", inFleet: { $0["key"]?.text })

    /// Returns the columns of gaps that are counted.
    static func gapCounts(by keys: [String]) -> RecordColumns {
        RecordColumns(
            keys.map { Column($0, at: $0) } + [
                "gaps", "share", "people", "open",
                Column("median_seconds", at: "seconds", "median"),
                Column("longest_seconds", at: "seconds", "longest"),
                Column("total_seconds", at: "seconds", "total"), "blind", "verdicts",
            ])
    }

    /// Returns the columns of nudges that are counted.
    static func nudgeCounts(by keys: [String]) -> RecordColumns {
        RecordColumns(
            keys.map { Column($0, at: $0) } + ["nudges", "share", "people"]
                + NudgeOutcome.allCases.map { Column("\($0.word)", at: "followed", "\($0.word)") }
                + [
                    Column("median_seconds", at: "seconds", "median"),
                    Column("longest_seconds", at: "seconds", "longest"),
                ])
    }

    /// Returns the server's table of counts as JSON or CSV, and that it lacks rows if it does.
    func counted(_ table: JSONTree, _ form: OutputForm, _ style: ConsoleStyle) -> Printout {
        let isWhole = table["truncated"]?.isTrue != true
        let rows = table["rows"]?.elements ?? []
        let lack = Printout.lack(
            isWhole, rows.count, of: "rows", limit: nil, advice: "The server counts no more at once"
        )
        if form == .json { return Printout(table.printed, lack: lack) }
        return printout(rows, form, style, lack: lack)
    }
}
