import RollcallCore
import RollcallSupport

/// The answers that say of a body what became of it, item by item. Source: I7.
extension Router {
    /// Rejected items and problems listed in an answer at most; the numbers are always whole.
    private static var notesMax: Int { ItemScanner.notesMax }

    /// Returns the verdicts of a body, item by item; a `refusal` says why nothing of it was taken. Where
    /// there is a form of `you`, it says how those stand who sent the items (R4).
    static func verdict(
        _ scan: ScanResult, _ receipt: Receipt, _ you: StandingJSON.Form? = nil,
        refusal: String? = nil
    ) -> HTTPResponse {
        if you == nil, refusal == nil, let updates = plainUpdates(scan, receipt) {
            return plain[updates]
        }
        return written(scan, receipt, you, refusal: refusal)
    }

    /// The answers to one item of which all was taken, by its updates: nearly all answers. Each is
    /// written once.
    private static let plain = (0...15).map { updates in
        var receipt = Receipt()
        receipt.accepted = 1
        receipt.updates[0] = updates
        return written(ScanResult(), receipt)
    }

    /// Returns how many updates the item had that was taken, if there is nothing else to say; nil else.
    private static func plainUpdates(_ scan: ScanResult, _ receipt: Receipt) -> Int? {
        guard receipt.accepted == 1, receipt.duplicates == 0, scan.rejectedCount == 0,
            scan.problems.isEmpty, receipt.rejected.isEmpty, receipt.namesRefused.isEmpty,
            receipt.aged.isEmpty, receipt.updates[1] == 0, receipt.updates[2] == 0,
            receipt.retired == nil, receipt.rosterFault == nil
        else { return nil }
        let updates = receipt.updates[0]
        return updates < plain.count ? updates : nil
    }

    private static func written(
        _ scan: ScanResult, _ receipt: Receipt, _ you: StandingJSON.Form? = nil,
        refusal: String? = nil
    ) -> HTTPResponse {
        if let fault = receipt.rosterFault { return Self.refusal(fault) }
        var rejected = scan.rejected
        // Both are in the body's order, so that the first of all are among the first of each.
        for item in receipt.rejected.prefix(notesMax) {
            rejected.append(
                ItemNote(
                    index: Int(scan.places[item.item]), pointer: "/responder_id",
                    fault: item.fault, detail: detail(item.fault)))
        }
        rejected.sort { $0.index < $1.index }
        let rejectedCount = scan.rejectedCount + receipt.rejected.count
        let isRefused =
            refusal != nil || (rejectedCount > 0 && rejectedCount == scan.itemCount)
        var body: [UInt8] = []
        body.reserveCapacity(128)
        if isRefused {
            JSONWriter.raw(
                "{\"type\":\"about:blank\",\"title\":\"Unprocessable Content\",\"status\":422,",
                to: &body)
            JSONWriter.raw("\"detail\":", to: &body)
            JSONWriter.string((refusal ?? "every item was rejected").utf8, to: &body)
            JSONWriter.raw(",\"accepted\":", to: &body)
        } else {
            JSONWriter.raw("{\"accepted\":", to: &body)
        }
        JSONWriter.integer(Int64(receipt.accepted), to: &body)
        JSONWriter.raw(",\"duplicates\":", to: &body)
        JSONWriter.integer(Int64(receipt.duplicates), to: &body)
        JSONWriter.raw(",\"rejected\":", to: &body)
        append(rejected, to: &body)
        JSONWriter.raw(",\"problems\":", to: &body)
        append(problems(scan, receipt), to: &body)
        JSONWriter.raw(",\"updates\":{\"accepted\":", to: &body)
        JSONWriter.integer(Int64(receipt.updates[0]), to: &body)
        JSONWriter.raw(",\"duplicate\":", to: &body)
        JSONWriter.integer(Int64(receipt.updates[1]), to: &body)
        JSONWriter.raw(",\"late\":", to: &body)
        JSONWriter.integer(Int64(receipt.updates[2]), to: &body)
        JSONWriter.raw("}", to: &body)
        if let retired = receipt.retired {
            JSONWriter.raw(",\"retired\":", to: &body)
            JSONWriter.integer(Int64(retired), to: &body)
        }
        if let you { StandingJSON.append(receipt, scan, you, to: &body) }
        JSONWriter.raw("}\n", to: &body)
        guard isRefused else { return .json(body) }
        return HTTPResponse(
            status: 422, headers: [("Content-Type", "application/problem+json")], body: body)
    }

    /// Returns what was left out of items that were taken, in the body's order: by the scanner, for
    /// want of room, and for its age (P2).
    private static func problems(_ scan: ScanResult, _ receipt: Receipt) -> [ItemNote] {
        guard !(receipt.namesRefused.isEmpty && receipt.aged.isEmpty) else { return scan.problems }
        let refused = receipt.namesRefused.map { item, kind in
            ItemNote(
                index: Int(scan.places[item]), pointer: "/\(kind.field)", fault: .nameLimit,
                detail: "no more are known at once: see limits.\(kind.setting)")
        }
        let aged = receipt.aged.map { item -> ItemNote in
            let isBatch = scan.items.item(item)?.kind == .batch
            return ItemNote(
                index: Int(scan.places[item]), pointer: isBatch ? "/updates" : "/at",
                fault: .outOfRange,
                detail: isBatch
                    ? "captured_at more than 30 days before received_at: no location"
                    : "more than 30 days ago: counts as 30 days ago")
        }
        return (scan.problems + refused + aged).sorted { $0.index < $1.index }
    }

    static func append(_ notes: [ItemNote], to body: inout [UInt8]) {
        JSONWriter.list(notes.prefix(notesMax), to: &body) { note, body in
            JSONWriter.raw("{\"index\":", to: &body)
            JSONWriter.integer(Int64(note.index), to: &body)
            JSONWriter.raw(",\"pointer\":", to: &body)
            JSONWriter.string(note.pointer.utf8, to: &body)
            JSONWriter.raw(",\"detail\":", to: &body)
            JSONWriter.string(note.detail.utf8, to: &body)
            JSONWriter.raw("}", to: &body)
        }
    }

    private static func detail(_ fault: ItemFault) -> String {
        switch fault {
        case .erased: "this person was erased; POST /v1/responders names them again"
        case .responderLimit: "no more responders are held: see limits.responders"
        default: "cannot be read"
        }
    }
}
