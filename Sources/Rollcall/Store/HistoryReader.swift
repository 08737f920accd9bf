import RollcallCore

/// A gap's row as it stands in a statement: gone with the next step.
struct GapRow {
    private let statement: Statement

    fileprivate init(_ statement: Statement) { self.statement = statement }

    var number: Int64 { statement.integer(at: 0) }
    /// The person's number + 1.
    var responder: Int64 { statement.integer(at: 1) }
    var tally: GapTally { GapTally(raw: statement.integer(at: 2)) }
    /// In SQLite's memory.
    var region: UnsafeRawBufferPointer { statement.bytes(at: 3) }
    var openedAt: Timestamp { Timestamp(milliseconds: statement.integer(at: 4)) }
    var isOpen: Bool { statement.integer(at: 5) == 0 }
    /// The place in the order of opening.
    var place: GapPlace { GapPlace(opened: statement.integer(at: 4), number: number) }
    /// The report as its newest decision has it; nil if it makes no sense.
    var report: GapReport? { GapReport(journalBytes: Array(statement.bytes(at: 8))) }
}

/// A place among the gaps by their opening, newest first: what is before it has been read.
struct GapPlace: Equatable, Sendable {
    /// Milliseconds since 1970.
    var opened: Int64
    var number: Int64

    /// Before the gaps that opened before a time; nil for now.
    init(until time: Timestamp?) {
        opened = time?.milliseconds ?? .max
        number = .min
    }

    init(opened: Int64, number: Int64) {
        self.opened = opened
        self.number = number
    }
}

/// Reads gaps, dark time and turns of a live store, from one thread, in pieces that are a
/// transaction each: none lasts longer than a second (J8).
final class HistoryReader {
    /// The longest time that a piece may last, with the time of one row or some more: a fifth of
    /// what is promised.
    static let pieceMax = Duration.milliseconds(200)
    /// Rows between looks at the clock.
    private static let rowsALook = 128

    /// Rows and decisions, by their numbers.
    let journal: JournalReader
    /// The reader of what became of notices.
    let notices: NoticeReader
    /// The reader of what became of pushes.
    let pushes: PushReader
    /// The reader of how the fleet stood.
    let samples: SampleReader
    private let gapsAt, gapsBefore, openGapsAt, openGapsBefore, gapsAfter, gap: Statement
    private let darkOfDay, dark, turn, lastTurn, blind, nobodys, alerts: Statement
    private let nudgesBefore, nudgesFrom: Statement

    /// Opens the store at `path`, which a `Journal` has made. Throws `StoreError` if it cannot be
    /// opened or is damaged.
    init(path: String) throws(StoreError) {
        journal = try JournalReader(path: path)
        let connection = journal.connection
        notices = try NoticeReader(connection)
        pushes = try PushReader(connection)
        samples = try SampleReader(connection)
        gapsAt = try Statement(connection, Self.gapsAt)
        gapsBefore = try Statement(connection, Self.gapsBefore)
        openGapsAt = try Statement(connection, Self.openGapsAt)
        openGapsBefore = try Statement(connection, Self.openGapsBefore)
        gapsAfter = try Statement(connection, Self.gapsAfter)
        gap = try Statement(connection, Self.gap)
        darkOfDay = try Statement(
            connection, "SELECT * FROM dark WHERE day = ? AND responder > ? ORDER BY responder")
        dark = try Statement(connection, "SELECT * FROM dark WHERE day = ? AND responder = ?")
        turn = try Statement(
            connection, "SELECT * FROM turns WHERE number >= ? ORDER BY number LIMIT 1")
        lastTurn = try Statement(connection, "SELECT max(number) FROM turns")
        blind = try Statement(connection, Self.blind)
        nobodys = try Statement(connection, Self.nobodys)
        alerts = try Statement(connection, Self.alerts)
        nudgesBefore = try Statement(connection, Self.nudgesBefore)
        nudgesFrom = try Statement(connection, Self.nudgesFrom)
    }

    // MARK: - Gaps

    /// Reads gaps that opened at `since` or later, the newest first, behind `place`, and moves it
    /// on; true once there are no more. `take` says whether to go on behind the row it is given.
    /// Throws `StoreError` if one is damaged or cannot be read.
    func gaps(
        behind place: inout GapPlace, since: Int64, openOnly: Bool, take: (GapRow) -> Bool
    ) throws(StoreError) -> Bool {
        guard place.opened >= since else { return true }
        var moved = place
        defer { place = moved }
        let same = openOnly ? openGapsAt : gapsAt
        same.bind(place.opened, at: 1)
        same.bind(place.number, at: 2)
        func step(_ row: GapRow) -> Bool {
            moved = row.place
            return take(row)
        }
        guard try piece(same, of: .gaps, { step(GapRow(same)) }) else { return false }
        // Of this instant nothing is left.
        moved.number = .min
        let older = openOnly ? openGapsBefore : gapsBefore
        older.bind(place.opened, at: 1)
        older.bind(since, at: 2)
        return try piece(older, of: .gaps) { step(GapRow(older)) }
    }

