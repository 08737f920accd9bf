import RollcallCore

/// The additions of version 10 of the store to version 9.
extension JournalSchema {
    /// Since version 10. Nothing that was there changes; counts by region begin with the next minute.
    static let sinceVersion10: [SQL] = [
        // One row a minute of the wall in which the watch could see, as in `samples`. `body` is a
        // `RegionSample`: regions by number, so that it names nobody.
        """
        CREATE TABLE region_samples(
            minute INTEGER PRIMARY KEY,
            at_ms INTEGER NOT NULL,
            body BLOB NOT NULL,
            checksum INTEGER)
        """,
        // Which region a number of the table above stands for, and the last day on which it was
        // counted, from 1970 on. An erasure empties the name of one that nobody has any more.
        """
        CREATE TABLE sampled_regions(
            number INTEGER PRIMARY KEY,
            day INTEGER NOT NULL,
            region BLOB NOT NULL,
            checksum INTEGER)
        """,
        "CREATE INDEX sampled_region_names ON sampled_regions(region)",
    ]
}
