import RollcallCore
import RollcallSupport

/// The object that tells of one gap.
enum GapJSON {
    /// Appends one gap's object, as of `clock`, with what usually follows one that is open.
    static func append(
        _ report: GapReport, _ id: [UInt8], _ clock: ObservationClock, _ outlook: GapOutlook,
        to body: inout [UInt8]
    ) {
        let isOpen = report.closedAt == .distantPast
        JSONWriter.raw("{\"gap\":", to: &body)
        JSONWriter.integer(report.number, to: &body)
        JSONWriter.raw(",\"responder_id\":", to: &body)
        JSONWriter.string(id, to: &body)
        let state: StaticString = isOpen ? "open" : report.verdict == nil ? "returned" : "closed"
        ResponderJSON.word("state", state, to: &body)
        ResponderJSON.time("opened_at", report.openedAt, to: &body)
        ResponderJSON.time("offline_at", report.offlineAt, to: &body)
        ResponderJSON.time("closed_at", report.closedAt, to: &body)
        let passed = clock.passed(since: report.openedAt)
        seconds("length_seconds", isOpen ? passed.observed : report.length, to: &body)
        ResponderJSON.word("suspected", report.suspected.word, to: &body)
        ResponderJSON.word("first_suspected", report.firstSuspected.word, to: &body)
        JSONWriter.raw(",\"verdict\":", to: &body)
        if let verdict = report.verdict {
            JSONWriter.word(verdict.word, to: &body)
        } else {
            JSONWriter.raw("null", to: &body)
        }
        JSONWriter.raw(",\"region\":", to: &body)
        JSONWriter.string(report.facts.region, to: &body)
        ResponderJSON.word("platform", report.facts.platform.word, to: &body)
        ResponderJSON.name("manufacturer", report.facts.manufacturer, to: &body)
        ResponderJSON.name("model", report.facts.model, to: &body)
        ResponderJSON.name("os_version", report.facts.osVersion, to: &body)
        ResponderJSON.name("app_version", report.facts.appVersion, to: &body)
        let blind = isOpen ? max(report.blind, passed.blind) : report.blind
        var present = report
        present.blind = blind
        if isOpen { present.length = passed.observed }
        seconds("blind_seconds", blind, to: &body)
        let isLeftOut = present.isLeftOut
        JSONWriter.raw(isLeftOut ? ",\"left_out\":true" : ",\"left_out\":false", to: &body)
        appendGroup(report.facts.group, to: &body)
        appendEvidence(present, isOpen: isOpen, to: &body)
        OutlookJSON.append(outlook, to: &body)
        body.append(UInt8(ascii: "}"))
    }

    private static func appendGroup(_ group: GapGroup?, to body: inout [UInt8]) {
        guard let group else { return JSONWriter.raw(",\"group\":null", to: &body) }
        JSONWriter.raw(",\"group\":{\"id\":", to: &body)
        JSONWriter.integer(group.id, to: &body)
        ResponderJSON.word("of", group.isFeed ? "feed" : "region", to: &body)
        JSONWriter.raw(",\"members\":", to: &body)
        JSONWriter.integer(Int64(group.members), to: &body)
        JSONWriter.raw(",\"active\":", to: &body)
        JSONWriter.integer(Int64(group.active), to: &body)
        body.append(UInt8(ascii: "}"))
    }

    /// The facts of the suspicion and those of the return, each without what stands beside it, and
    /// what both come to in words.
    private static func appendEvidence(
        _ report: GapReport, isOpen: Bool, to body: inout [UInt8]
    ) {
        var bare = report
        bare.state = .evaluated
        bare.closedAt = .distantPast
        bare.blind = Milliseconds(0)
        var facts: [UInt8] = []
        GapEvidence.append(bare, to: &facts)
        JSONWriter.raw(",\"evidence\":", to: &body)
        body += facts
        JSONWriter.raw(",\"return\":", to: &body)
        // Who is no longer expected did not return.
        if isOpen || report.verdict == .dutyEnded {
            JSONWriter.raw("null", to: &body)
        } else {
            bare.state = .verdict
            var seen: [UInt8] = []
            GapEvidence.append(bare, to: &seen)
            body += seen
            if report.verdict != nil { facts = seen }
        }
        JSONWriter.raw(",\"text\":", to: &body)
        JSONWriter.string(text(report, isOpen: isOpen, facts).utf8, to: &body)
    }

    /// Cause and evidence in the words of `rollcall explain`, times in UTC; `facts` are those that
    /// the last word on it rests on.
    private static func text(
        _ report: GapReport, isOpen: Bool, _ facts: [UInt8]
    ) -> String {
        let wording = GapWording(
            evidence: (try? JSONTree(reading: facts)) ?? .null, style: ConsoleStyle(),
            at: isOpen ? report.offlineAt : report.closedAt, namesZone: true)
        var text: String
        if let verdict = report.verdict {
            text = wording.outcome("\(verdict.word)", suspected: "\(report.suspected.word)")
        } else {
            text = wording.suspicion("\(report.suspected.word)")
            if !isOpen { text += " They are back: what it was is told within two minutes." }
        }
        let blind = GapWording.blind(report.blind, isLeftOut: report.isLeftOut)
        return blind.map { "\(text) \($0)" } ?? text
    }

    /// Appends `,"key":12.5`: seconds with one to three decimals.
    static func seconds(_ key: StaticString, _ span: Milliseconds, to body: inout [UInt8]) {
        body.append(UInt8(ascii: ","))
        JSONWriter.word(key, to: &body)
        body.append(UInt8(ascii: ":"))
        seconds(span, to: &body)
    }

    /// Appends seconds with one to three decimals.
    static func seconds(_ span: Milliseconds, to body: inout [UInt8]) {
        let count = max(0, span.count)
        JSONWriter.integer(count / 1000, to: &body)
        body.append(UInt8(ascii: "."))
        var rest = count % 1000
        var digit: Int64 = 100
        repeat {
            body.append(UInt8(ascii: "0") + UInt8(rest / digit))
            rest %= digit
            digit /= 10
        } while rest > 0
    }
}
