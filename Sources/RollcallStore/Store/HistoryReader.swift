import RollcallCore

/// A gap's row as it stands in a statement: gone with the next step.
package struct GapRow {
    private let row: Statement

    fileprivate init(_ row: Statement) { self.row = row }

    var number: Int64 { row[.number] }
    /// The person's number + 1.
    package var responder: Int64 { row[.responder] }
    package var aggregates: GapAggregates { GapAggregates(raw: row[.aggregates]) }
    /// In SQLite's memory.
    package var region: UnsafeRawBufferPointer { row.bytes(.region) }
    package var openedAt: Timestamp { row[.openedMs] }
    package var isOpen: Bool { row[.closedMs] == Int64(0) }
    /// The instant at which it ended; nil while it is open.
    package var closedAt: Timestamp? { isOpen ? nil : row[.closedMs] }
    /// The place in the order of opening.
    var place: GapPlace { GapPlace(opened: row[.openedMs], number: number) }
    /// The report as its newest decision has it; nil if it makes no sense.
    package var report: GapReport? { GapReport(journalBytes: Array(row.bytes(.body))) }
}

/// A place among the gaps by their opening, newest first: what is before it has been read.
package struct GapPlace: Equatable, Sendable {
    /// Milliseconds since 1970.
    package var opened: Int64
    package var number: Int64

    /// Before the gaps that opened before a time; nil for now.
    package init(until time: Timestamp?) {
        opened = time?.milliseconds ?? .max
        number = .min
    }

    /// Whoever asks for a page begins at this gap: the instant at which it opened, its number.
    package init(opened: Int64, number: Int64) {
        self.opened = opened
        self.number = number
    }
}

/// The decisions that a store keeps, by their numbers.
package struct DecisionsKept: Sendable {
    /// 0 without any.
    package let oldest: Int64
    /// 0 without any.
    package let newest: Int64
    /// True if there were older ones.
    let isCut: Bool

    /// The number behind which the oldest is.
    package var start: Int64 { max(0, oldest - 1) }

    /// True if some of what was decided behind `number` is gone.
    package func isCut(behind number: Int64) -> Bool { isCut && number < start }
}

