import RollcallCore

/// The alerts by which cells and the fleet cell tell of each other; of one watch their series are not there.
/// Source: K4.
enum CellRules {
    static func all(_ settings: RuleSettings) -> [AlertRule] {
        WatchRules.own(settings, .cellDark, cell) + WatchRules.own(settings, .fleetDark, fleet)
    }

    /// The lines of an expression that is true where Rollcall says so. Members that follow say the same as
    /// the one that leads.
    private static func said(_ name: String) -> [String] {
        [
            "max without (alertname, alertstate, severity)",
            "  (rollcall_alerts{alertname=\"\(name)\", alertstate=\"firing\"}) > 0",
            "  unless on (job, instance) rollcall_member_leading == 0",
        ] + WatchRules.held(name)
    }

    private static func cell(_ settings: RuleSettings) -> AlertRule {
        AlertRule(
            "CellDark",
            "The fleet cell hears nothing of a cell for 15 s. No metric says which one it is.",
            said("CellDark"), summary: "A cell of the fleet is not heard.",
            description: [
                "{{ if lt $value 0.0 }}So it was when {{ $labels.instance }} was last scraped.{{ else }}The fleet",
                "cell {{ $labels.instance }} hears nothing of {{ $value }} of its cells: `rollcall cluster cells`",
                "says which. No alert about many fires or ends that depends on their people.{{ end }}",
            ], page: WatchRules.page(settings, "feeds"))
    }

    private static func fleet(_ settings: RuleSettings) -> AlertRule {
        AlertRule(
            "FleetDark",
            "The fleet cell asks no cell that answers. One cell tells of it; RollcallDown tells as well if the "
                + "fleet cell cannot be scraped.",
            said("FleetDark"), summary: "Nothing is heard of the fleet cell.",
            description: [
                "{{ if lt $value 0.0 }}So it was when {{ $labels.instance }} was last scraped.{{ else }}Neither",
                "{{ $labels.instance }} nor another cell is asked by the fleet cell. Nobody decides about many.{{",
                "end }}",
            ], page: WatchRules.page(settings, "feeds"))
    }
}
