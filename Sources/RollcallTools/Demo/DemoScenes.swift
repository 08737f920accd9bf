import RollcallCore

/// The scenes of the demo's script: two minutes in which everything happens once, then quieter
/// rounds without an end.
enum DemoScenes {
    /// The person whose permission is revoked.
    static let revoked = "r-18"
    /// The one whose app is swiped away.
    static let swiped = "r-07"
    /// The one who drives through a tunnel.
    static let tunnelled = "r-29"
    /// The one who goes off duty.
    static let offDuty = "r-12"
    /// The region whose network fails.
    static let region = "harbour"

    /// The time that Rollcall has for what takes it some seconds.
    static let soon = Milliseconds.seconds(40)
    /// The time that it has for a verdict: two minutes by F26, if the phone is not late again
    /// before.
    static let verdictMax = Milliseconds.seconds(150)
    /// Somebody on purpose late for so long is not OFFLINE yet.
    private static let lateMax = Milliseconds(5500)

    /// The two minutes.
    static func script(_ cast: DemoCast) -> [DemoScript.Scene] {
        [
            DemoScript.Scene(
                name: "begin",
                steps: [
                    .expect(.everybodyOnline, within: .seconds(60)),
                    .look("curl -s {server}/metrics | grep ^responders_by_status"),
                ]),
            permission, swipe, tunnel, leave, mast(cast),
            DemoScript.Scene(
                name: "end", after: ["permission", "swipe", "tunnel", "leave", "mast"],
                steps: [.look("{rollcall} gaps --by cause")]),
        ]
    }

    // MARK: - The script

    private static var permission: DemoScript.Scene {
        let id = revoked
        return DemoScript.Scene(
            name: "permission", after: ["begin"], pause: .seconds(2),
            steps: [
                .act(
                    .lastWords(id, .permission("denied")),
                    "\(id): somebody revokes the location permission; the app says so, and stops"),
                .expect(.status(id, "DEGRADED"), within: soon),
                .expect(.gap(id, suspected: "permission_denied"), within: soon),
                .look("{rollcall} explain \(id)"),
                .pause(.seconds(4)),
                .act(.open(id), "\(id): the person opens the app, and has not allowed it yet"),
                .expect(.status(id, "ONLINE"), within: soon),
                .pause(.seconds(3)),
                .act(
                    .say(id, .permission("granted")),
                    "\(id): the person allows it again; locations come"),
                .pause(.seconds(3)),
            ] + verdict(id, "permission_denied"))
    }

    private static var swipe: DemoScript.Scene {
        let id = swiped
        return DemoScript.Scene(
            name: "swipe", after: ["begin"], pause: .seconds(8),
            steps: [
                .act(.become(.stopped, [id]), "\(id): the app is swiped away in the background"),
                .expect(.gap(id, suspected: "app_suspended"), within: soon),
                .look("{rollcall} gaps"),
                .expect(.nudge(id), within: .seconds(60)),
                .expect(.push(id), within: soon),
                .pause(.seconds(4)),
                .act(.open(id), "\(id): the person reads the push and opens the app"),
                .expect(.status(id, "ONLINE"), within: soon),
                .expect(.followed(id, "located"), within: soon),
                .look("{rollcall} nudges"),
                .pause(.seconds(3)),
            ] + verdict(id, "app_stopped") + [.look("{rollcall} explain \(id)")])
    }

    private static var tunnel: DemoScript.Scene {
        let id = tunnelled
        return DemoScript.Scene(
            name: "tunnel", after: ["permission"], pause: .seconds(3),
            steps: [
                .act(
                    .become(.fading, [id]), "\(id): the network fades, the phone's queue grows"),
                .pause(.seconds(7)),
                .act(.become(.cut, [id]), "\(id): is in a tunnel; the app collects on"),
                .expect(.gap(id, suspected: "no_network"), within: soon),
                .pause(.seconds(4)),
                .act(
                    .become(.reporting, [id]),
                    "\(id): leaves the tunnel and sends what it collected"),
                .expect(.status(id, "ONLINE"), within: soon),
                .pause(.seconds(3)),
            ] + verdict(id, "network"))
    }

    private static var leave: DemoScript.Scene {
        let id = offDuty
        return DemoScript.Scene(
            name: "leave", after: ["swipe"], pause: .seconds(2),
            steps: [
                .act(
                    .duty(id, isOn: false), "\(id): goes off duty; the phone is silent from now on"),
                .expect(.status(id, "NOT_EXPECTED"), within: soon),
                .pause(.seconds(12)),
                .askForNoGap(id),
                .expect(.noGap(id), within: soon),
            ])
    }