/// Reads gaps, dark time and turns of a live store, from one thread, in pieces that are a
/// transaction each: none lasts longer than a second (J8).
package final class HistoryReader {
    /// The longest time that a piece may last, with the time of one row or some more: a fifth of
    /// what is promised.
    static let pieceMax = Duration.milliseconds(200)
    /// Rows between looks at the clock.
    private static let rowsALook = 128

    /// Rows and decisions, by their numbers.
    package let journal: JournalReader
    /// The reader of what became of notices.
    package let notices: NoticeReader
    /// The reader of what became of pushes.
    package let pushes: PushReader
    /// The reader of how the fleet stood.
    package let samples: SampleReader
    /// The reader of how each region stood.
    package let regions: RegionSampleReader
    private let gapsAt, gapsBefore, openGapsAt, openGapsBefore, gapsAfter, gap: Statement
    private let darkOfDay, dark, turn, lastTurn, blind, nobodys, alerts: Statement
    private let nudgesBefore, nudgesFrom: Statement
    private let after, oldest, newest, firstRow, ofOrigin: Statement

    /// The key in `meta` of the number of the last decision of the cell that this one was split from.
    package static let originDecisionsKey = "split_decisions"

    /// Opens the store at `path`, which a `Journal` has made. Throws `StoreError` if it cannot be
    /// opened or is damaged.
    package init(path: String) throws(StoreError) {
        journal = try JournalReader(path: path)
        let connection = journal.connection
        notices = try NoticeReader(connection)
        pushes = try PushReader(connection)
        samples = try SampleReader(connection)
        regions = try RegionSampleReader(connection)
        func prepare(_ sql: SQL) throws(StoreError) -> Statement { try Statement(connection, sql) }
        typealias Kind = DecisionCode.Kind
        gapsAt = try prepare(
            """
            \(select: .gaps) INDEXED BY gaps_opened
            WHERE opened_ms = :opened_ms AND number < :number ORDER BY number DESC
            """)
        gapsBefore = try prepare(
            """
            \(select: .gaps) INDEXED BY gaps_opened
            WHERE opened_ms < :last AND opened_ms >= :first ORDER BY opened_ms DESC, number DESC
            """)
        openGapsAt = try prepare(
            """
            \(select: .gaps) INDEXED BY gaps_open
            WHERE closed_ms = 0 AND opened_ms = :opened_ms AND number < :number
            ORDER BY number DESC
            """)
        openGapsBefore = try prepare(
            """
            \(select: .gaps) INDEXED BY gaps_open
            WHERE closed_ms = 0 AND opened_ms < :last AND opened_ms >= :first
            ORDER BY opened_ms DESC, number DESC
            """)
        gapsAfter = try prepare("\(select: .gaps) WHERE number > :number ORDER BY number")
        gap = try prepare("\(select: .gaps) WHERE number = :number")
        darkOfDay = try prepare(
            "\(select: .dark) WHERE day = :day AND responder > :responder ORDER BY responder")
        dark = try prepare("\(select: .dark) WHERE day = :day AND responder = :responder")
        turn = try prepare("\(select: .turns) WHERE number >= :number ORDER BY number LIMIT 1")
        lastTurn = try prepare("SELECT max(number) FROM turns")
        // The index holds what is about nobody: blindness, alerts, notices, mutes, nothing else.
        blind = try prepare(
            """
            \(select: .decisions) INDEXED BY blind_decisions
            WHERE responder = 0 AND kind = \(Kind.blind) AND id < :id ORDER BY id DESC LIMIT 1
            """)
        // Without the kind: what is passed by counts too, so that a piece cannot last.
        nobodys = try prepare(
            """
            \(select: .decisions) INDEXED BY blind_decisions
            WHERE responder = 0 AND id < :id ORDER BY id DESC
            """)
        alerts = try prepare(
            """
            \(select: .decisions) INDEXED BY blind_decisions
            WHERE responder = 0 AND kind BETWEEN \(Kind.alert) AND \(Kind.mute) AND id < :id
            ORDER BY id DESC
            """)
        // The nudge ledger has an index of its own.
        nudgesBefore = try prepare(
            """
            \(select: .decisions) INDEXED BY nudge_decisions
            WHERE kind = \(Kind.nudge) AND id < :id ORDER BY id DESC
            """)
        nudgesFrom = try prepare(
            """
            \(select: .decisions) INDEXED BY nudge_decisions
            WHERE kind = \(Kind.nudge) AND id >= :id ORDER BY id
            """)
        after = try prepare("\(select: .decisions) WHERE id > :id ORDER BY id")
        oldest = try prepare("SELECT min(id) FROM decisions")
        newest = try prepare("SELECT max(id) FROM decisions")
        // Rows are cut first, and never for another reason.
        firstRow = try prepare(.firstRow)
        ofOrigin = try prepare("\(select: .meta) WHERE key = :key")
    }

    // MARK: - Gaps

    /// Reads gaps that opened at `since` or later, the newest first, behind `place`, and moves it
    /// on; true once there are no more. `take` says whether to go on behind the row it is given.
    /// Throws `StoreError` if one is damaged or cannot be read.
    package func gaps(
        behind place: inout GapPlace, since: Int64, openOnly: Bool, take: (GapRow) -> Bool
    ) throws(StoreError) -> Bool {
        guard place.opened >= since else { return true }
        var moved = place
        defer { place = moved }
        let same = openOnly ? openGapsAt : gapsAt
        func step(_ row: GapRow) -> Bool {
            moved = row.place
            return take(row)
        }
        guard
            try piece(
                same, [.openedMs: place.opened, .number: place.number], of: .gaps,
                { step(GapRow(same)) })
        else { return false }
        // Of this instant nothing is left.
        moved.number = .min
        let older = openOnly ? openGapsBefore : gapsBefore
        return try piece(older, [.last: place.opened, .first: since], of: .gaps) {
            step(GapRow(older))
        }
    }

    /// Reads all gaps by rising number behind `number`, and moves it on; true once there are no
    /// more. The cheapest way through many: no index and no reports. Throws `StoreError` if one is
    /// damaged or cannot be read.
    package func scanGaps(
        after number: inout Int64, take: (GapRow) -> Bool
    ) throws(StoreError) -> Bool {
        var moved = number
        defer { number = moved }
        let row = GapRow(gapsAfter)
        return try piece(
            gapsAfter, [.number: number], of: .gaps, stopping: { moved = row.number }, { take(row) }
        )
    }

    /// Calls `take` with the gap of a number, if there is one. Throws `StoreError` if it is damaged
    /// or cannot be read.
    package func gap(_ number: Int64, take: (GapRow) -> Void) throws(StoreError) {
        _ = try gap.first([.number: number]) { row throws(StoreError) in
            try check(row, .gaps)
            take(GapRow(row))
        }
    }

    // MARK: - Dark time

    /// Reads a day's rows by rising person behind number `responder`, and moves it on; true once
    /// there are no more. Throws `StoreError` if one is damaged or cannot be read.
    package func dark(
        day: Int64, after responder: inout Int64, take: (DarkRow) -> Bool
    ) throws(StoreError) -> Bool {
        var moved = responder
        defer { responder = moved }
        return try piece(darkOfDay, [.day: day, .responder: responder], of: .dark) {
            let row = DarkRow(darkOfDay)
            moved = row.responder
            return take(row)
        }
    }

    /// Returns a person's dark time of a day; nil if there is none. Throws `StoreError` if it is
    /// damaged or cannot be read.
    package func dark(day: Int64, of responder: Int64) throws(StoreError) -> DarkRow? {
        try dark.first([.day: day, .responder: responder]) { row throws(StoreError) in
            try check(row, .dark)
            return DarkRow(row)
        }
    }

    // MARK: - Turns and blind windows

    /// Returns the turn of a number, or the next one; nil behind the last. Throws `StoreError` if
    /// it cannot be read.
    func turn(notBefore number: Int64) throws(StoreError) -> Turn? {
        try journal.segments.turn(notBefore: number, or: turn)
    }

    /// Returns the newest turn's number, 0 without any. Throws `StoreError` if it cannot be read.
    func lastTurnNumber() throws(StoreError) -> Int64 { try lastTurn.one() }

    /// Calls `take` with the newest decision about blindness before `id`; false if there is none.
    /// Throws `StoreError` if it cannot be read.
    package func blindDecision(
        before id: Int64, take: (DecisionRow) -> Void
    ) throws(StoreError) -> Bool {
        try blind.first([.id: id]) { take(DecisionRow($0)) } != nil
    }

    /// Reads decisions about nobody, blindness among them, the newest first, before `id`, and moves
    /// it on; true once there are no more. `take` says whether to go on behind the one it is given.
    /// Throws `StoreError` if one is damaged or cannot be read.
    package func decisionsAboutNobody(
        before id: inout Int64, take: (DecisionRow) -> Bool
    ) throws(StoreError) -> Bool {
        try decisions(nobodys, &id, take)
    }

    // MARK: - Alerts

    /// Reads decisions about alerts, the newest first, before `id`, and moves it on; true once
    /// there are no more. `take` says whether to go on behind the one it is given. Throws
    /// `StoreError` if one is damaged or cannot be read.
    package func alertDecisions(
        before id: inout Int64, take: (DecisionRow) -> Bool
    ) throws(StoreError) -> Bool {
        try decisions(alerts, &id, take)
    }

    // MARK: - Nudges

    /// Reads entries of the nudge ledger, the newest first, before `id`, and moves it on; true once
    /// there are no more. `take` says whether to go on behind the one it is given. Throws
    /// `StoreError` if one is damaged or cannot be read.
    package func nudgeDecisions(
        before id: inout Int64, take: (DecisionRow) -> Bool
    ) throws(StoreError) -> Bool {
        try decisions(nudgesBefore, &id, take)
    }

    /// Reads entries of the nudge ledger from `id` on, the oldest first, and moves it on; true once
    /// there are no more. Throws `StoreError` if one is damaged or cannot be read.
    package func nudgeDecisions(
        from id: inout Int64, take: (DecisionRow) -> Bool
    ) throws(StoreError) -> Bool {
        try decisions(nudgesFrom, &id, beyond: 1, take)
    }

    // MARK: - Everything that was decided

    /// The numbers of the decisions that the store keeps. Throws `StoreError` if it cannot be read.
    package func decisionsKept() throws(StoreError) -> DecisionsKept {
        DecisionsKept(
            oldest: try oldest.one(), newest: try newest.one(), isCut: try firstRow.one() > 1)
    }

    /// The number of the last decision before this cell was split from another one, whose they are but for what
    /// is about people; 0 of any other watch. Throws `StoreError` if it is damaged or cannot be read.
    package func decisionsOfOrigin() throws(StoreError) -> Int64 {
        let key = Self.originDecisionsKey
        return try ofOrigin.first([.key: key]) { row throws(StoreError) -> Int64 in
            guard row.fits(.meta) else { throw .damaged("meta \(key) is not as it was written") }
            return row[.value]
        } ?? 0
    }

    /// Reads all decisions behind `id`, the oldest first, and moves it on; true once there are no
    /// more. `take` says whether to go on behind the one it is given. Throws `StoreError` if one is
    /// damaged or cannot be read.
    package func decisions(
        after id: inout Int64, take: (DecisionRow) -> Bool
    ) throws(StoreError) -> Bool {
        try decisions(after, &id, take)
    }

    /// Steps through the decisions that `select` finds from `id` on, and moves it to `beyond` the
    /// last one; true once there are no more. Throws `StoreError` if one is damaged or cannot be
    /// read.
    private func decisions(
        _ select: Statement, _ id: inout Int64, beyond: Int64 = 0, _ take: (DecisionRow) -> Bool
    ) throws(StoreError) -> Bool {
        var moved = id
        defer { id = moved }
        var damaged: Int64?
        let isOver = try piece(select, [.id: id]) {
            let row = DecisionRow(select)
            guard row.fits(select.checksum) else {
                damaged = row.id
                return false
            }
            moved = row.id &+ beyond
            return take(row)
        }
        if let damaged { throw .damaged("decision \(damaged) is not as it was written") }
        return isOver
    }

    /// Steps through a statement until `take` says no or the piece has lasted long enough, and
    /// calls `stopping` at that row; true at the statement's end. Throws `StoreError` if it cannot
    /// be read, or a row of `table` is not as it was written.
    private func piece(
        _ select: Statement, _ arguments: Arguments, of table: RowChecksum.Table? = nil,
        stopping: () -> Void = {}, _ take: () -> Bool
    ) throws(StoreError) -> Bool {
        try select.bind(arguments)
        defer { select.reset() }
        let end = ContinuousClock.now + Self.pieceMax
        var rows = 0
        while try select.next() {
            rows += 1
            if let table { try check(select, table) }
            guard take(), rows % Self.rowsALook > 0 || ContinuousClock.now < end else {
                stopping()
                return false
            }
        }
        return true
    }

    private func check(
        _ select: Statement, _ table: RowChecksum.Table
    ) throws(StoreError) {
        guard select.fits(table) else {
            let number = select.integer(table.columns[0])
            throw .damaged("\(table): row \(number) is not as it was written")
        }
    }
}