    /// Reads all gaps by rising number behind `number`, and moves it on; true once there are no
    /// more. The cheapest way through many: no index and no reports. Throws `StoreError` if one is
    /// damaged or cannot be read.
    func scanGaps(
        after number: inout Int64, take: (GapRow) -> Bool
    ) throws(StoreError) -> Bool {
        var moved = number
        defer { number = moved }
        gapsAfter.bind(number, at: 1)
        let row = GapRow(gapsAfter)
        return try piece(gapsAfter, of: .gaps, stopping: { moved = row.number }, { take(row) })
    }

    /// Calls `take` with the gap of a number, if there is one. Throws `StoreError` if it is damaged
    /// or cannot be read.
    func gap(_ number: Int64, take: (GapRow) -> Void) throws(StoreError) {
        gap.bind(number, at: 1)
        defer { gap.reset() }
        guard try gap.next() else { return }
        try check(gap, .gaps)
        take(GapRow(gap))
    }

    // MARK: - Dark time

    /// Reads a day's rows by rising person behind number `responder`, and moves it on; true once
    /// there are no more. Throws `StoreError` if one is damaged or cannot be read.
    func dark(
        day: Int64, after responder: inout Int64, take: (DarkRow) -> Bool
    ) throws(StoreError) -> Bool {
        var moved = responder
        defer { responder = moved }
        darkOfDay.bind(day, at: 1)
        darkOfDay.bind(responder, at: 2)
        return try piece(darkOfDay, of: .dark) {
            let row = DarkRow(darkOfDay)
            moved = row.responder
            return take(row)
        }
    }

    /// Returns a person's dark time of a day; nil if there is none. Throws `StoreError` if it is
    /// damaged or cannot be read.
    func dark(day: Int64, of responder: Int64) throws(StoreError) -> DarkRow? {
        dark.bind(day, at: 1)
        dark.bind(responder, at: 2)
        defer { dark.reset() }
        guard try dark.next() else { return nil }
        try check(dark, .dark)
        return DarkRow(dark)
    }

    // MARK: - Turns and blind windows

    /// Returns the turn of a number, or the next one; nil behind the last. Throws `StoreError` if
    /// it cannot be read.
    func turn(notBefore number: Int64) throws(StoreError) -> Turn? {
        turn.bind(number, at: 1)
        defer { turn.reset() }
        return try turn.next() ? Turn(turn) : nil
    }

    /// Returns the newest turn's number, 0 without any. Throws `StoreError` if it cannot be read.
    func lastTurnNumber() throws(StoreError) -> Int64 { try lastTurn.one() }

    /// Calls `take` with the newest decision about blindness before `id`; false if there is none.
    /// Throws `StoreError` if it cannot be read.
    func blindDecision(
        before id: Int64, take: (DecisionRow) -> Void
    ) throws(StoreError) -> Bool {
        blind.bind(id, at: 1)
        defer { blind.reset() }
        guard try blind.next() else { return false }
        take(DecisionRow(blind))
        return true
    }

    /// Reads decisions about nobody, blindness among them, the newest first, before `id`, and moves
    /// it on; true once there are no more. `take` says whether to go on behind the one it is given.
    /// Throws `StoreError` if one is damaged or cannot be read.
    func decisionsAboutNobody(
        before id: inout Int64, take: (DecisionRow) -> Bool
    ) throws(StoreError) -> Bool {
        try decisions(nobodys, &id, take)
    }

    // MARK: - Alerts

    /// Reads decisions about alerts, the newest first, before `id`, and moves it on; true once
    /// there are no more. `take` says whether to go on behind the one it is given. Throws
    /// `StoreError` if one is damaged or cannot be read.
    func alertDecisions(
        before id: inout Int64, take: (DecisionRow) -> Bool
    ) throws(StoreError) -> Bool {
        try decisions(alerts, &id, take)
    }

    // MARK: - Nudges

    /// Reads entries of the nudge ledger, the newest first, before `id`, and moves it on; true once
    /// there are no more. `take` says whether to go on behind the one it is given. Throws
    /// `StoreError` if one is damaged or cannot be read.
    func nudgeDecisions(
        before id: inout Int64, take: (DecisionRow) -> Bool
    ) throws(StoreError) -> Bool {
        try decisions(nudgesBefore, &id, take)
    }

