import RollcallCore

/// A segment whose row was damaged or gone, and was made anew from its blocks.
package struct MendedSegment: Equatable, Sendable {
    package var firstTurn: Int64
    package var lastTurn: Int64
    /// Blocks that cannot be read: what stood in them is lost.
    package var blocksLost: Int
}

/// The damage that a start found among the rows of segments.
package struct SegmentDamage: Equatable, Sendable {
    /// The words that say so.
    package var evidence: String
    package var segments: [MendedSegment]
}

/// Makes rows of segments anew that are damaged or gone: a start needs nothing of what is packed, and all
/// that such a row says can be read from the segment's blocks, and from what is before it and behind it.
///
/// A block that cannot be read stays where it is, at about the place that it had: whoever reads it, or
/// erases somebody who may be in it, meets it as every other one that is damaged. Erasures are opened again:
/// one that walked while the row was missed may have ended there. Source: J12, I11.
struct SegmentMending {
    /// A block as it turned out to be.
    fileprivate enum Part {
        case rows(
            first: SegmentDirectory.Place, last: SegmentDirectory.Place, ids: ClosedRange<Int64>)
        case turns(first: Turn, last: Turn)
        case unread

        var isRows: Bool { if case .rows = self { true } else { false } }
        var isTurns: Bool { if case .turns = self { true } else { false } }
        var isUnread: Bool { if case .unread = self { true } else { false } }

        /// True if both are turns, and none is missing between them.
        func follows(_ before: Part) -> Bool {
            guard case .turns(let first, _) = self, case .turns(_, let last) = before else {
                return false
            }
            return first.number == last.number + 1
        }
    }

    private let table: SegmentTable
    private let connection: SQLiteConnection
    private let reader: SegmentReader
    /// The first turn and row that are not packed.
    private let tableTurn, tableRow: Int64

    /// Checks the pages of a store and the rows of its segments, and makes those anew that are not as
    /// they were written; nil if all are.
    /// - Throws: `StoreError` if there is other damage, or it cannot be read or written.
    static func check(
        _ connection: SQLiteConnection, isSuspect: Bool
    ) throws(StoreError) -> SegmentDamage? {
        var evidence: StoreError?
        do throws(StoreError) {
            try JournalSchema.checkPages(connection, isSuspect: isSuspect)
        } catch {
            // Of the table's index, or its order.
            guard case .damaged = error,
                try connection.text("PRAGMA integrity_check(segments)") != "ok"
            else { throw error }
            evidence = error
        }
        do throws(StoreError) {
            let table = try SegmentTable(connection)
            if evidence == nil, table.damaged.isEmpty, table.holes.isEmpty { return nil }
            if let failure = table.failure { throw failure }
            try connection.run("BEGIN IMMEDIATE")
            let segments = try SegmentMending(table, connection).write()
            // An index that lacks a segment is where a walk back looks for it.
            if !segments.isEmpty || evidence != nil { try Erasure.reopenAll(connection) }
            // A page that another table has, too, must not be freed with this one's.
            try JournalSchema.checkPages(connection, isSuspect: true)
            try connection.run("COMMIT")
            return SegmentDamage(
                evidence: evidence?.finding ?? "a row of table segments is not as it was written",
                segments: segments)
        } catch {
            if !connection.isAutocommit { try? connection.run("ROLLBACK") }
            throw evidence ?? JournalSchema.explained(error)
        }
    }

    private init(_ table: SegmentTable, _ connection: SQLiteConnection) throws(StoreError) {
        self.table = table
        self.connection = connection
        reader = try SegmentReader(connection)
        func first(_ sql: SQL) throws(StoreError) -> Int64 {
            let found = try connection.integer(sql)
            return found > 0 ? found : .max
        }
        tableTurn = try first("SELECT min(number) FROM turns")
        tableRow = try first(.firstTableRow)
    }

