/// Some steps of a replay, read once for all runs that take them: who a batch is about and what it
/// says do not depend on settings.
package struct ReplayChunk: Sendable {
    /// A step that is one batch. What it says stands in `items`: read here by member, it would be copied.
    struct Batch {
        let at: RunningTime
        /// The person's place among the names that were met.
        let name: Int
        /// The source that sent it, as a place in `sources`.
        let source: Int
    }

    /// The place of a step.
    enum Place {
        case batch(Int)
        case other(Int)
    }

    private(set) var places: ContiguousArray<Place> = []
    private(set) var batches: ContiguousArray<Batch> = []
    /// The steps that are no single batch.
    private(set) var others: ContiguousArray<ReplayStep> = []
    private(set) var items: ContiguousArray<Item> = []
    /// The bytes of the batches' items.
    private(set) var list = ItemList()
    private(set) var sources: [[UInt8]] = []

    /// No step.
    package init() {}

    /// Number of steps.
    package var count: Int { places.count }

    /// Takes a step in; `names` are the people met so far.
    package mutating func append(_ step: ReplayStep, _ names: inout ReplayNames) {
        guard case .event(.items(let items, let source)?, let at) = step, items.count == 1 else {
            places.append(.other(others.count))
            return others.append(step)
        }
        append(items, source, at, step, &names)
    }

    private mutating func append(
        _ items: ItemList, _ source: [UInt8], _ at: RunningTime, _ step: ReplayStep,
        _ names: inout ReplayNames
    ) {
        list.bytes.append(contentsOf: items.bytes)
        list.ends.append(list.bytes.count)
        guard let item = list.item(list.count - 1), item.kind == .batch else {
            list.bytes.removeLast(items.bytes.count)
            list.ends.removeLast()
            places.append(.other(others.count))
            return others.append(step)
        }
        if sources.last != source { sources.append(source) }
        places.append(.batch(batches.count))
        self.items.append(item)
        batches.append(
            Batch(
                at: at, name: names.place(of: list.bytes.span, item.responderID),
                source: sources.count - 1))
    }

    /// A batch as the step that it was.
    func step(_ batch: Int) -> ReplayStep {
        var items = ItemList()
        items.bytes = Array(list.bytes[list.range(of: batch)])
        items.ends = [items.bytes.count]
        return .event(
            .items(items, source: sources[batches[batch].source]), at: batches[batch].at)
    }

    /// The settings that it begins with; nil if it does not say so.
    package var policy: Policy? {
        var found: Policy?
        for place in places {
            guard case .other(let other) = place else {
                // Settings that come later are a change.
                if found != nil { return found }
                continue
            }
            switch others[other] {
            case .state(let engine, _): found = engine.policy
            case .event(.policy(let policy), _): found = policy
            case .event(.items, _) where found != nil: return found
            case .event, .end: break
            }
        }
        return found
    }

    /// The platforms of the people whom it tells of.
    package var platforms: Set<Platform> {
        var found = Set(items.compactMap(\.platform))
        for step in others {
            switch step {
            case .state(let engine, _):
                for number in 0..<engine.roster.count {
                    found.insert(engine.roster[number].platform)
                }
            case .event(.items(let list, _), _), .event(.roster(let list, _, _), _):
                for index in 0..<list.count {
                    if let platform = list.item(index)?.platform { found.insert(platform) }
                }
            case .event, .end: break
            }
        }
        return found
    }
}

/// The people that the steps of a replay name, in the order in which they do.
package struct ReplayNames: Sendable {
    private var roster = Roster()

    /// Nobody.
    package init() {}

    /// The place of a name, given now if it has none.
    mutating func place(of bytes: Span<UInt8>, _ name: ByteRange) -> Int {
        roster.number(of: bytes, name.indices) ?? roster.enrol(bytes, name.indices)
    }
}
