import ArgumentParser
import RollcallTools

/// `rollcall people`: everybody, or whom filters choose, in any order.
struct PeopleCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "people",
        abstract: "List people by what is known of them, in any order.",
        discussion: """
            Asks a running server. All filters must hold; several words of one, with commas between \
            them, mean any of them, and a name that ends in * is a beginning.
            """
    )

    @Argument(help: "Only whose id has this text in it.")
    var text: String?

    @Option(help: "Only ONLINE, DEGRADED, UNKNOWN, OFFLINE or NOT_EXPECTED.")
    var status: String?

    @Option(help: "Only who can be reached now: yes, no or unknown.")
    var reachable: String?

    @Option(help: "Only in this region.")
    var region: String?

    @Option(help: "Only of this circle.")
    var circle: String?

    @Option(help: "Only ON_DUTY, ON_MISSION or OFF_DUTY.")
    var dutyState: String?

    @Option(help: "Only with this suspected cause: app_suspended, no_network, …")
    var cause: String?

    @Option(help: "Only who fell silent since then: 24h, or 2026-11-21T03:00:00Z.")
    var silentSince: String?

    @Option(help: "Only who fell silent before then, said alike.")
    var silentUntil: String?

    @Option(help: "Only on ios, android, other or unknown.")
    var platform: String?

    @Option(help: "Only phones of this manufacturer.")
    var manufacturer: String?

    @Option(help: "Only phones of this model.")
    var model: String?

    @Option(help: "Only phones whose system has this version.")
    var osVersion: String?

    @Option(help: "Only this version of the app.")
    var appVersion: String?

    @Option(help: "Only batteries so full, in percent: 0-5, 5-20, 20-50, 50-100 or unknown.")
    var battery: String?

    @Option(help: "Only on this network last: wifi, cellular, none, …")
    var networkType: String?

    @Option(help: "Only with this location permission last: granted, denied, …")
    var permissionStatus: String?

    @Option(help: "Only with location services on or off last: true or false.")
    var locationServices: String?

    @Option(help: "Only in this power mode last: normal, low_power, …")
    var powerMode: String?

    @Option(help: "Only with the app in this state last: foreground, background, …")
    var appState: String?

    @Option(
        help: """
            The order: id, region, status, last_seen, silent_for, cause, battery, model, …; with \
            - in front the other way round, as in --sort=-battery. (default: -silent_for)
            """)
    var sort: String?

    @Option(help: "So many, the first. (default: a table 100, else all)")
    var limit: Int?

    @OptionGroup var list: ListOptions

    @OptionGroup var server: ServerOptions

    func run() throws {
        var options = PeopleQuestion.Options()
        options.text = text
        options.filters = [
            "status": status, "reachable": reachable, "region": region, "circle": circle,
            "duty_state": dutyState, "cause": cause, "platform": platform,
            "manufacturer": manufacturer, "model": model, "os_version": osVersion,
            "app_version": appVersion, "battery": battery, "network_type": networkType,
            "permission_status": permissionStatus, "location_services": locationServices,
            "power_mode": powerMode, "app_state": appState,
        ]
        options.silentSince = silentSince
        options.silentUntil = silentUntil
        options.sort = sort
        options.limit = limit
        options.form = try list.form(server)
        try server.list { (server, style, now) throws(QuestionError) in
            try PeopleQuestion(options, now: now).answer(from: server, style: style)
        }
    }
}
