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

    /// The reason why a request is not taken.
    struct Fault: Error, Equatable {
        let pointer: String
        let detail: String
        /// True of a text that looks like coordinates: that is counted.
        var isPlace = false

        var text: String { "\(pointer): \(detail)" }
    }

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
        return try Self.text(id, "/id", authorMax)
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
            author: try Self.text(
                body["author"] ?? body["createdBy"], "/author", Self.authorMax),
            comment: try Self.text(body["comment"], "/comment", Self.commentMax))
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

    private static func text(
        _ value: JSONTree?, _ pointer: String, _ most: Int
    ) throws(Fault) -> [UInt8] {
        guard let text = value?.text, (1...most).contains(text.utf8.count),
            !text.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F })
        else {
            throw Fault(
                pointer: pointer, detail: "1 to \(most) bytes without control characters expected")
        }
        let bytes = Array(text.utf8)
        if PlaceText.isIn(bytes) {
            throw Fault(
                pointer: pointer, detail: "looks like coordinates, which are never taken",
                isPlace: true)
        }
        return bytes
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
            for member in members {
                let pointer = "/matchers/\(member.name)"
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

/// The routes of silences: mutes of notifications, never of states. Source: A7, A11.
extension Router {
    /// Answers `POST /v1/silences`.
    func postSilence(_ request: HTTPRequest, _ answer: @escaping Answer) {
        guard let answer = noting(SilenceRequest.fields, request, answer) else { return }
        read(request, answer) { (body) throws(BodyFault) in
            do throws(SilenceRequest.Fault) {
                let now = ClockReading.now().wall
                return .silence(.begin(try SilenceRequest(body, now: now).silence))
            } catch {
                throw BodyFault(detail: error.text, isPlace: error.isPlace)
            }
        } then: { receipt in
            switch (receipt.silence, receipt.silenceFault) {
            case (let number?, _): return showSilence(number, warns: true, answer)
            case (nil, .otherRequest):
                answer(
                    .problem(
                        409, "Conflict",
                        detail: "something else was asked for under this id: take another"),
                    InputStats())
            case (nil, .tooMany):
                answer(
                    .problem(
                        409, "Conflict",
                        detail: "\(Silence.countMax) silences are in force already: end one"),
                    InputStats())
            case (nil, _):
                answer(Self.unprocessable("/ends_at: has passed already"), InputStats())
            }
        }
    }

    /// Answers `DELETE /v1/silences/{id}`: ends it now.
    func endSilence(_ number: Int64, _ request: HTTPRequest, _ answer: @escaping Answer) {
        write(.silence(.end(number)), request, answer) { receipt in
            guard receipt.silence != nil else { return answer(Self.noSilence, InputStats()) }
            showSilence(number, answer)
        }
    }

    /// Answers `GET /v1/silences`.
    func listSilences(_ answer: @escaping Answer) {
        writer.ask { view in
            let state = view.engine.alerting.notifications
            let active = state.silences.sorted { ($0.endsAt, $0.number) < ($1.endsAt, $1.number) }
            let over = state.pastSilences.sorted { ($0.endsAt, $0.number) > ($1.endsAt, $1.number) }
            let silences =
                active.map { Self.silence($0, isActive: true, view.engine) }
                + over.map { Self.silence($0, isActive: false, view.engine) }
            let tree: JSONTree = [
                "as_of": AlertJSON.time(view.engine.clock.wallNow), "silences": .list(silences),
            ]
            answer(.json(AlertJSON.bytes(tree)), InputStats())
        }
    }

    /// Answers `GET /v1/silences/{id}`, and what made or ended one; `warns` of what it may not have
    /// been meant to be.
    func showSilence(_ number: Int64, warns: Bool = false, _ answer: @escaping Answer) {
        writer.ask { view in
            let state = view.engine.alerting.notifications
            let active = state.silences.first { $0.number == number }
            guard let silence = active ?? state.pastSilences.first(where: { $0.number == number })
            else { return answer(Self.noSilence, InputStats()) }
            let shown = Self.silence(silence, isActive: active != nil, view.engine)
            var tree: JSONTree = ["silence": shown]
            if warns {
                let warnings = SilenceWarnings(silence, view.engine).texts
                tree = ["silence": shown, "warnings": .list(warnings.map { .text($0) })]
            }
            answer(.json(AlertJSON.bytes(tree)), InputStats())
        }
    }

    private static func silence(
        _ silence: Silence, isActive: Bool, _ engine: Engine
    ) -> JSONTree {
        let firing =
            isActive
            ? engine.alerting.board.all.filter { $0.alert.state == .firing }
                .filter { silence.matchers.fit($0.alert.labels) }
                .sorted { AlertKey.areInOrder($0.key, $1.key) } : []
        return [
            "id": .integer(silence.number), "state": isActive ? "active" : "over",
            "matchers": .list(silence.matchers.map { .text(MatcherText.text($0)) }),
            "starts_at": AlertJSON.time(silence.startsAt),
            "ends_at": AlertJSON.time(silence.endsAt), "author": AlertJSON.text(silence.author),
            "comment": AlertJSON.text(silence.comment),
            "muting": .list(firing.map { .text(title($0.key)) }),
            "request_id": silence.requestID.isEmpty ? .null : AlertJSON.text(silence.requestID),
        ]
    }

    /// `NoOnlineResponders{region="north"}`.
    private static func title(_ key: AlertKey) -> String {
        let name = String(decoding: key.subject.name, as: UTF8.self)
        return switch key.subject {
        case .all: "\(key.name.word)"
        case .region: "\(key.name.word){region=\"\(name)\"}"
        case .source: "\(key.name.word){source=\"\(name)\"}"
        case .suspected: "\(key.name.word){suspected=\"true\"}"
        }
    }

    private static var noSilence: HTTPResponse {
        .problem(404, "Not Found", detail: "no silence in force has this id")
    }

    // MARK: - Writes of admins

    /// The reason why a body is not taken.
    struct BodyFault: Error {
        let detail: String
        /// True if a text looks like coordinates.
        var isPlace = false
    }

    static func unprocessable(_ detail: String) -> HTTPResponse {
        .problem(422, "Unprocessable Content", detail: detail)
    }

    /// Bytes of a body that is one small document, such as a silence, at most: what is read into a
    /// tree costs a hundred times what the scanner's items cost.
    static let documentBytesMax = 64 << 10

    /// Returns the answer to a document that is too large; nil for one that is read.
    static func bulk(_ request: HTTPRequest) -> HTTPResponse? {
        guard request.body.count > documentBytesMax else { return nil }
        return .problem(
            413, "Content Too Large",
            detail: "\(request.body.count) bytes: this route reads \(documentBytesMax) at most")
    }

    /// Reads a body of one object, hands over the event that `make` makes of it, and goes on with
    /// `then` after its commit.
    func read(
        _ request: HTTPRequest, _ answer: @escaping Answer,
        _ make: (JSONTree) throws(BodyFault) -> Event,
        then: @escaping @Sendable (Receipt) -> Void
    ) {
        if let refusal = Self.bulk(request) { return answer(refusal, InputStats()) }
        let event: Event
        do {
            event = try make(try JSONTree(reading: request.body))
        } catch let error as JSONError {
            return answer(Self.notJSON(error), InputStats())
        } catch let error as BodyFault {
            var input = InputStats()
            if error.isPlace { input.addProblem(.coordinate) }
            return answer(Self.unprocessable(error.detail), input)
        } catch {
            return answer(Self.unprocessable("not understood"), InputStats())
        }
        write(event, request, answer, then: then)
    }

    /// Returns the answer to a body that is no JSON.
    static func notJSON(_ error: JSONError) -> HTTPResponse {
        .problem(
            400, "Bad Request", detail: "not JSON: \(error.message) at byte \(error.offset)")
    }

    /// Hands over an event and goes on with `then` after its commit. With a `source` it has to do
    /// with that source's share of what waits.
    func write(
        _ event: Event, _ request: HTTPRequest, _ answer: @escaping Answer,
        by source: [UInt8]? = nil, then: @escaping @Sendable (Receipt) -> Void
    ) {
        let place: Admission.Place
        do throws(Admission.Refusal) {
            place = try admission.reserve(
                source ?? holder(request), bytes: request.body.count, isShared: source != nil)
        } catch {
            return answer(Self.refusal(error), InputStats())
        }
        writer.write(event) { [admission] outcome in
            admission.release(place)
            switch outcome {
            case .committed(let receipt): then(receipt)
            case .unavailable(let reason): answer(Self.unavailable(reason), InputStats())
            }
        }
    }
}
