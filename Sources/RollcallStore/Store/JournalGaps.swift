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
    /// written in order costs a page once.
    static func merged(_ bookings: [DarkBooking]) -> [DarkRow] {
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

    /// Keeps what is known of a gap that counts, in the open transaction; `body` is the report as
    /// the decision holds it.
    /// - Throws: `StoreError` if it cannot be written.
    package func put(
        _ report: GapReport, responder: Int64, turn: Int64, body: UnsafeRawBufferPointer
    ) throws(StoreError) {
        try writing { () throws(StoreError) in
            let put = statements.putGap
            let isOpen = report.closedAt == .distantPast
            put.bind(report.number, as: .number)
            put.bind(responder, as: .responder)
            put.bind(GapAggregates(report).raw, as: .aggregates)
            try put.bind(copying: report.facts.region, as: .region)
            put.bind(report.openedAt, as: .openedMs)
            put.bind(isOpen ? 0 : max(1, report.closedAt.milliseconds), as: .closedMs)
            put.bind(turn, as: .firstTurn)
            put.bind(turn, as: .turn)
            try put.bind(body, as: .body)
            try put.run()
        }
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