    /// Reads entries of the nudge ledger from `id` on, the oldest first, and moves it on; true once
    /// there are no more. Throws `StoreError` if one is damaged or cannot be read.
    func nudgeDecisions(
        from id: inout Int64, take: (DecisionRow) -> Bool
    ) throws(StoreError) -> Bool {
        try decisions(nudgesFrom, &id, beyond: 1, take)
    }

    /// Steps through the decisions that `select` finds from `id` on, and moves it to `beyond` the
    /// last one; true once there are no more. Throws `StoreError` if one is damaged or cannot be
    /// read.
    private func decisions(
        _ select: Statement, _ id: inout Int64, beyond: Int64 = 0, _ take: (DecisionRow) -> Bool
    ) throws(StoreError) -> Bool {
        var moved = id
        defer { id = moved }
        select.bind(id, at: 1)
        var damaged: Int64?
        let isOver = try piece(select) {
            let row = DecisionRow(select)
            guard RowChecksum.fits(row, select.checksum(at: 7)) else {
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
        _ select: Statement, of table: RowChecksum.Table? = nil, stopping: () -> Void = {},
        _ take: () -> Bool
    ) throws(StoreError) -> Bool {
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
            throw .damaged("\(table): row \(select.integer(at: 0)) is not as it was written")
        }
    }
}

extension HistoryReader {
    fileprivate static let gapsAt: StaticString = """
        SELECT * FROM gaps INDEXED BY gaps_opened WHERE opened_ms = ?1 AND number < ?2 ORDER BY number DESC
        """
    fileprivate static let gapsBefore: StaticString = """
        SELECT * FROM gaps INDEXED BY gaps_opened WHERE opened_ms < ?1 AND opened_ms >= ?2
        ORDER BY opened_ms DESC, number DESC
        """
    fileprivate static let openGapsAt: StaticString = """
        SELECT * FROM gaps INDEXED BY gaps_open
        WHERE closed_ms = 0 AND opened_ms = ?1 AND number < ?2 ORDER BY number DESC
        """
    fileprivate static let openGapsBefore: StaticString = """
        SELECT * FROM gaps INDEXED BY gaps_open
        WHERE closed_ms = 0 AND opened_ms < ?1 AND opened_ms >= ?2
        ORDER BY opened_ms DESC, number DESC
        """
    fileprivate static let gapsAfter: StaticString = """
        SELECT * FROM gaps WHERE number > ?1 ORDER BY number
        """
    fileprivate static let gap: StaticString = """
        SELECT * FROM gaps WHERE number = ?1
        """
    // `kind` as `DecisionCode` has it: 2 is blindness, 4 to 6 are alerts, notices and mutes. The
    // index holds what is about nobody, which is all of these and nothing else.
    fileprivate static let blind: StaticString = """
        SELECT * FROM decisions INDEXED BY blind_decisions
        WHERE responder = 0 AND kind = 2 AND id < ?1 ORDER BY id DESC LIMIT 1
        """
    // Without the kind: what is passed by counts too, so that a piece cannot last.
    fileprivate static let nobodys: StaticString = """
        SELECT * FROM decisions INDEXED BY blind_decisions
        WHERE responder = 0 AND id < ?1 ORDER BY id DESC
        """
    fileprivate static let alerts: StaticString = """
        SELECT * FROM decisions INDEXED BY blind_decisions
        WHERE responder = 0 AND kind BETWEEN 4 AND 6 AND id < ?1 ORDER BY id DESC
        """
    // 7 is the nudge ledger, which has an index of its own.
    fileprivate static let nudgesBefore: StaticString = """
        SELECT * FROM decisions INDEXED BY nudge_decisions
        WHERE kind = 7 AND id < ?1 ORDER BY id DESC
        """
    fileprivate static let nudgesFrom: StaticString = """
        SELECT * FROM decisions INDEXED BY nudge_decisions
        WHERE kind = 7 AND id >= ?1 ORDER BY id
        """
}

extension DarkRow {
    /// The current row of a statement that selects the whole table.
    fileprivate init(_ statement: Statement) {
        day = statement.integer(at: 0)
        responder = statement.integer(at: 1)
        platform =
            Platform(rawValue: UInt8(truncatingIfNeeded: statement.integer(at: 2))) ?? .unknown
        contact = Milliseconds(statement.integer(at: 3))
        location = Milliseconds(statement.integer(at: 4))
        region = Array(statement.bytes(at: 5))
    }
}