    /// Writes the table anew, all of it: what its index says of a damaged row is not known either.
    private func write() throws(StoreError) -> [MendedSegment] {
        defer { reader.finalize() }
        var rows = table.whole
        var mended: [MendedSegment] = []
        for hole in table.holes {
            for (row, lost) in try segments(in: hole) {
                rows.append(row)
                mended.append(
                    MendedSegment(
                        firstTurn: row.segment.firstTurn, lastTurn: row.segment.lastTurn,
                        blocksLost: lost))
            }
        }
        try connection.run("DELETE FROM segments")
        let insert = try Statement(connection, "INSERT \(into: .segments)")
        defer { insert.finalize() }
        for row in rows { try insert.run(row.segment.arguments(row.state)) }
        return mended
    }

    // MARK: - From blocks to segments

    /// Returns the segments whose blocks stand in a hole, each with how many of them are lost.
    private func segments(
        in hole: SegmentTable.Hole
    ) throws(StoreError) -> [(SegmentTable.Whole, lost: Int)] {
        var parts: [Part] = []
        for id in hole.blocks { parts.append(try part(id, hole)) }
        var found: [(SegmentTable.Whole, lost: Int)] = []
        var before = hole.before
        var begin = 0
        while begin < parts.count {
            let end = Self.end(of: parts, from: begin)
            let isLast = end == parts.count
            let block = hole.blocks.lowerBound + Int64(begin)
            if parts[begin..<end].allSatisfy(\.isRows) {
                // A segment that is whole has turns. This one was never finished, or is half cut off.
                try delete(block..<block + Int64(end - begin))
                begin = end
                continue
            }
            let segment = segment(
                parts[begin..<end], block: block, before,
                upTo: isLast
                    ? (hole.after?.firstTurn ?? tableTurn, hole.after?.firstRow ?? tableRow)
                    : nil)
            let lost = parts[begin..<end].count { $0.isUnread }
            before = segment
            begin = end
            // Nothing says of which turns it was, or another segment has them.
            guard segment.lastTurn > 0, hole.after == nil || segment.firstTurn <= segment.lastTurn
            else { continue }
            let isNeeded = hole.after != nil || !isLast || !isInTables(segment)
            let state: Segment.State =
                isNeeded && segment.lastTurn >= segment.firstTurn
                ? .complete : .obsolete
            found.append((SegmentTable.Whole(segment: segment, state: state), isNeeded ? lost : 0))
        }
        return found
    }

    private func delete(_ blocks: Range<Int64>) throws(StoreError) {
        let delete = try Statement(
            connection, "DELETE FROM blocks WHERE id >= :block AND id < :limit")
        defer { delete.finalize() }
        try delete.run([.block: blocks.lowerBound, .limit: blocks.upperBound])
    }

    /// True if the tables still have all of it: it was not complete, or nothing was removed yet.
    private func isInTables(_ segment: Segment) -> Bool {
        tableTurn <= segment.firstTurn
            && (tableRow <= segment.firstRow || segment.lastRow < segment.firstRow)
    }

    /// Returns what a block holds, as far as it fits there.
    private func part(_ id: Int64, _ hole: SegmentTable.Hole) throws(StoreError) -> Part {
        var bytes: [UInt8]?
        do throws(StoreError) { bytes = try reader.bytes(ofBlock: id) } catch .damaged {}
        guard let bytes else { return .unread }
        if let turns = PackedTurns.turns(of: bytes), let first = turns.first, let last = turns.last,
            first.number > hole.before?.lastTurn ?? 0,
            last.number < hole.after?.firstTurn ?? .max,
            zip(turns, turns.dropFirst()).allSatisfy({
                $1.number == $0.number &+ 1 && $1.firstRow == $0.lastRow &+ 1
            })
        {
            return .turns(first: first, last: last)
        }
        if let rows = PackedRows(block: bytes), let first = rows.rows.first,
            let last = rows.rows.last, let lowest = rows.rows.map(\.id).min(),
            let highest = rows.rows.map(\.id).max(), lowest > hole.before?.lastRow ?? 0,
            highest < hole.after?.firstRow ?? .max
        {
            return .rows(
                first: SegmentDirectory.Place(key: first.key, id: first.id),
                last: SegmentDirectory.Place(key: last.key, id: last.id), ids: lowest...highest)
        }
        return .unread
    }

