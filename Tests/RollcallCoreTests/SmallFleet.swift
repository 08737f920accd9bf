@testable import RollcallCore

/// A small fleet of cells with one clock: what they say arrives at once, and so does what they are told.
struct SmallFleet {
    var cells: [Engine]
    var fleet: Engine
    private var position: Int64 = 0
    /// The masses that cells were told of last.
    private var told: [FleetMass] = []
    /// Cells that say nothing at present.
    var muted: Set<Int> = []

    init(cells count: Int = 2, _ change: (inout Policy) -> Void = { _ in }) {
        var policy = Policy()
        policy.alerts.noOnlineResponders.pendingFor = Milliseconds(0)
        policy.alerts.noOnlineResponders.keepFiringFor = Milliseconds(0)
        policy.alerts.highOfflineRate.isEnabled = false
        change(&policy)
        func engine(_ role: FleetRole) -> Engine {
            policy.role = role
            return Engine(policy: policy)
        }
        cells = (0..<count).map { _ in engine(.cell) }
        fleet = engine(.fleet)
        let zero = Self.instant(0)
        _ = fleet.fold(.start(), at: zero)
        for place in cells.indices {
            _ = cells[place].fold(.start(), at: zero)
            fleet.cells.await(Self.name(place), since: zero)
        }
    }

    static func instant(_ seconds: Int64) -> RunningTime {
        RunningTime(milliseconds: 1_795_219_200_000 + seconds * 1000)
    }

    static func name(_ cell: Int) -> [UInt8] { [UInt8(ascii: "a") + UInt8(cell)] }

    /// People of a cell report from a region.
    mutating func report(
        _ ids: [String], in region: String = "harbour", to cell: Int, at seconds: Int64
    ) {
        pass(to: seconds)
        let items = ids.map {
            #"{"responder_id":"\#($0)","region":"\#(region)","duty_state":"ON_DUTY"}"#
        }
        let body = Array("[\(items.joined(separator: ","))]".utf8)
        guard let list = try? ItemScanner.scan(body.span, kind: .batch).items else { return }
        _ = cells[cell].fold(
            .items(list, source: EventSource.standard), at: Self.instant(seconds))
        exchange(at: seconds)
    }

    /// Time passes; each second the cells say what they have to say.
    mutating func pass(to seconds: Int64) {
        let now = (fleet.clock.now.milliseconds - Self.instant(0).milliseconds) / 1000
        guard now < seconds else { return }
        for second in (now + 1)...seconds { exchange(at: second) }
    }

    private mutating func exchange(at seconds: Int64) {
        let now = Self.instant(seconds)
        var said: [Summary] = []
        for place in cells.indices {
            cells[place].advance(to: now)
            if muted.contains(place) { continue }
            position += 1
            said.append(
                cells[place].takeSummary(of: Self.name(place), position: position, through: now)
            )
        }
        _ = fleet.fold(.summaries(said), at: now)
        fleet.settle()
        let masses = fleet.masses.masses
        guard masses != told else { return }
        told = masses
        for place in cells.indices where !muted.contains(place) {
            _ = cells[place].fold(.masses(masses), at: now)
        }
    }

    /// Alerts that the fleet cell decided, as `NAME state` with the seconds.
    mutating func alerts() -> [String] {
        fleet.takeDecisions().compactMap { numbered in
            guard case .alert(let at, let report) = numbered.decision else { return nil }
            let seconds = (at.milliseconds - Self.instant(0).milliseconds) / 1000
            return "\(seconds)s \(report.key.name.word) \(report.state.word)"
        }
    }

    /// Alerts that cells decided.
    mutating func alertsOfCells() -> [AlertName] {
        var names: [AlertName] = []
        for place in cells.indices {
            for numbered in cells[place].takeDecisions() {
                if case .alert(_, let report) = numbered.decision {
                    names.append(report.key.name)
                }
            }
        }
        return names
    }
}
