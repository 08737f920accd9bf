import RollcallTools

/// What can befall a fleet. Some are faults, some are only daily life.
enum Fault: String, CaseIterable {
    // Phones
    case tunnel, kill, reinstall, skewedClock, steppingClock, driftingClock, dutyShift, pause
    case lowPower, throttle, cachedFix, bareUpdate, move, death, holes, ghost, collision
    case permission, services, drain, appState, weakNetwork, cell, silence, telemetry, cadence
    // Backends
    case delay, duplicate, stuckForwarder, buffer, outage, backendSkew, opinion, mass, fact
    case roster, heartbeat, erase
    // Disk and host
    case store, crash, stop, crashLoop, suspend, overload, clockStep, turn
    // Operator
    case policy, observe, forget, factors, rules
    // What alerts are about
    case flap, staffing
    /// Events exactly at deadlines, or a millisecond beside them.
    case edge

    /// True for those that happen now and then; the others are habits of the whole story.
    var strikes: Bool {
        switch self {
        case .driftingClock, .cachedFix, .bareUpdate, .ghost, .delay, .duplicate, .stuckForwarder,
            .buffer, .backendSkew, .heartbeat, .observe, .forget, .factors, .telemetry,
            .cadence:
            false
        default: true
        }
    }

    /// How many times as often as the rarest it strikes.
    var weight: Int64 {
        switch self {
        case .opinion: 8
        case .edge: 5
        case .fact, .turn: 4
        case .collision, .silence: 3
        case .dutyShift, .pause, .tunnel, .kill, .outage, .mass, .cell, .appState, .rules, .flap,
            .staffing:
            2
        default: 1
        }
    }
}

/// Which faults exist in one world, and the habits that hold throughout it.
struct WorldFaults {
    private var kinds: Set<Fault> = []
    /// Strikes of each kind, times its weight.
    var rate: Int64 = 1
    /// All times are whole seconds, so that ties abound.
    var usesWholeSeconds = false
    /// Backends stamp with the host's wall, wrong or right; otherwise with true time.
    var backendsFollowHost = true
    /// Several events at one instant are sought.
    var seeksActivePeer = false

    /// True if `fault` exists in this world.
    func has(_ fault: Fault) -> Bool { kinds.contains(fault) }

    /// Draws: few in many worlds, none in some, all in some.
    init(_ dice: inout Dice) {
        let perMille: Int64 =
            switch dice.number(0...99) {
            case 0..<6: 0
            case 6..<40: 120
            case 40..<80: 400
            default: 1000
            }
        for kind in Fault.allCases where dice.chance(perMille) { kinds.insert(kind) }
        // One time in eight a single kind shows alone what it does.
        if perMille == 120, dice.chance(250) { kinds = [dice.pick(Fault.allCases), .opinion] }
        rate = dice.pick([1, 1, 2, 3])
        if perMille == 1000 { rate = 1 }
        usesWholeSeconds = dice.chance(250)
        backendsFollowHost = dice.chance(500)
        seeksActivePeer = dice.chance(400)
    }
}
