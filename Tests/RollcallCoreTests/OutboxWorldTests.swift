import Testing

@testable import RollcallCore

/// Every order in which alerts, attempts, answers and kills can come, in worlds that are small: one
/// incident for each firing, none that stays or comes back, nothing after a 2xx (A9).
@Suite struct OutboxWorldTests {
    /// Walks through all that can happen; returns how many worlds there were.
    private func explore(_ start: OutboxWorld) -> Int {
        var seen: Set<String> = [start.state]
        var left = [start]
        while let world = left.popLast() {
            let faults = world.faultsAfterHealing
            if !faults.isEmpty {
                Issue.record("\(faults) from \(world.state)")
                return seen.count
            }
            for step in world.steps {
                let next = world.after(step)
                if seen.insert(next.state).inserted { left.append(next) }
            }
        }
        return seen.count
    }

    @Test(.disabled(if: Effort.isSmall), arguments: [ReceiverKind.pagerduty, .webhook])
    func `one alert, whatever happens, in any order`(kind: ReceiverKind) {
        let worlds = explore(OutboxWorld(kind, alerts: 1, fires: 2, repeats: 1))
        #expect(worlds > 100)
    }

    @Test(.disabled(if: Effort.isSmall), arguments: [ReceiverKind.pagerduty, .webhook])
    func `two alerts, of which one message may tell, whatever happens`(kind: ReceiverKind) {
        let worlds = explore(OutboxWorld(kind, alerts: 2, fires: 1, repeats: 0))
        #expect(worlds > 1000)
    }
}
