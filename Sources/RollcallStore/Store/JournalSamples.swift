import RollcallCore

/// The counts of the fleet at one minute: what a band of the last hours is drawn from.
///
/// It holds counts and no personal data but the names of regions, which the store keeps apart. While the watch is
/// blind there is none: what was last known then was not seen.
package struct FleetSample: Equatable, Sendable {
    /// The instant at which it was counted, by the wall.
    package var at: Timestamp
    /// Expected people, by `Status`.
    package var byStatus: [Int]
    package var notExpected: Int
    /// The counts of its regions.
    package var regions: [SampledRegion]

    /// The counts of an instant.
    init(
        at: Timestamp, byStatus: [Int], notExpected: Int, regions: [SampledRegion] = []
    ) {
        self.at = at
        self.byStatus = byStatus
        self.notExpected = notExpected
        self.regions = regions
    }

    /// The counts of `engine` at its now.
    init(_ engine: Engine) {
        at = engine.clock.wallNow
        byStatus = engine.aggregates.byStatus
        notExpected = engine.aggregates.notExpected.reduce(0, +)
        regions = SampledRegion.all(of: engine)
    }

    /// Minutes since 1970-01-01, UTC: one row each.
    static func minute(_ at: Timestamp) -> Int64 {
        let minute = at.milliseconds / 60_000
        return at.milliseconds < minute * 60_000 ? minute - 1 : minute
    }
}

/// Takes a sample in the first turn of each minute of the wall in which the watch can see.
package struct FleetSampler: Sendable {
    /// The minute of the last sample. A wall that steps back comes to earlier ones again, and what
    /// is counted then takes their rows.
    private var minute: Int64?

    package init() {}

    /// Returns true if the minute of `wall` has no sample yet.
    package func isDue(at wall: Timestamp) -> Bool { FleetSample.minute(wall) != minute }

    /// The sample that belongs to the turn that `engine` has closed; nil if none is due.
    package mutating func sample(_ engine: Engine) -> FleetSample? {
        let wall = engine.clock.wallNow
        guard !engine.clock.isBlind, isDue(at: wall) else { return nil }
        minute = FleetSample.minute(wall)
        return FleetSample(engine)
    }
}

/// Samples in the store.
extension Journal {
    /// Keeps a sample, in the open transaction; another one of the same minute gives way.
    /// - Throws: `StoreError` if it cannot be written.
    package func put(_ sample: FleetSample) throws(StoreError) {
        try writing { () throws(StoreError) in
            let put = statements.putSample
            put.bind(FleetSample.minute(sample.at), as: .minute)
            put.bind(sample.at, as: .atMs)
            for status in Status.allCases {
                put.bind(sample.byStatus[Int(status.rawValue)], as: status.column)
            }
            put.bind(sample.notExpected, as: .notExpected)
            try put.run()
            try putRegions(of: sample)
        }
    }

    /// Removes at most `limit` samples from before `time`; true if some are left.
    /// - Throws: `StoreError` if the store cannot be written.
    package func cutSamples(before time: Timestamp, limit: Int64) throws(StoreError) -> Bool {
        try run(
            statements.deleteSamplesBefore, [.minute: FleetSample.minute(time), .limit: limit])
        if connection.changes == limit { return true }
        return try cutRegionSamples(before: time, limit: limit)
    }
}

/// Reads samples.
package final class SampleReader {
    private let last: Statement

    /// A reader of a store of which the tables are there.
    /// - Throws: `StoreError` if SQLite refuses its statement.
    init(_ connection: SQLiteConnection) throws(StoreError) {
        last = try Statement(
            connection,
            """
            \(select: .samples)
            WHERE minute >= :first AND minute <= :last ORDER BY minute DESC
            """)
    }

    /// Calls `take` with samples at `since` or later and before `until`, the newest first, until it
    /// says no.
    /// - Throws: `StoreError` if one cannot be read, or is not as it was written.
    package func samples(
        since: Timestamp, until: Timestamp, take: (FleetSample) -> Bool
    ) throws(StoreError) {
        try last.bind([
            .first: FleetSample.minute(since), .last: FleetSample.minute(until),
        ])
        defer { last.reset() }
        while try last.next() {
            guard last.fits(.samples) else {
                throw .damaged("sample of minute \(last.integer(.minute)) is not as it was written")
            }
            let sample = FleetSample(last)
            guard sample.at < until else { continue }
            guard sample.at >= since, take(sample) else { return }
        }
    }
}

extension FleetSample {
    /// The current row of the reader's statement.
    fileprivate init(_ row: Statement) {
        at = row[.atMs]
        byStatus = Status.allCases.map { row[$0.column] }
        notExpected = row[.notExpected]
        // They stand in a table of their own.
        regions = []
    }
}

extension Status {
    fileprivate var column: StoreColumn {
        switch self {
        case .online: .online
        case .degraded: .degraded
        case .unknown: .unknown
        case .offline: .offline
        }
    }
}

extension JournalSchema {
    static let sinceVersion6: [SQL] = [
        // One row a minute of the wall in which the watch could see; `minute` counts from 1970, UTC.
        // Counts of everybody: nothing in it is about one person, so that erasures leave it alone.
        """
        CREATE TABLE samples(
            minute INTEGER PRIMARY KEY,
            at_ms INTEGER NOT NULL,
            online INTEGER NOT NULL,
            degraded INTEGER NOT NULL,
            unknown INTEGER NOT NULL,
            offline INTEGER NOT NULL,
            not_expected INTEGER NOT NULL)
        """
    ]
}
