import RollcallCore

/// A turn as the log of a cluster carries it: its rows, decisions, and everything else that its
/// transaction writes. Followers copy that and compute none of it (S7). What it sends, and what a
/// member's own disk has lost, is not of the watch and stays.
extension PendingTurn {
    /// The turn's bytes. A field's place, once written, stays.
    package var logBytes: [UInt8] {
        var copy = self
        return Archive.bytes { copy.code(&$0) }
    }

    /// The turn that `logBytes` were made of; nil if they are damaged.
    package init?(logBytes: [UInt8]) {
        self.init()
        var archive = Archive(reading: logBytes)
        code(&archive)
        if archive.isDamaged || !archive.isAtEnd { return nil }
    }

    private mutating func code(_ archive: inout Archive) {
        turn.code(&archive)
        archive.code(&bytes)
        var begin = 0
        archive.code(&rows, empty: PendingRow.empty) { archive, row in
            archive.code(&row.id)
            archive.code(&row.kind)
            archive.code(&row.responder)
            archive.code(&row.previous)
            // Bodies follow each other, but for a roster's that was refused.
            var (skipped, count) = (row.body.lowerBound - begin, row.body.count)
            archive.code(&skipped)
            archive.code(&count)
            let first = begin + skipped
            guard count >= 0, (0...bytes.count).contains(first), count <= bytes.count - first else {
                return archive.refuse()
            }
            row.body = first..<(first + count)
            begin = first + count
        }
        archive.code(&decisions, empty: NumberedDecision.empty) { archive, decision in
            decision.code(&archive)
        }
        archive.code(&dark, empty: DarkRow.empty) { archive, row in
            archive.code(&row.day)
            archive.code(&row.responder)
            archive.code(&row.platform)
            archive.code(&row.contact)
            archive.code(&row.location)
            archive.code(&row.region)
        }
        archive.code(&erasures, empty: Erasure(number: 0, responder: 0)) { archive, erasure in
            erasure.code(&archive)
        }
        Self.code(&outbox, &archive) { $0.code($1) }
        archive.code(&attempts, empty: AttemptRow.empty) { archive, attempt in
            attempt.code(&archive)
        }
        Self.code(&pushes, &archive) { $0.code($1) }
        archive.code(&pushClaims, empty: 0) { $0.code(&$1) }
        archive.code(&sample, empty: FleetSample.empty) { archive, sample in
            archive.code(&sample.at)
            archive.code(&sample.byStatus)
            archive.code(&sample.notExpected)
            // It is the last of a turn's fields, and was written without them before version 8.
            if archive.isReading && archive.isAtEnd { return }
            archive.code(&sample.regions, empty: SampledRegion.empty) { archive, region in
                region.code(&archive)
            }
        }
    }

    private static func code<Row>(
        _ changes: inout RowChanges<Row>, _ archive: inout Archive,
        _ body: (inout Archive, Row?) -> Row?
    ) {
        changes = RowChanges(
            added: code(changes.added, &archive, body),
            changed: code(changes.changed, &archive, body))
    }

    private static func code<Row>(
        _ rows: [Row], _ archive: inout Archive, _ body: (inout Archive, Row?) -> Row?
    ) -> [Row] {
        var coded = rows.map { Optional($0) }
        archive.code(&coded, empty: nil) { archive, row in
            row = body(&archive, row)
            if row == nil { archive.refuse() }
        }
        return coded.compactMap(\.self)
    }
}

extension Turn {
    fileprivate mutating func code(_ archive: inout Archive) {
        archive.code(&number)
        archive.code(&nowMilliseconds)
        archive.code(&wallMilliseconds)
        archive.code(&firstRow)
        archive.code(&lastRow)
        archive.code(&engineVersion)
    }
}

extension PendingRow {
    fileprivate static let empty = PendingRow(
        id: 0, kind: 0, responder: 0, previous: 0, body: 0..<0)
}

extension NumberedDecision {
    fileprivate static let empty = NumberedDecision(
        decision: .blind(
            at: Timestamp(milliseconds: 0), begins: false, since: Timestamp(milliseconds: 0),
            reason: .stopped), id: 0, previous: 0)

    fileprivate mutating func code(_ archive: inout Archive) {
        archive.code(&id)
        archive.code(&previous)
        let row = archive.isReading ? nil : DecisionCode(decision)
        var (kind, responder) = (row?.kind.rawValue ?? 0, row?.responder ?? 0)
        var (at, body) = (row?.at ?? Timestamp(milliseconds: 0), row?.body ?? [])
        archive.code(&kind)
        archive.code(&responder)
        archive.code(&at)
        archive.code(&body)
        guard archive.isReading else { return }
        let read = body.withUnsafeBytes {
            DecisionCode.decision(
                DecisionRow(
                    id: id, turn: 0, kind: kind, responder: responder, previous: previous,
                    atMilliseconds: at.milliseconds, body: $0))
        }
        if let read { decision = read } else { archive.refuse() }
    }
}