    /// Returns the place behind a segment that begins with part `begin`: its rows come first, then its
    /// turns.
    private static func end(of parts: [Part], from begin: Int) -> Int {
        guard var last = parts[begin...].firstIndex(where: \.isTurns) else { return parts.count }
        while last + 1 < parts.count {
            if parts[last + 1].isRows { return last + 1 }
            if parts[last + 1].isUnread {
                guard let next = parts[(last + 1)...].firstIndex(where: \.isTurns) else {
                    return parts[(last + 1)...].firstIndex(where: \.isRows) ?? parts.count
                }
                // No turns are missing in between, so what cannot be read are the next one's rows.
                if parts[next].follows(parts[last]) { return last + 1 }
                if let rows = parts[last..<next].firstIndex(where: \.isRows) { return rows }
                last = next
            } else {
                last += 1
            }
        }
        return parts.count
    }

    /// Makes the segment of some blocks, of which the first has id `block`, behind another; `limit` is
    /// the turn and the row behind it, if they are known.
    private func segment(
        _ parts: ArraySlice<Part>, block: Int64, _ before: Segment?,
        upTo limit: (turn: Int64, row: Int64)?
    ) -> Segment {
        var segment = Segment(
            firstTurn: before.map { $0.lastTurn + 1 } ?? .max, lastTurn: .min,
            firstRow: before.map { $0.lastRow + 1 } ?? .max, lastRow: .min, block: block,
            directory: SegmentDirectory())
        var turnsBegin = parts.firstIndex(where: \.isTurns) ?? parts.endIndex - 1
        for part in parts { segment.widen(part) }
        if let limit, limit.turn < .max, parts.last?.isUnread == true {
            segment.lastTurn = limit.turn - 1
            if limit.row < .max { segment.lastRow = limit.row - 1 }
        }
        if before == nil, parts[turnsBegin].isUnread || parts.first?.isUnread == true {
            let said = table.damaged.filter { $0 > 0 && $0 <= segment.lastTurn }.min()
            segment.firstTurn = min(segment.firstTurn, said ?? segment.lastTurn)
            segment.firstRow = min(segment.firstRow, segment.lastRow)
        }
        // Turns are missing at its begin: they stood in the block before.
        if turnsBegin > parts.startIndex, case .turns(let first, _) = parts[turnsBegin],
            first.number > segment.firstTurn, parts[turnsBegin - 1].isUnread
        {
            turnsBegin -= 1
        }
        fill(&segment.directory, parts[..<turnsBegin], parts[turnsBegin...], segment)
        return segment
    }

    /// Writes where each block begins; one that cannot be read begins where the one before it ends.
    private func fill(
        _ directory: inout SegmentDirectory, _ rows: ArraySlice<Part>, _ turns: ArraySlice<Part>,
        _ segment: Segment
    ) {
        var next = SegmentDirectory.Place(key: 0, id: 0)
        for part in rows {
            if case .rows(let first, let last, _) = part {
                directory.rows.append(first)
                next = SegmentDirectory.Place(key: last.key, id: last.id + 1)
            } else {
                directory.rows.append(next)
            }
        }
        var place = SegmentDirectory.TurnPlace(
            number: segment.firstTurn, firstRow: segment.firstRow)
        for part in turns {
            if case .turns(let first, let last) = part {
                directory.turns.append(
                    SegmentDirectory.TurnPlace(number: first.number, firstRow: first.firstRow))
                place = SegmentDirectory.TurnPlace(
                    number: last.number + 1, firstRow: last.lastRow + 1)
            } else {
                directory.turns.append(place)
            }
        }
    }
}

extension Segment {
    /// A block of it holds this.
    fileprivate mutating func widen(_ part: SegmentMending.Part) {
        switch part {
        case .unread: return
        case .rows(_, _, let ids):
            firstRow = min(firstRow, ids.lowerBound)
            lastRow = max(lastRow, ids.upperBound)
        case .turns(let first, let last):
            firstTurn = min(firstTurn, first.number)
            lastTurn = max(lastTurn, last.number)
            firstRow = min(firstRow, first.firstRow)
            lastRow = max(lastRow, last.lastRow)
        }
    }
}