    private static func mast(
        _ cast: DemoCast, name: String = "mast", after: [String] = ["tunnel", "leave"]
    ) -> DemoScript.Scene {
        let ids = cast.people(of: region)
        let alert = "NoOnlineResponders"
        return DemoScript.Scene(
            name: name, after: after, pause: .seconds(2),
            steps: [
                .act(
                    .become(.cut, ids),
                    "\(region): the only mast fails; its \(ids.count) phones reach nobody"),
                .expect(.alert(alert, of: region, state: "firing"), within: soon),
                .expect(.page(alert, of: region, state: "firing"), within: soon),
            ]
                + ids.map { .expect(.gap($0, suspected: "mass_gap"), within: soon) } + [
                    .look("curl -s {server}/v1/alerts"),
                    .pause(.seconds(5)),
                    .act(.become(.reporting, ids), "\(region): the mast works again"),
                    .expect(.alert(alert, of: region, state: "resolved"), within: soon),
                    .expect(.page(alert, of: region, state: "resolved"), within: soon),
                ])
    }

    /// Returns the steps by which a verdict comes soon: a phone that is late again brings the one
    /// before (F26).
    private static func verdict(_ id: String, _ word: String) -> [DemoScript.Step] {
        [
            .act(
                .become(.cut, [id]),
                "\(id): is late once more: its return would else be judged after two minutes"),
            .wait(.verdict(id, word), lateMax),
            .act(.become(.reporting, [id]), "\(id): reports as ever"),
            .expect(.verdict(id, word), within: verdictMax),
        ]
    }

    // MARK: - For ever

    /// Between two rounds.
    static let rest = Milliseconds.seconds(20)
    /// Each round that this divides has a mast fail.
    private static let mastEvery = 12

    /// Returns what happens in round `number`, from 1: to others each time. In the first, who went
    /// off duty comes back. Verdicts come when they come.
    static func round(_ number: Int, _ cast: DemoCast) -> DemoScript.Scene {
        let name = "round \(number)"
        guard number > 1 else {
            return DemoScript.Scene(
                name: name, pause: rest,
                steps: [
                    .act(.duty(offDuty, isOn: true), "\(offDuty): is on duty again"),
                    .expect(.status(offDuty, "ONLINE"), within: soon),
                ])
        }
        if number % mastEvery == 0 { return mast(cast, name: name, after: []) }
        let others = cast.everybody.filter { $0.region != region }.map(\.id)
        let id = others[number * 11 % others.count]
        var steps: [DemoScript.Step]
        switch number % 5 {
        case 1:
            steps = [
                .act(.lastWords(id, .battery(0.03)), "\(id): the battery dies"),
                .expect(.gap(id, suspected: "battery_empty"), within: soon), .pause(.seconds(10)),
                .act(.say(id, .battery(0.4)), "\(id): is charged and started again"),
            ]
        case 2:
            steps = [
                .act(
                    .lastWords(id, .appState("foreground")),
                    "\(id): the app crashes in the person's hand"),
                .expect(.gap(id, suspected: "app_terminated"), within: soon), .pause(.seconds(5)),
            ]
        case 3:
            steps = [
                .act(.lastWords(id, .power("low_power")), "\(id): low power mode stops the app"),
                .expect(.gap(id, suspected: "low_power"), within: soon),
                .expect(.push(id), within: .seconds(60)), .pause(.seconds(4)),
                .act(.say(id, .power("normal")), "\(id): the person ends low power mode"),
            ]
        case 4:
            steps = [
                .act(.duty(id, isOn: false), "\(id): goes off duty for a while"),
                .expect(.status(id, "NOT_EXPECTED"), within: soon), .pause(.seconds(20)),
                .act(.duty(id, isOn: true), "\(id): is on duty again"),
            ]
        default:
            steps = [
                .act(.lastWords(id, .services(false)), "\(id): location services are switched off"),
                .expect(.gap(id, suspected: "location_services_off"), within: soon),
                .pause(.seconds(5)),
                .act(.say(id, .services(true)), "\(id): they are switched on again"),
            ]
        }
        if number % 5 != 4 {
            steps.append(.act(.open(id), "\(id): the person opens the app"))
        }
        steps += [
            .expect(.status(id, "ONLINE"), within: soon), .pause(.seconds(4)),
            .act(.say(id, .appState("background")), "\(id): puts the phone away"),
        ]
        return DemoScript.Scene(name: name, pause: rest, steps: steps)
    }
}
