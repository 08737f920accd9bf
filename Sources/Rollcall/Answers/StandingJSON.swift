import RollcallCore

/// The member `you` of an answer: how those stand whom a write is about, for their own phones. It is
/// never more than four members of a person. Source: R4.
enum StandingJSON {
    /// The form of `you`, which is that of the body.
    enum Form: Sendable {
        /// The body is one object.
        case one
        /// The body is an array, or lines.
        case list
    }

    /// Appends `,"you":…` behind the verdict on a body: an object, or one at each place of the body, null
    /// where no item was taken.
    static func append(
        _ receipt: Receipt, _ scan: ScanResult, _ form: Form, to body: inout [UInt8]
    ) {
        JSONWriter.raw(",\"you\":", to: &body)
        let standings = receipt.standings ?? []
        guard form == .list else { return append(standings.first ?? nil, to: &body) }
        body.append(UInt8(ascii: "["))
        var next = 0
        func separate(_ body: inout [UInt8]) {
            if next > 0 { body.append(UInt8(ascii: ",")) }
            next += 1
        }
        for (row, standing) in zip(receipt.rows, standings) {
            while next < Int(scan.places[row.item]) {
                separate(&body)
                JSONWriter.raw("null", to: &body)
            }
            separate(&body)
            append(standing, to: &body)
        }
        // The object that says when the body was sent has a place of its own (D10).
        let places = scan.itemCount + (scan.sentAt == .untold ? 0 : 1)
        while next < places {
            separate(&body)
            JSONWriter.raw("null", to: &body)
        }
        body.append(UInt8(ascii: "]"))
    }

    /// Appends how one person stands; null of nobody.
    static func append(_ standing: PersonalStanding?, to body: inout [UInt8]) {
        guard let standing else { return JSONWriter.raw("null", to: &body) }
        JSONWriter.raw("{\"status\":", to: &body)
        JSONWriter.word(standing.status?.word ?? "NOT_EXPECTED", to: &body)
        ResponderJSON.word("reachable", standing.reachable.word, to: &body)
        ResponderJSON.time(
            "promised_until", standing.promisedUntil ?? .distantPast, to: &body)
        JSONWriter.raw(",\"advice\":[", to: &body)
        var isFirst = true
        for advice in Advice.allCases where standing.advice.contains(advice) {
            JSONWriter.raw(isFirst ? "{\"key\":" : ",{\"key\":", to: &body)
            JSONWriter.word(advice.word, to: &body)
            ResponderJSON.word("text", advice.text, to: &body)
            body.append(UInt8(ascii: "}"))
            isFirst = false
        }
        JSONWriter.raw("]}", to: &body)
    }
}
