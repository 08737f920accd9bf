import RollcallBasis
import RollcallCore
import Synchronization

/// The inputs as they are now, and the counts of what came by each. These begin at 0 with the process
/// (V2); none of them, and nothing else here, holds a value of a body. Source: M4.
package final class InputBook: Sendable {
    /// An input as a request finds it.
    package struct Entry: Sendable {
        /// Its settings.
        package let settings: InputSettings
        /// True if it enrols somebody unknown.
        package let enrols: Bool
    }

    /// The last part of something that was not taken.
    struct LastProblem: Sendable {
        let note: ItemNote
        let at: Timestamp
    }

    /// The counts of one input.
    struct Counts: Sendable {
        var requests = 0
        /// Batches that were taken, were known already, were not taken, were of no interest.
        var items: InlineArray<4, Int> = [0, 0, 0, 0]
        /// By `UpdateOutcome`.
        var updates: InlineArray<3, Int> = [0, 0, 0]
        /// By `ItemFault`, problems and rejections alike.
        var faults = [Int](repeating: 0, count: ItemFault.allCases.count)
        var lastProblem: LastProblem?
        var lastRequestAt: Timestamp?
        var lastAcceptedAt: Timestamp?
    }

    /// The words of `Counts.items`.
    static let outcomes: [StaticString] = ["accepted", "duplicate", "rejected", "skipped"]

    private struct State: Sendable {
        var entries: [Entry] = []
        var counts: [String: Counts] = [:]
    }

    private let state = Mutex(State())

    /// No inputs.
    package init() {}

    /// Has other inputs from the next request on; what is counted of those that stay goes on.
    package func follow(_ configuration: Configuration) {
        let isOpen = configuration.isOpenToThisMachine
        let entries = configuration.inputs.map {
            Entry(settings: $0, enrols: $0.enrols(isOpen: isOpen))
        }
        state.withLock { state in
            state.entries = entries
            var counts: [String: Counts] = [:]
            for entry in entries {
                let name = entry.settings.name
                counts[name] = state.counts[name] ?? Counts()
            }
            state.counts = counts
        }
    }

    /// The input of a name; nil if there is none.
    package func entry(_ name: some StringProtocol) -> Entry? {
        state.withLock { state in state.entries.first { $0.settings.name == name } }
    }

    /// Counts a request that came at `arrival`: what was read of it, and what became of that.
    package func count(
        _ name: String, _ reading: InputReading, _ receipt: Receipt, at arrival: Timestamp
    ) {
        let scan = reading.scan
        var problem = scan.rejected.last ?? scan.problems.last
        if let (item, fault) = receipt.rejected.last {
            problem = ItemNote(
                index: Int(scan.places[item]), pointer: "", fault: fault, detail: Self.detail(fault)
            )
        }
        let rejected = receipt.rejected
        let noted = problem
        state.withLock { state in
            guard var counts = state.counts[name] else { return }
            counts.requests += 1
            counts.lastRequestAt = arrival
            counts.items[0] += receipt.accepted
            counts.items[1] += receipt.duplicates
            counts.items[2] += scan.rejectedCount + rejected.count
            counts.items[3] += reading.skipped
            for place in 0..<3 { counts.updates[place] += receipt.updates[place] }
            for fault in ItemFault.allCases {
                counts.faults[Int(fault.rawValue)] +=
                    scan.problemCount(fault) + scan.rejectedCount(fault)
            }
            for (_, fault) in rejected { counts.faults[Int(fault.rawValue)] += 1 }
            if receipt.accepted > 0 { counts.lastAcceptedAt = arrival }
            if let noted { counts.lastProblem = LastProblem(note: noted, at: arrival) }
            state.counts[name] = counts
        }
    }

    /// Returns each input with its counts, in the order of the settings.
    func all() -> [(entry: Entry, counts: Counts)] {
        state.withLock { state in
            state.entries.map { ($0, state.counts[$0.settings.name] ?? Counts()) }
        }
    }

    /// The words about what the engine does not take.
    static func detail(_ fault: ItemFault) -> String {
        switch fault {
        case .erased: "this person was erased; POST /v1/responders names them again"
        case .responderLimit: "no more responders are held: see limits.responders"
        case .unknownResponder:
            "nobody enrolled this person: POST /v1/responders does, and so does enrol: true"
        default: "cannot be read"
        }
    }

    // MARK: - Metrics

    /// Appends the families of inputs; nothing without any.
    package func append(to page: inout Exposition) {
        let all = all()
        if all.isEmpty { return }
        page.family("rollcall_input_requests", .counter, "Requests to inputs that were read.")
        for (entry, counts) in all {
            page.sample(["input": Self.label(entry)], Quantity(counts.requests))
        }
        page.family(
            "rollcall_input_items", .counter, "What came by inputs, by what became of it.")
        for (entry, counts) in all {
            for (place, outcome) in Self.outcomes.enumerated() {
                page.sample(
                    ["input": Self.label(entry), "outcome": .word(outcome)],
                    Quantity(counts.items[place]))
            }
        }
        page.family(
            "rollcall_input_problems", .counter, "What inputs could not take, by reason.")
        for (entry, counts) in all {
            for fault in ItemFault.allCases {
                page.sample(
                    ["input": Self.label(entry), "reason": .word(fault.word)],
                    Quantity(counts.faults[Int(fault.rawValue)]))
            }
        }
    }

    private static func label(_ entry: Entry) -> Exposition.LabelValue {
        .bytes(Array(entry.settings.name.utf8))
    }
}
