import RollcallCore

/// The facts that gaps are counted by, in one number.
///
///     bits  0…7   the suspicion        bits 16…23  the platform
///     bits  8…15  the verdict + 1      bit  24     too much was blind
///     0 without one                    bits 25…62  watched milliseconds, 0 while open
package struct GapAggregates {
    private static let lengthMax: Int64 = 1 << 38 - 1

    let raw: Int64

    init(raw: Int64) { self.raw = raw }

    init(_ report: GapReport) {
        let verdict = report.verdict.map { Int64($0.rawValue) + 1 } ?? 0
        let words =
            Int64(report.suspected.rawValue) | verdict << 8
            | Int64(report.facts.platform.rawValue) << 16
        let length = min(max(0, report.length.count), Self.lengthMax)
        raw = words | (report.isLeftOut ? 1 << 24 : 0) | length << 25
    }

    package var cause: GapCause { GapCause(rawValue: byte(0)) ?? .unexplained }
    /// Nil while there is none.
    package var verdict: GapVerdict? { byte(8) == 0 ? nil : GapVerdict(rawValue: byte(8) - 1) }
    package var platform: Platform { Platform(rawValue: byte(16)) ?? .unknown }
    /// True if it is left out for blindness (D5); rows of older versions have it for any blindness.
    package var isBlind: Bool { raw & 1 << 24 != 0 }
    /// 0 while it is open.
    package var length: Milliseconds { Milliseconds(raw >> 25) }

    private func byte(_ shift: Int64) -> UInt8 { UInt8(truncatingIfNeeded: raw >> shift) }
}

/// A gap that counts, as its row in the store tells it.
struct CountedGap {
    /// The number of gaps that are written in one step: of half a million each alone takes SQLite
    /// nearly twice as long.
    static let rowsMax = 256
    /// The number of those that are written in one step of which none is there yet: a step that need not
    /// be undone alone gains nothing from more.
    static let newRowsMax = 64

    var number: Int64
    /// The person's number + 1.
    var responder: Int64
    var aggregates: Int64
    /// In the writer's memory: valid as long as the row is at hand.
    var region: UnsafeRawBufferPointer
    var openedMilliseconds: Int64
    /// 0 while it is open.
    var closedMilliseconds: Int64
    /// The turn that tells it.
    var turn: Int64
    /// The report as the decision holds it.
    var body: UnsafeRawBufferPointer

    /// Gives a statement all of it, without a copy, but for the number if it `isNext`: without one
    /// SQLite gives the same. Throws `StoreError` if SQLite refuses.
    fileprivate func bind(to statement: Statement, isNext: Bool = false) throws(StoreError) {
        if !isNext { statement.bind(number, as: .number) }
        statement.bind(responder, as: .responder)
        statement.bind(aggregates, as: .aggregates)
        try statement.bind(region, as: .region)
        statement.bind(openedMilliseconds, as: .openedMs)
        statement.bind(closedMilliseconds, as: .closedMs)
        statement.bind(turn, as: .firstTurn)
        statement.bind(turn, as: .turn)
        try statement.bind(body, as: .body)
        statement.bind(checksum, as: .checksum)
    }

    /// That which SQL would reckon of the columns.
    private var checksum: Int64 {
        RowChecksum.of(.gaps, columns: 9) { column in
            switch column {
            case 0: .integer(number)
            case 1: .integer(responder)
            case 2: .integer(aggregates)
            case 3: .blob(region)
            case 4: .integer(openedMilliseconds)
            case 5: .integer(closedMilliseconds)
            case 6, 7: .integer(turn)
            default: .blob(body)
            }
        }
    }
}

