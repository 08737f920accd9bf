/// Rules that hold for the gap lines of any story. Source: Contract/Gaps, F5, F24, F26.
///
///     nothing ──open──► open ──(evaluated)*──► closed ──► verdict, if it had reached OFFLINE
struct GapStream {
    /// A gap's line.
    struct Line {
        var at: Int64
        var responderID: String
        var state: String
        var suspected: String
        var verdict: String?
    }

    /// What is open of one person, or owed to them.
    private struct Gap {
        var suspected: String
        var isCounted: Bool
        /// Running time of its end; nil while it is open.
        var closedAt: Int64?
        /// It ended because the person was not expected any more.
        var endedWithDuty = false
    }

    private static let verdictAfter: Int64 = 120_000

    private var statuses: [String: String] = [:]
    private var gaps: [String: Gap] = [:]
    private var steps: Int64 = 0
    /// Whose verdict must be the next line.
    private var owedAtOnce: String?

    /// The wall stepped.
    mutating func step(_ by: Int64) { steps += by }

    /// Erasing drops a gap without a line.
    mutating func forget(_ id: String) {
        statuses[id] = nil
        gaps[id] = nil
    }

    /// Takes note of somebody's status.
    mutating func note(_ id: String, is status: String, at: Int64) throws(Breach) {
        try expectNothingOwed("\(id) is \(status) at \(at)")
        statuses[id] = status
        if status == "OFFLINE", let gap = gaps[id], gap.closedAt == nil {
            gaps[id]?.isCounted = true
        }
    }

    /// Evaluates a line by those before it.
    mutating func take(_ line: Line, isBlind: Bool) throws(Breach) {
        let id = line.responderID
        let gap = gaps[id]
        let status = statuses[id] ?? "NOT_EXPECTED"
        func breach(_ rule: String, _ why: String) -> Breach {
            Breach(rule: rule, detail: "\(why): \(line), status \(status), gap \(gap as Any)")
        }
        if owedAtOnce != nil, owedAtOnce != id || line.state != "verdict" {
            throw breach("C2", "the end of duty owes a verdict to \(owedAtOnce ?? "")")
        }
        if (line.verdict != nil) != (line.state == "verdict") {
            throw breach("C2", "a verdict is told with the state of that name")
        }
        switch line.state {
        case "open":
            guard gap == nil else { throw breach("F24", "opens over another one") }
            guard !isBlind else { throw breach("INV-08", "opens while blind") }
            guard status == "DEGRADED" || status == "OFFLINE" else {
                throw breach("F24", "opens without silence")
            }
            gaps[id] = Gap(suspected: line.suspected, isCounted: status == "OFFLINE")
        case "judged":
            guard let gap, gap.closedAt == nil else { throw breach("F25", "judged, not open") }
            gaps[id]?.suspected = line.suspected
        case "closed": try close(line, gap, status, breach)
        case "verdict": try judge(line, gap, isBlind, breach)
        default: throw breach("F5", "unknown state")
        }
    }

    private mutating func close(
        _ line: Line, _ gap: Gap?, _ status: String, _ breach: (String, String) -> Breach
    ) throws(Breach) {
        guard let gap, gap.closedAt == nil else { throw breach("F24", "closes, not open") }
        guard gap.suspected == line.suspected else { throw breach("C1", "another suspicion") }
        guard status == "ONLINE" || status == "NOT_EXPECTED" else {
            throw breach("F24", "closes in silence")
        }
        gaps[line.responderID] = nil
        guard gap.isCounted else { return }
        var closed = gap
        closed.closedAt = line.at - steps
        closed.endedWithDuty = status == "NOT_EXPECTED"
        gaps[line.responderID] = closed
        if closed.endedWithDuty { owedAtOnce = line.responderID }
    }

    private mutating func judge(
        _ line: Line, _ gap: Gap?, _ isBlind: Bool, _ breach: (String, String) -> Breach
    ) throws(Breach) {
        guard let gap, let closedAt = gap.closedAt else { throw breach("C2", "not closed") }
        guard gap.suspected == line.suspected else { throw breach("C1", "another suspicion") }
        guard gap.endedWithDuty == (line.verdict == "duty_ended") else {
            throw breach("C2", "duty_ended is for those who went")
        }
        if !gap.endedWithDuty {
            guard !isBlind else { throw breach("INV-08", "verdict while blind") }
            // Sooner only because the next gap opens, which comes while they are silent again.
            let isEarly = line.at - steps < closedAt + Self.verdictAfter
            let isSilent = ["DEGRADED", "OFFLINE"].contains(statuses[line.responderID])
            if isEarly, !isSilent { throw breach("F26", "early") }
        }
        owedAtOnce = nil
        gaps[line.responderID] = nil
    }

    /// Evaluates the end of a story, at `endsAt` by the wall, when all is well.
    func evaluateEnd(_ endsAt: Int64) throws(Breach) {
        try expectNothingOwed("the end")
        for (id, gap) in gaps {
            guard let closedAt = gap.closedAt, closedAt + Self.verdictAfter <= endsAt - steps else {
                continue
            }
            throw Breach(rule: "C2", detail: "no verdict for \(id), closed at \(closedAt)")
        }
    }

    private func expectNothingOwed(_ instead: String) throws(Breach) {
        guard let owedAtOnce else { return }
        throw Breach(rule: "C2", detail: "\(owedAtOnce) is owed a verdict: \(instead)")
    }
}
