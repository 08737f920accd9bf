import RollcallCore
import RollcallSupport

/// The outlook of an open gap, as two members of an object about that gap. Source: P7.
enum OutlookJSON {
    /// Appends `,"usual_return":…,"odds":…`; each null where nothing is told.
    static func append(_ outlook: GapOutlook, to body: inout [UInt8]) {
        JSONWriter.raw(",\"usual_return\":", to: &body)
        if let usual = outlook.usualReturn {
            JSONWriter.raw("{\"median_seconds\":", to: &body)
            GapJSON.seconds(usual.median, to: &body)
            end(gaps: usual.gaps, of: usual.basis.word, to: &body)
        } else {
            JSONWriter.raw("null", to: &body)
        }
        JSONWriter.raw(",\"odds\":", to: &body)
        guard let odds = outlook.odds else { return JSONWriter.raw("null", to: &body) }
        JSONWriter.raw("{\"verdicts\":{", to: &body)
        for (place, (verdict, count)) in odds.verdicts.enumerated() {
            if place > 0 { body.append(UInt8(ascii: ",")) }
            JSONWriter.word(verdict.word, to: &body)
            body.append(UInt8(ascii: ":"))
            JSONWriter.integer(Int64(count), to: &body)
        }
        body.append(UInt8(ascii: "}"))
        end(gaps: odds.all, of: odds.basis.word, to: &body)
    }

    private static func end(gaps: Int, of basis: StaticString, to body: inout [UInt8]) {
        JSONWriter.raw(",\"gaps\":", to: &body)
        JSONWriter.integer(Int64(gaps), to: &body)
        ResponderJSON.word("of", basis, to: &body)
        body.append(UInt8(ascii: "}"))
    }
}