/// Dark time of one person on one day, as a turn adds it to the store's row (C4).
package struct DarkRow: Equatable, Sendable {
    /// Days since 1970-01-01, UTC.
    package var day: Int64
    /// The person's number + 1.
    package var responder: Int64
    package var platform: Platform
    package var contact = Milliseconds(0)
    package var location = Milliseconds(0)
    package var region: [UInt8]

    /// The bookings of a turn, one row a day and person, in the order of the table's key: what is
    /// written in order costs a page once. `before` are those that it made before.
    static func merged(
        _ bookings: [DarkBooking], behind before: [DarkRow] = []
    ) -> [DarkRow] {
        guard before.isEmpty else { return joined(before + merged(bookings)) }
        var rows: [DarkRow] = []
        let order = bookings.indices.sorted { a, b in
            (bookings[a].day, bookings[a].number, a) < (bookings[b].day, bookings[b].number, b)
        }
        for index in order {
            let booking = bookings[index]
            var row = DarkRow(
                day: booking.day, responder: Int64(booking.number + 1),
                platform: booking.platform, region: booking.region)
            if let last = rows.last, last.day == row.day, last.responder == row.responder {
                (row.contact, row.location) = (last.contact, last.location)
                rows.removeLast()
            }
            switch booking.kind {
            case .contact: row.contact.count += booking.length.count
            case .location: row.location.count += booking.length.count
            }
            rows.append(row)
        }
        return rows
    }

    /// One row of those of the same day and person, which says where and on what they were last.
    private static func joined(_ rows: [DarkRow]) -> [DarkRow] {
        let order = rows.indices.sorted { a, b in
            (rows[a].day, rows[a].responder, a) < (rows[b].day, rows[b].responder, b)
        }
        var joined: [DarkRow] = []
        for index in order {
            var row = rows[index]
            if let last = joined.last, last.day == row.day, last.responder == row.responder {
                row.contact.count += last.contact.count
                row.location.count += last.location.count
                joined.removeLast()
            }
            joined.append(row)
        }
        return joined
    }
}

/// Gaps and dark time in the store (Contract/Gaps).
extension Journal {
    /// Returns the highest number of a gap, 0 without any. A row that is not as it was written says
    /// nothing: gaps are told, and nothing is decided by them.
    /// - Throws: `StoreError` if the store cannot be read.
    package func lastGap() throws(StoreError) -> Int64 {
        let select = statements.lastGap
        defer { select.reset() }
        while try select.next() {
            if select.fits(.gaps) { return select[.number] }
        }
        return 0
    }

    /// Keeps what is known of gaps that count, `CountedGap.rowsMax` at most, in the open transaction.
    /// - Throws: `StoreError` if it cannot be written.
    func put(_ gaps: [CountedGap]) throws(StoreError) {
        precondition(gaps.count <= CountedGap.rowsMax, "more than are written in one step")
        try writing { () throws(StoreError) in
            var rest = gaps[...]
            if try areNext(gaps) {
                while rest.count >= CountedGap.newRowsMax {
                    let some = rest.prefix(CountedGap.newRowsMax)
                    try run(some, by: statements.insertGaps(), areNext: true)
                    rest = rest.dropFirst(some.count)
                }
            } else if gaps.count == CountedGap.rowsMax {
                return try run(rest, by: statements.putGaps(), areNext: false)
            }
            for gap in rest {
                try gap.bind(to: statements.putGap)
                try statements.putGap.run()
            }
        }
    }

    /// Runs a statement of as many rows.
    private func run(
        _ gaps: ArraySlice<CountedGap>, by put: Statement, areNext: Bool
    ) throws(StoreError) {
        defer { put.offset = 0 }
        for gap in gaps {
            try gap.bind(to: put, isNext: areNext)
            put.offset += put.parameterCount / Int32(gaps.count)
        }
        try put.run()
    }

    /// True if they are many, and follow the last one of the table without a hole: none of them is there,
    /// and SQLite numbers them itself, as it does decisions.
    private func areNext(_ gaps: [CountedGap]) throws(StoreError) -> Bool {
        guard gaps.count >= CountedGap.newRowsMax,
            gaps.indices.allSatisfy({ gaps[$0].number == gaps[0].number + Int64($0) })
        else { return false }
        return try statements.lastGap.one() &+ 1 == gaps[0].number
    }

