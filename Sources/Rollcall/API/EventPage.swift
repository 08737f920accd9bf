import RollcallBasis
import RollcallCore
import RollcallStore

/// Some events one behind the other, as they are sent to whoever asks for them. Source: E1.
struct EventPage: Sendable {
    /// One of them.
    struct Event: Sendable {
        let number: Int64
        let kind: EventKind
        let at: Timestamp
        /// The id of the person whom it is about; empty if it is about nobody.
        let responder: [UInt8]
        /// The region that it is about, or that the person is in; empty if there is none.
        let region: [UInt8]
        /// The object.
        let body: [UInt8]
    }

    /// Decisions read for one page at most.
    static let decisionsMax = 1000

    private(set) var events: [Event]
    /// The number of the last decision that was looked at.
    private(set) var through: Int64
    /// True if there was no more.
    let isEnd: Bool
}

extension EventPage {
    /// Reads what was decided behind number `after`; nil if the state writer, which knows how people
    /// are called, does not answer in time. What is about somebody erased is left out, and what another cell decided
    /// about nobody before this one was split from it.
    /// - Throws: `StoreError` if the store cannot be read.
    init?(
        behind after: Int64, epoch: UInt64, _ work: HistoryWork, erased: ErasedIDs
    ) throws(StoreError) {
        var found: [(number: Int64, kind: EventKind, decision: Decision)] = []
        var looked = 0
        var through = after
        let first = try work.reader.decisionsOfOrigin()
        let isEnd = try work.reader.decisions(after: &through) { row in
            looked += 1
            if let decision = DecisionCode.decision(row), let kind = EventKind(decision) {
                found.append((row.id, kind, decision))
            }
            return looked < Self.decisionsMax
        }
        let numbers = Set(
            found.flatMap { [$0.decision.person, $0.decision.actor] }.compactMap { $0 })
        guard let people = numbers.isEmpty ? [:] : work.people(numbers) else { return nil }
        var events: [Event] = []
        for (number, kind, decision) in found {
            let person = decision.person.flatMap { people[$0] }
            if decision.person == nil ? number <= first : person == nil { continue }
            let cursor = EventCursor(epoch: epoch, number: number).text
            events.append(
                Event(
                    number: number, kind: kind, at: decision.at, responder: person?.id ?? [],
                    region: decision.region ?? person?.region ?? [],
                    body: EventJSON.event(
                        decision, kind, cursor: cursor, person,
                        by: decision.actor.flatMap { people[$0] }, erased: erased.id)))
        }
        self.init(events: events, through: through, isEnd: isEnd)
    }
}

extension HistoryWork {
    /// Returns how people are called by their numbers, without those who were erased; nil if the
    /// state writer does not answer.
    fileprivate func people(_ numbers: Set<Int>) -> [Int: EventJSON.Person]? {
        asked { view in
            let engine = view.engine
            let known = numbers.filter {
                (0..<engine.roster.count).contains($0) && engine.roster[$0].idCount > 0
            }
            return Dictionary(
                uniqueKeysWithValues: known.map { number in
                    let region = engine.regions[engine.roster[number].region]
                    return (
                        number,
                        EventJSON.Person(
                            id: Array(engine.roster.id(number)), region: Array(region))
                    )
                })
        }
    }
}
