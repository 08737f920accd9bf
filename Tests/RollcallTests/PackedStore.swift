import RollcallCore

@testable import RollcallBasis
@testable import RollcallStore
@testable import RollcallTools

/// What tests do with a store whose history is packed.
enum PackedStore {
    /// Packs all that can be packed, however little, in `segmentsMax` segments at most; returns the
    /// pieces that it took.
    @discardableResult
    static func pack(
        _ journal: Journal, rowsMax: Int = PackingWriter.rowsMax, segmentsMax: Int64 = .max
    ) throws -> Int {
        var writer = PackingWriter(rowsMin: 1, rowsMax: rowsMax)
        writer.consider()
        var pieces = 0
        while writer.isBusy {
            let segments = try journal.connection.integer(
                "SELECT count(*) FROM segments WHERE state = 1")
            if segments == segmentsMax, try !journal.hasPackedTwice() { break }
            try journal.begin()
            _ = try writer.write(to: journal, cutThrough: 0)
            try journal.commit()
            pieces += 1
        }
        return pieces
    }

    /// The lines of an export.
    static func export(_ path: String) throws -> [UInt8] {
        var export = try StoreExport(path: path)
        var lines: [UInt8] = []
        while true {
            let chunk = try export.chunk()
            if chunk.isEmpty { return lines }
            lines += chunk
        }
    }

    /// A person's rows, the newest first: their ids and bodies.
    static func walk(_ path: String, from id: Int64, of responder: Int64) throws -> [[UInt8]] {
        let reader = try JournalReader(path: path)
        var rows: [[UInt8]] = []
        var next = id
        while next > 0 {
            next = try reader.walk(from: next, of: responder, limit: 3) { row in
                rows.append([UInt8(truncatingIfNeeded: row.id), row.kind] + Array(row.body))
            }
        }
        return rows
    }
}
