import RollcallCore

/// Counts by region in the store (J10). The engine gives a region's number to another one as soon as
/// nobody is there any more, so the store has numbers of its own, and one table that says which names
/// they stand for: that is where an erasure takes a name out of all of history.
extension Journal {
    /// Keeps the regions of a sample, in the open transaction; those of the same minute give way.
    func putRegions(of sample: FleetSample) throws(StoreError) {
        var entries: [RegionSample.Entry] = []
        for region in sample.regions {
            let number = try sampledNumber(of: region.name, at: sample.at)
            entries.append(RegionSample.Entry(number: number, counts: region.counts))
        }
        let regions = RegionSample(at: sample.at, entries: entries)
        try statements.putRegionSample.run([
            .minute: FleetSample.minute(sample.at), .atMs: sample.at, .body: regions.journalBytes,
        ])
    }

    /// The number of a region, given now if it has none. On each day of which it is counted it is
    /// noted as in use once.
    private func sampledNumber(of name: [UInt8], at: Timestamp) throws(StoreError) -> Int64 {
        if name.isEmpty { return RegionSample.rest }
        let day = SampledName.day(at)
        let known = try statements.sampledRegion.first([.region: name]) { row -> (Int64, Int64) in
            (row[.number], row[.day])
        }
        guard let (number, lastDay) = known else {
            let next = try statements.lastSampledRegion.one() + 1
            try statements.addSampledRegion.run([.number: next, .day: day, .region: name])
            return next
        }
        if lastDay < day { try statements.useSampledRegion.run([.number: number, .day: day]) }
        return number
    }

    /// Removes at most `limit` rows of regions from before `time`; true if some are left.
    /// - Throws: `StoreError` if the store cannot be written.
    func cutRegionSamples(before time: Timestamp, limit: Int64) throws(StoreError) -> Bool {
        try run(
            statements.deleteRegionSamplesBefore,
            [.minute: FleetSample.minute(time), .limit: limit])
        if connection.changes == limit { return true }
        // A name goes after all counts of it.
        try run(
            statements.deleteSampledRegionsBefore,
            [.day: SampledName.day(time), .limit: limit])
        return connection.changes == limit
    }

    /// Takes the names of `regions` away from the next `limit` numbers behind `last`; returns the last
    /// of them, nil once there are no more. The counts stay, and are nobody's.
    /// - Throws: `StoreError` if the store cannot be read or written.
    package func forgetSampledRegions(
        _ regions: ErasedRegions, _ engine: Engine, after last: Int64, limit: Int64
    ) throws(StoreError) -> Int64? {
        let looked = try statements.sampledRegionsAfter.all([.number: last, .limit: limit]) {
            SampledName($0)
        }
        try writing { () throws(StoreError) in
            for known in looked where engine.hasForgotten(region: known.name, of: regions) {
                try statements.renameSampledRegion.run([
                    .number: known.number, .region: [UInt8](),
                ])
            }
        }
        return looked.count < limit ? nil : looked.last?.number
    }
}

/// A number of the store's own, and the region that it stands for.
package struct SampledName: Sendable {
    package let number: Int64
    /// Empty once an erasure took the name.
    package let name: [UInt8]

    /// The current row of a statement that selects the whole table.
    fileprivate init(_ row: Statement) {
        number = row[.number]
        name = Array(row.bytes(.region))
    }

    /// Returns the day of an instant, since 1970-01-01, UTC.
    fileprivate static func day(_ at: Timestamp) -> Int64 { at.milliseconds / 86_400_000 }
}

/// Reads counts by region.
package final class RegionSampleReader {
    private let between, names: Statement

    /// A reader of a store of which the tables are there.
    /// - Throws: `StoreError` if SQLite refuses one of its statements.
    init(_ connection: SQLiteConnection) throws(StoreError) {
        between = try Statement(
            connection,
            """
            \(select: .regionSamples)
            WHERE minute >= :first AND minute <= :last ORDER BY minute
            """)
        names = try Statement(
            connection,
            """
            \(select: .sampledRegions) WHERE day >= :day AND number > :number
            ORDER BY number LIMIT :limit
            """)
    }

    /// Calls `take` with samples at `since` or later and before `until`, the oldest first, until it
    /// says no.
    /// - Throws: `StoreError` if one cannot be read, or is not as it was written.
    package func samples(
        since: Timestamp, until: Timestamp, take: (RegionSample) -> Bool
    ) throws(StoreError) {
        try between.bind([
            .first: FleetSample.minute(since), .last: FleetSample.minute(until),
        ])
        defer { between.reset() }
        while try between.next() {
            let at: Timestamp = between[.atMs]
            guard between.fits(.regionSamples),
                let sample = RegionSample(at: at, journalBytes: Array(between.bytes(.body)))
            else {
                let minute = between.integer(.minute)
                throw .damaged("sample by region of minute \(minute) is not as it was written")
            }
            guard at >= since, at < until else { continue }
            guard take(sample) else { return }
        }
    }

    /// Returns the regions that were counted on the day of `since` or later, and have their names
    /// still: at most `limit`, the oldest first.
    /// - Throws: `StoreError` if one cannot be read, or is not as it was written.
    package func regions(
        since: Timestamp, limit: Int
    ) throws(StoreError) -> [SampledName] {
        var found: [SampledName] = []
        try names.bind([
            .day: SampledName.day(since), .number: Int64(0), .limit: Int64(limit),
        ])
        defer { names.reset() }
        while try names.next() {
            let known = SampledName(names)
            guard names.fits(.sampledRegions) else {
                throw .damaged("sampled region \(known.number) is not as it was written")
            }
            if !known.name.isEmpty { found.append(known) }
        }
        return found
    }
}