extension DarkRow {
    fileprivate static let empty = DarkRow(day: 0, responder: 0, platform: .unknown, region: [])
}

extension Erasure {
    fileprivate mutating func code(_ archive: inout Archive) {
        archive.code(&number)
        archive.code(&turn)
        archive.code(&responder)
        archive.code(&requestedAt)
        archive.code(&nextRow)
        archive.code(&nextDecision)
        archive.code(&gap)
        var names = regions.journalBytes
        archive.code(&names)
        if archive.isReading { regions = ErasedRegions(journalBytes: names) }
    }
}

extension AttemptRow {
    fileprivate static let empty = AttemptRow(
        notice: 0, target: 0, attempt: 0, beganAt: Timestamp(milliseconds: 0))

    fileprivate mutating func code(_ archive: inout Archive) {
        archive.code(&notice)
        archive.code(&target)
        archive.code(&attempt)
        archive.code(&beganAt)
        archive.code(&took, empty: Milliseconds(0)) { $0.code(&$1) }
        archive.code(&status, empty: 0) { $0.code(&$1) }
        var words = Array(error.utf8)
        archive.code(&words)
        if archive.isReading { error = String(decoding: words, as: UTF8.self) }
    }
}

extension FleetSample {
    fileprivate static let empty = FleetSample(
        at: Timestamp(milliseconds: 0), byStatus: [], notExpected: 0)
}

extension SampledRegion {
    fileprivate static let empty = SampledRegion(name: [], counts: RegionCounts())

    fileprivate mutating func code(_ archive: inout Archive) {
        archive.code(&name)
        for place in 0..<4 { archive.code(&counts.byStatus[place]) }
        archive.code(&counts.notExpected)
        archive.code(&counts.isUnstaffed)
    }
}

extension Archive {
    /// Codes a message; nil if what is read makes none.
    fileprivate mutating func code(_ message: OutboxMessage?) -> OutboxMessage? {
        var notice = message?.notice.journalBytes ?? []
        var target = message?.target ?? 0
        var decidedAt = message?.decidedAt ?? Timestamp(milliseconds: 0)
        var since = message?.since ?? RunningTime(milliseconds: 0)
        var left = message?.left ?? 0
        var state = message?.state ?? .waiting
        var attempts = message?.attempts ?? 0
        var next = message?.next ?? since
        var outcome = message?.outcome
        var finishedAt = message?.finishedAt ?? decidedAt
        code(&notice)
        code(&target)
        code(&decidedAt)
        code(&since)
        code(&left)
        code(&state)
        code(&attempts)
        code(&next)
        code(&outcome, empty: .delivered) { $0.code(&$1) }
        code(&finishedAt)
        guard isReading else { return message }
        return Notice(journalBytes: notice).flatMap {
            OutboxMessage(
                $0, target: target, decidedAt: decidedAt, since: since, left: left, state: state,
                attempts: attempts, next: next, outcome: outcome, finishedAt: finishedAt)
        }
    }

    /// Codes a push; nil if what is read makes none.
    fileprivate mutating func code(_ push: PushMessage?) -> PushMessage? {
        var (number, kind) = (push?.number ?? 0, push?.kind ?? .nudge)
        var person = push?.person ?? 0
        var decidedAt = push?.decidedAt ?? Timestamp(milliseconds: 0)
        var since = push?.since ?? RunningTime(milliseconds: 0)
        var facts = push?.facts.journalBytes ?? []
        var row =
            push?.row
            ?? PushMessage.Row(
                state: .waiting, attempts: 0, next: since, until: since, ticket: [], token: 0,
                outcome: nil, finishedAt: decidedAt)
        code(&number)
        code(&kind)
        code(&person)
        code(&decidedAt)
        code(&since)
        code(&facts)
        code(&row.state)
        code(&row.attempts)
        code(&row.next)
        code(&row.until)
        code(&row.ticket)
        code(&row.token)
        code(&row.outcome, empty: .delivered) { $0.code(&$1) }
        code(&row.finishedAt)
        guard isReading, let facts = NudgeFacts(journalBytes: facts) else { return push }
        let decided = PushMessage(
            number: number, kind: kind, person: person, decidedAt: decidedAt, now: since,
            life: Milliseconds(0), facts: facts)
        return PushMessage(decided, as: row)
    }
}
