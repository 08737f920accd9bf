import CSQLite

/// A column of the store's tables, or what a parameter of a statement stands for: named as in SQL, in
/// Swift's letters, `next_ms` as `nextMs`.
package enum StoreColumn: UInt8, CaseIterable {
    case id, kind, responder, previous, body, checksum
    case number, turn, nowMs, wallMs, firstRow, lastRow, engineVersion, atMs
    case key, value
    case state, slices, slice, createdMs
    case requestedMs, nextRow, nextDecision, rows, decisions, gap, regions
    case notice, target, leftMembers, attempts, sinceMs, nextMs, untilMs, decidedMs, finishedMs
    case outcome, attempt, beganMs, tookMs, status, error
    case token, ticket, facts
    case aggregates, region, openedMs, closedMs, firstTurn, lastTurn
    case block
    case day, platform, contactMs, locationMs
    case minute, online, degraded, unknown, offline, notExpected
    /// No columns, but the bounds of what a statement looks at.
    case first, last, limit

    /// The name in SQL.
    var name: String {
        // A word of older versions.
        if self == .aggregates { return "tally" }
        return "\(self)".reduce(into: "") {
            $0 += $1.isUppercase ? "_\($1.lowercased())" : "\($1)"
        }
    }

    private static let named = Dictionary(uniqueKeysWithValues: allCases.map { ($0.name, $0) })

    /// Returns the places that have a name, by the names' numbers; -1 for a name without a place.
    static func places(
        _ range: Range<Int32>, _ name: (Int32) -> UnsafePointer<CChar>?
    ) -> [Int32] {
        var places = [Int32](repeating: -1, count: allCases.count)
        for place in range {
            guard let name = name(place), let column = named[String(cString: name)] else {
                continue
            }
            places[Int(column.rawValue)] = place
        }
        return places
    }
}

extension RowChecksum.Table {
    /// The tables that a start decides by and that are small: looked at whole.
    package static let small: [Self] = [.meta, .checkpoints, .erasures]
    /// All of which SQL reckons the checksums.
    package static let partly: [Self] =
        small + [
            .segments, .outbox, .attempts, .pushes, .gaps, .dark, .samples, .regionSamples,
            .sampledRegions,
        ]

    /// The name in SQL.
    var name: String {
        switch self {
        case .slices: "checkpoint_slices"
        case .regionSamples: "region_samples"
        case .sampledRegions: "sampled_regions"
        default: "\(self)"
        }
    }

    /// The columns in the order of the checksum, which is the last one.
    var columns: [StoreColumn] {
        switch self {
        case .journal: [.id, .kind, .responder, .previous, .body]
        case .decisions: [.id, .turn, .kind, .responder, .previous, .atMs, .body]
        case .turns: [.number, .nowMs, .wallMs, .firstRow, .lastRow, .engineVersion]
        case .slices: [.turn, .slice, .body]
        case .meta: [.key, .value]
        case .checkpoints: [.turn, .engineVersion, .state, .slices, .createdMs]
        case .erasures:
            [
                .number, .turn, .responder, .requestedMs, .finishedMs, .nextRow, .nextDecision,
                .rows, .decisions, .gap, .regions,
            ]
        case .outbox:
            [
                .notice, .target, .state, .leftMembers, .attempts, .sinceMs, .nextMs, .decidedMs,
                .finishedMs, .outcome, .body,
            ]
        case .attempts: [.notice, .target, .attempt, .beganMs, .tookMs, .status, .error]
        case .pushes:
            [
                .number, .state, .attempts, .nextMs, .untilMs, .finishedMs, .outcome, .token,
                .ticket, .responder, .kind, .sinceMs, .decidedMs, .facts,
            ]
        case .gaps:
            [
                .number, .responder, .aggregates, .region, .openedMs, .closedMs, .firstTurn, .turn,
                .body,
            ]
        case .dark: [.day, .responder, .platform, .contactMs, .locationMs, .region]
        case .samples: [.minute, .atMs, .online, .degraded, .unknown, .offline, .notExpected]
        case .regionSamples: [.minute, .atMs, .body]
        case .sampledRegions: [.number, .day, .region]
        case .segments: [.firstTurn, .lastTurn, .firstRow, .lastRow, .block, .state, .body]
        case .blocks: [.id, .body]
        }
    }
}
