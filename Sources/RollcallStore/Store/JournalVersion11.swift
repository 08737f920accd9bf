import RollcallCore

/// The additions of version 11 of the store to version 10.
extension JournalSchema {
    /// Since version 11. Nothing that was there changes; it is packed in the background.
    static let sinceVersion11: [SQL] = [
        // One row a segment: turns that follow each other, with their rows, which stand in blocks from
        // `block` on (J12). `body` is a `SegmentDirectory`.
        // state: 0 writing → 1 complete → 2 obsolete → gone, as of checkpoints.
        """
        CREATE TABLE segments(
            first_turn INTEGER PRIMARY KEY,
            last_turn INTEGER NOT NULL,
            first_row INTEGER NOT NULL,
            last_row INTEGER NOT NULL,
            block INTEGER NOT NULL,
            state INTEGER NOT NULL,
            body BLOB NOT NULL,
            checksum INTEGER)
        """,
        "CREATE INDEX segment_rows ON segments(first_row)",
        // Nearly all are complete.
        "CREATE INDEX segments_left ON segments(first_turn) WHERE state <> 1",
        // Of a size that fills a page: `PackedRows`, then `PackedTurns`.
        "CREATE TABLE blocks(id INTEGER PRIMARY KEY, body BLOB NOT NULL, checksum INTEGER)",
    ]
}
