/// What an event from a file may say: an edge that scans bodies lets nothing else through, so whatever
/// is beyond was damaged, or made up, and the engine need not reckon with it.
extension Event {
    /// Spans and steps of the wall: a century.
    static let spanMax = Milliseconds(3_155_760_000_000)
    /// Writes refused between two turns.
    private static let refusedMax = 1_000_000_000
    /// People's numbers.
    private static let people = 0..<Int(Int32.max)

    /// False for what nobody can have said. Items were scanned, or are judged one by one.
    package var isCredible: Bool {
        switch self {
        case .heartbeat(_, let every): (0...Self.spanMax.count).contains(every.count)
        case .clock(let step): step.count.magnitude <= Self.spanMax.count.magnitude
        case .refused(let count): (0...Self.refusedMax).contains(count)
        case .turn(let lateness):
            lateness.map { $0.count.magnitude <= Self.spanMax.count.magnitude } ?? true
        case .silence(.begin(let silence)):
            (0...RFC3339.millisecondsMax).contains(silence.endsAt.milliseconds)
        case .wake(.members(let members), _): members.allSatisfy(Self.people.contains)
        case .pushed(let end): Self.people.contains(end.person)
        case .erase(.number(let number, _), _): number.map(Self.people.contains) ?? true
        case .items, .roster, .erase, .store, .policy, .silence, .drill, .outcome, .wake, .start,
            .stop:
            true
        }
    }
}

extension ItemList {
    /// True if item `index` is one that a scanner can have made.
    package func isCredible(_ index: Int) -> Bool {
        guard let item = item(index) else { return false }
        let times = [item.toldAt, item.pausedUntil].compactMap { $0?.milliseconds }
        guard item.kind == .nobody || !item.responderID.indices.isEmpty,
            times.allSatisfy((0...RFC3339.millisecondsMax).contains),
            (0...10_000).contains(item.battery ?? 0)
        else { return false }
        var reader = UpdateReader(item)
        var count = 0
        while let update = reader.next(bytes.span) {
            let time = update.capturedAt?.milliseconds ?? 0
            guard update.sequence >= 0, (0...RFC3339.millisecondsMax).contains(time) else {
                return false
            }
            count += 1
        }
        return count == item.updateCount
    }
}
