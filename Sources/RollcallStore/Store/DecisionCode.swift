import RollcallCore

/// A decision as a row of the store. A code, once written, keeps its meaning for ever.
package struct DecisionCode {
    /// The kinds of decisions.
    package enum Kind: UInt8 {
        case status = 1
        case blind = 2
        case gap = 3
        case alert = 4
        case notice = 5
        case mute = 6
        case nudge = 7
        case wake = 8
        case skew = 9
        case person = 10
        case action = 11
        case delivery = 12
        case push = 13
    }

    /// Stands for NOT_EXPECTED in a status row.
    private static let notExpected: UInt8 = 255

    package let kind: Kind
    /// The person's number + 1; 0 for none.
    package let responder: Int64
    package let at: Timestamp
    package let body: [UInt8]

    /// Takes a decision apart as the store keeps it.
    package init(_ decision: Decision) {
        switch decision {
        case .status(let at, let number, let from, let to, let origin):
            let words = [
                from?.rawValue ?? Self.notExpected, to?.rawValue ?? Self.notExpected,
                origin.rawValue,
            ]
            (kind, responder, self.at, body) = (.status, Int64(number + 1), at, words)
        case .blind(let at, let begins, let since, let reason):
            let words = [begins ? 1 : 0, reason.rawValue] + PendingTurn.number(since.milliseconds)
            (kind, responder, self.at, body) = (.blind, 0, at, words)
        case .gap(let at, let number, let gap):
            (kind, responder, self.at, body) = (.gap, Int64(number + 1), at, gap.journalBytes)
        case .alert(let at, let report):
            (kind, responder, self.at, body) = (.alert, 0, at, report.journalBytes)
        case .notice(let at, let notice):
            (kind, responder, self.at, body) = (.notice, 0, at, notice.journalBytes)
        case .mute(let at, let mute):
            (kind, responder, self.at, body) = (.mute, 0, at, mute.journalBytes)
        case .nudge(let at, let number, let report):
            (kind, responder, self.at, body) = (.nudge, Int64(number + 1), at, report.journalBytes)
        case .wake(let at, let number, let push):
            (kind, responder, self.at, body) = (
                .wake, Int64(number + 1), at, PendingTurn.number(push)
            )
        case .skew(let at, let report):
            (kind, responder, self.at, body) = (.skew, 0, at, report.journalBytes)
        case .person(let at, let report):
            let responder = Int64(report.number.map { $0 + 1 } ?? 0)
            let hash = report.hash.map { PendingTurn.number(Int64(bitPattern: $0)) }
            let words = [report.change.rawValue] + (hash ?? [])
            (kind, self.responder, self.at, body) = (.person, responder, at, words)
        case .action(let at, let report):
            (kind, responder, self.at, body) = (.action, 0, at, report.journalBytes)
        case .delivery(let at, let end):
            (kind, responder, self.at, body) = (.delivery, 0, at, end.journalBytes)
        case .push(let at, let end):
            (kind, responder, self.at, body) = (.push, Int64(end.person + 1), at, end.journalBytes)
        case .update(let at, _, _, _):
            preconditionFailure("updates are decided aloud in replays only, at \(at)")
        }
    }

    /// Returns the decision that `row` stores; nil if it makes no sense.
    package static func decision(_ row: DecisionRow) -> Decision? {
        let at = Timestamp(milliseconds: row.atMilliseconds)
        let number = Int(row.responder) - 1
        switch (Kind(rawValue: row.kind), row.body.count) {
        case (.status, 3):
            let from = Status(rawValue: row.body[0])
            let to = Status(rawValue: row.body[1])
            guard let origin = Origin(rawValue: row.body[2]),
                from != nil || row.body[0] == notExpected, to != nil || row.body[1] == notExpected
            else { return nil }
            return .status(at: at, number: number, from: from, to: to, origin: origin)
        case (.blind, 10):
            guard let reason = BlindReason(rawValue: row.body[1]) else { return nil }
            let since = row.body.dropFirst(2).reversed().reduce(Int64(0)) { $0 << 8 | Int64($1) }
            return .blind(
                at: at, begins: row.body[0] == 1, since: Timestamp(milliseconds: since),
                reason: reason)
        case (.gap, _):
            return GapReport(journalBytes: Array(row.body)).map {
                .gap(at: at, number: number, GapDecision($0))
            }
        case (.alert, _):
            return AlertReport(journalBytes: Array(row.body)).map { .alert(at: at, $0) }
        case (.notice, _): return Notice(journalBytes: Array(row.body)).map { .notice(at: at, $0) }
        case (.mute, _): return Mute(journalBytes: Array(row.body)).map { .mute(at: at, $0) }
        case (.nudge, _):
            return NudgeReport(journalBytes: Array(row.body)).map {
                .nudge(at: at, number: number, $0)
            }
        case (.wake, 8):
            let push = row.body.reversed().reduce(Int64(0)) { $0 << 8 | Int64($1) }
            return .wake(at: at, number: number, push: push)
        case (.skew, _): return SkewReport(journalBytes: Array(row.body)).map { .skew(at: at, $0) }
        case (.person, 1):
            guard let change = PersonReport.Change(rawValue: row.body[0]), number >= 0 else {
                return nil
            }
            return .person(at: at, PersonReport(change, number: number))
        case (.person, 9):
            let hash = row.body.dropFirst().reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
            return .person(at: at, PersonReport(erased: hash))
        case (.action, _):
            return ActionReport(journalBytes: Array(row.body)).map { .action(at: at, $0) }
        case (.delivery, _):
            return NoticeEnd(journalBytes: Array(row.body)).map { .delivery(at: at, $0) }
        case (.push, _): return PushEnd(journalBytes: Array(row.body)).map { .push(at: at, $0) }
        default: return nil
        }
    }

    /// True for the beginnings and ends of blind windows.
    package static func isBlindness(_ kind: UInt8) -> Bool { kind == Kind.blind.rawValue }

    /// True for the kinds whose decisions about a person lead back to the one before (J7).
    package static func isChained(_ kind: UInt8) -> Bool {
        [.status, .gap, .nudge, .wake].contains(Kind(rawValue: kind))
    }

    /// True for the kinds of which a store's ledgers are made (J4).
    package static func isOfLedger(_ kind: UInt8) -> Bool {
        [.alert, .notice, .mute, .nudge, .wake].contains(Kind(rawValue: kind))
    }

    /// True if `row` stores the same decision.
    package func equals(_ row: DecisionRow) -> Bool {
        row.kind == kind.rawValue && row.responder == responder
            && row.atMilliseconds == at.milliseconds
            && row.body.elementsEqual(body)
    }
}

extension DecisionRow {
    /// The report of a gap; nil if it is another decision.
    package var gap: GapReport? {
        guard case .gap(_, _, let gap) = DecisionCode.decision(self) else { return nil }
        return gap.report
    }
}
