import RollcallCore

/// A gap as the engine printed it, put together from its lines.
struct TruthGap {
    var responderID: String
    /// By the evidence; empty where it tells none.
    var platform = ""
    var openedAt: Int64
    /// The suspicion at opening.
    var first: String
    /// The one at OFFLINE: the gap counts from then on (C1).
    var atOffline: String?
    var closedAt: Int64?
    var verdict: String?

    /// All gaps in `lines`, in the order of their openings; nil at the first line that does not fit
    /// the ones before it, which `fault` then names.
    static func read(_ lines: [Substring], fault: inout String?) -> [TruthGap] {
        var gaps: [TruthGap] = []
        var newest: [String: Int] = [:]
        var statuses: [String: String] = [:]
        for line in lines {
            guard let id = member("responder_id", of: line), let at = time(of: line) else {
                continue
            }
            switch member("kind", of: line) {
            case "status": statuses[id] = member("to", of: line)
            case "gap":
                let state = member("state", of: line) ?? ""
                let suspected = member("suspected", of: line) ?? ""
                let isOffline = statuses[id] == "OFFLINE"
                if state == "open" {
                    if let last = newest[id], gaps[last].closedAt == nil { fault = String(line) }
                    newest[id] = gaps.count
                    gaps.append(
                        TruthGap(
                            responderID: id, platform: member("platform", of: line) ?? "",
                            openedAt: at, first: suspected,
                            atOffline: isOffline ? suspected : nil))
                    continue
                }
                guard let place = newest[id],
                    gaps[place].take(state, at, suspected, member("verdict", of: line), isOffline)
                else {
                    fault = String(line)
                    return gaps
                }
            default: break
            }
        }
        return gaps
    }

    /// Takes a later line of this gap; false if it cannot come now.
    private mutating func take(
        _ state: String, _ at: Int64, _ suspected: String, _ verdict: String?, _ isOffline: Bool
    ) -> Bool {
        switch state {
        case "judged":
            if closedAt != nil { return false }
            if isOffline, atOffline == nil { atOffline = suspected }
        case "closed":
            if closedAt != nil { return false }
            closedAt = at
        case "verdict":
            if closedAt == nil || atOffline == nil || self.verdict != nil { return false }
            self.verdict = verdict ?? ""
        default: return false
        }
        return true
    }

    /// The string `name` of a line that Rollcall printed; ids here need no escapes.
    private static func member(_ name: String, of line: Substring) -> String? {
        let mark = Array("\"\(name)\":\"".utf8)
        let bytes = line.utf8
        var start = bytes.startIndex
        while start != bytes.endIndex {
            if bytes[start...].starts(with: mark) {
                let value = bytes[bytes.index(start, offsetBy: mark.count)...]
                return String(value.prefix { $0 != UInt8(ascii: "\"") })
            }
            start = bytes.index(after: start)
        }
        return nil
    }

    private static func time(of line: Substring) -> Int64? {
        guard let text = member("at", of: line) else { return nil }
        let bytes = Array(text.utf8)
        return RFC3339.parse(bytes.span, 0..<bytes.count)?.milliseconds
    }
}
