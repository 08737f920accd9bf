import RollcallBasis
import RollcallCore
import RollcallSupport

/// The silence that somebody asks for with `POST /v1/silences`. Source: A7.
struct SilenceRequest {
    /// Bytes of an author at most.
    static let authorMax = ItemScanner.nameBytesMax
    /// Bytes of a comment at most.
    static let commentMax = 1024
    /// A silence ends within so much time.
    static let spanMax = ConfigurationTree.durationMax
    /// So much later than we another clock may be.
    static let skewMax = Milliseconds.seconds(60)

    typealias Fault = RequestFault

    let silence: Silence

    /// Reads the request's own name, by which a repeat is known. Throws `Fault` if it is none.
    private static func requestID(_ body: JSONTree) throws(Fault) -> [UInt8] {
        guard let id = body["id"], id != "", id != .null else { return [] }
        // A number is one of ours: as Alertmanager's clients mean it, that silence is to be changed.
        guard let text = id.text, !text.allSatisfy(\.isNumber) else {
            throw Fault(
                pointer: "/id",
                detail:
                    "a name of your own expected: a silence cannot be changed, end it and begin "
                    + "another")
        }
        return try Fault.text(id, "/id", authorMax)
    }

    /// Returns one number for the same request and another for another, also while a `duration`
    /// counts from another now (FNV-1a).
    private static func fingerprint(_ silence: Silence, _ body: JSONTree) -> Int64 {
        var parts = silence.matchers.map { Array(MatcherText.text($0).utf8) }
        parts += [silence.author, silence.comment]
        let end = body["ends_at"] ?? body["endsAt"]
        parts.append(Array((body["duration"]?.text ?? "").utf8))
        parts.append(Array((end?.instant.map { "\($0.milliseconds)" } ?? "").utf8))
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        for byte in parts.joined(separator: [0]) {
            hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3
        }
        return Int64(bitPattern: hash)
    }

    /// Reads a body at `now`, also in Alertmanager's words (`endsAt`, `createdBy`). Throws `Fault`
    /// if it is no object, or a field of it is missing or wrong.
    init(_ body: JSONTree, now: Timestamp) throws(Fault) {
        guard case .object = body else { throw Fault(pointer: "", detail: "an object expected") }
        let requestID = try Self.requestID(body)
        let matchers = try Self.matchers(body["matchers"])
        if let start = body["starts_at"] ?? body["startsAt"] {
            guard let at = start.instant else {
                throw Fault(pointer: "/starts_at", detail: "RFC 3339 expected")
            }
            if at > now + Self.skewMax {
                throw Fault(
                    pointer: "/starts_at", detail: "lies in the future: a silence begins at once")
            }
        }
        var silence = Silence(
            matchers: matchers, endsAt: try Self.end(body, now, isRepeatable: !requestID.isEmpty),
            author: try Fault.text(
                body["author"] ?? body["createdBy"], "/author", Self.authorMax),
            comment: try Fault.text(body["comment"], "/comment", Self.commentMax))
        silence.requestID = requestID
        if !requestID.isEmpty { silence.fingerprint = Self.fingerprint(silence, body) }
        self.silence = silence
    }

    /// Reads the end, which may have passed if `isRepeatable`: it may be the same again. Throws
    /// `Fault` if there is none, or two, or it is out of range.
    private static func end(
        _ body: JSONTree, _ now: Timestamp, isRepeatable: Bool
    ) throws(Fault) -> Timestamp {
        let end = body["ends_at"] ?? body["endsAt"]
        let most = SettingText.of(spanMax)
        if let duration = body["duration"] {
            guard end == nil else {
                throw Fault(pointer: "/duration", detail: "and ends_at must not both be given")
            }
            guard
                let span = duration.text.flatMap({ SettingText.duration($0) }),
                (Milliseconds(1)...spanMax).contains(span)
            else {
                throw Fault(
                    pointer: "/duration",
                    detail: "a span such as 90m or 2h expected, at most \(most)")
            }
            return now + span
        }
        guard let end else {
            throw Fault(pointer: "/ends_at", detail: "or duration must be given")
        }
        guard let at = end.instant, at - now <= spanMax else {
            throw Fault(
                pointer: "/ends_at", detail: "RFC 3339 expected, at most \(most) from now")
        }
        if at <= now, !isRepeatable {
            throw Fault(pointer: "/ends_at", detail: "has passed already")
        }
        return at
    }