    /// Adds dark time to the rows of its days, in the open transaction.
    /// - Throws: `StoreError` if they cannot be written.
    package func add(_ rows: [DarkRow]) throws(StoreError) {
        guard !rows.isEmpty else { return }
        try writing { () throws(StoreError) in
            for row in rows { try row.write(by: statements.addDark) }
        }
    }

    // MARK: - Retention

    /// Removes those of the next `limit` gaps behind number `last` that were over by `turn`, and
    /// moves `last` on; true if some are left. Open ones stay, however old.
    ///
    /// It comes before their decisions are cut: an erasure finds a gap by them.
    /// - Throws: `StoreError` if the store cannot be read or written.
    package func cutGaps(
        through turn: Turn, after last: inout Int64, limit: Int64
    ) throws(StoreError) -> Bool {
        var moved = last
        var isLeft = false
        try writing { () throws(StoreError) in
            let select = statements.gapsAfter
            var old: [(number: Int64, responder: Int64)] = []
            select.bind(last, as: .number)
            defer { select.reset() }
            var looked: Int64 = 0
            while try select.next(), select[.firstTurn] <= turn.number {
                moved = select[.number]
                let isEvaluated = GapAggregates(raw: select[.aggregates]).verdict != nil
                let isOver = isEvaluated && select[.turn] <= turn.number
                if isOver { old.append((moved, select[.responder])) }
                looked += 1
                isLeft = looked == limit
                if isLeft { break }
            }
            select.reset()
            for gap in old { try delete(gap: gap.number, of: gap.responder) }
        }
        last = moved
        return isLeft
    }

    /// Removes at most `limit` rows of dark time of days before `day`; true if some are left.
    /// - Throws: `StoreError` if the store cannot be written.
    package func cutDark(before day: Int64, limit: Int64) throws(StoreError) -> Bool {
        try run(statements.deleteDarkBefore, [.day: day, .limit: limit])
        return connection.changes == limit
    }

    // MARK: - Erasure

    /// Removes a person's gap; no other person's.
    /// - Throws: `StoreError` if the store cannot be written.
    package func removeGap(_ number: Int64, of responder: Int64) throws(StoreError) {
        guard number > 0 else { return }
        try writing { () throws(StoreError) in try delete(gap: number, of: responder) }
    }

    private func delete(gap number: Int64, of responder: Int64) throws(StoreError) {
        try statements.deleteGap.run([.number: number, .responder: responder])
    }

    /// Removes a person's dark time of at most `limit` days behind `day`. Returns the day to go on
    /// behind; nil once nothing is left.
    /// - Throws: `StoreError` if the store cannot be read or written.
    package func removeDark(
        of responder: Int64, after day: Int64, limit: Int
    ) throws(StoreError) -> Int64? {
        var last: Int64? = day
        try writing { () throws(StoreError) in
            for _ in 0..<limit {
                guard let from = last else { return }
                let next = try statements.nextDarkDay.first([.day: from]) { row in
                    row.isInteger(.day) ? row.integer(.day) : nil
                }
                guard let found = next.flatMap({ $0 }) else {
                    last = nil
                    return
                }
                try statements.deleteDark.run([.day: found, .responder: responder])
                last = found
            }
        }
        return last
    }
}

extension DarkRow {
    /// The current row of a statement that selects the whole table.
    init(_ row: Statement) {
        day = row[.day]
        responder = row[.responder]
        platform = row[.platform] ?? .unknown
        contact = row[.contactMs]
        location = row[.locationMs]
        region = Array(row.bytes(.region))
    }

    /// Writes it by a statement. Throws `StoreError` if SQLite refuses.
    fileprivate func write(by statement: Statement) throws(StoreError) {
        statement.bind(day, as: .day)
        statement.bind(responder, as: .responder)
        Code(platform).bind(to: statement, as: .platform)
        statement.bind(contact, as: .contactMs)
        statement.bind(location, as: .locationMs)
        try statement.bind(copying: region, as: .region)
        try statement.run()
    }
}