    // MARK: - Matchers

    private static func matchers(_ value: JSONTree?) throws(Fault) -> [LabelMatcher] {
        // Before any is read: each costs a text, and a body may name thousands.
        let given = value.map { $0.elements.count + $0.members.count } ?? 0
        guard (1...MatcherText.countMax).contains(given) else {
            throw Fault(
                pointer: "/matchers",
                detail: "1 to \(MatcherText.countMax) expected, such as alertname=HighOfflineRate")
        }
        var matchers: [LabelMatcher] = []
        switch value {
        case .list(let entries):
            for (place, entry) in entries.enumerated() {
                matchers.append(try matcher(entry, "/matchers/\(place)"))
            }
        case .object(let members):
            var given: Set<String> = []
            for member in members {
                let pointer = "/matchers/\(member.name)"
                guard given.insert(member.name).inserted else {
                    throw Fault(pointer: pointer, detail: ItemScanner.twice)
                }
                guard let text = member.value.text else {
                    throw Fault(pointer: pointer, detail: "a text expected")
                }
                matchers.append(
                    try checked(pointer) { () throws(MatcherText.Fault) in
                        try MatcherText.matcher(name: member.name, isEqual: true, value: text)
                    })
            }
        default: break
        }
        if matchers.contains(where: { $0.values.contains { PlaceText.isIn($0) } }) {
            throw Fault(pointer: "/matchers", detail: Fault.place, isPlace: true)
        }
        // As in Alertmanager: one that fits all alerts would be found out too late.
        guard matchers.contains(where: { !$0.fits([]) }) else {
            throw Fault(
                pointer: "/matchers", detail: "one must name a value that an alert must have")
        }
        return matchers
    }

    /// Reads a matcher: a text, or Alertmanager's object. Throws `Fault` if it is none.
    private static func matcher(
        _ entry: JSONTree, _ pointer: String
    ) throws(Fault) -> LabelMatcher {
        if let text = entry.text {
            return try checked(pointer) { () throws(MatcherText.Fault) in
                try MatcherText.matcher(text)
            }
        }
        guard let name = entry["name"]?.text, let value = entry["value"]?.text else {
            throw Fault(
                pointer: pointer, detail: "a text, or an object with name and value expected")
        }
        let isRegular = entry["isRegex"]?.isTrue ?? false
        if !isRegular, value.contains("|") {
            throw Fault(pointer: pointer, detail: "a | needs isRegex: it stands between values")
        }
        if isRegular, !value.unicodeScalars.allSatisfy(isPlain) {
            throw Fault(
                pointer: pointer, detail: "of regular expressions only a|b is understood")
        }
        let isEqual = entry["isEqual"] != .boolean(false)
        return try checked(pointer) { () throws(MatcherText.Fault) in
            try MatcherText.matcher(name: name, isEqual: isEqual, value: value)
        }
    }

    /// True for what means itself in a regular expression; `.` is taken for what it nearly always
    /// is meant to be.
    private static func isPlain(_ scalar: Unicode.Scalar) -> Bool {
        !"\\^$*+?()[]{}".unicodeScalars.contains(scalar)
    }

    private static func checked(
        _ pointer: String, _ body: () throws(MatcherText.Fault) -> LabelMatcher
    ) throws(Fault) -> LabelMatcher {
        do throws(MatcherText.Fault) {
            return try body()
        } catch {
            throw Fault(pointer: pointer, detail: error.reason)
        }
    }
}
