import RollcallCore

/// What somebody asks for with `POST /v1/silences`. Source: design §6 A7.
struct SilenceRequest {
    /// Bytes of an author at most.
    static let authorMax = ItemScanner.nameBytesMax
    /// Bytes of a comment at most.
    static let commentMax = 1024
    /// A silence ends within so much time.
    static let spanMax = ConfigurationTree.durationMax
    /// So much later than we another clock may be.
    static let skewMax = Milliseconds.seconds(60)

    /// Why it is not taken.
    struct Fault: Error, Equatable {
        let pointer: String
        let detail: String

        var text: String { "\(pointer): \(detail)" }
    }

    let silence: Silence

    /// Reads a body at `now`. What Alertmanager calls otherwise (`endsAt`, `createdBy`) is taken
    /// too.
    init(_ body: JSONTree, now: Timestamp) throws(Fault) {
        guard case .object = body else { throw Fault(pointer: "", detail: "an object expected") }
        if let id = body["id"], id != "" {
            throw Fault(
                pointer: "/id", detail: "a silence cannot be changed: end it and begin another")
        }
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
        silence = Silence(
            matchers: matchers, endsAt: try Self.end(body, now),
            author: try Self.text(
                body["author"] ?? body["createdBy"], "/author", Self.authorMax),
            comment: try Self.text(body["comment"], "/comment", Self.commentMax))
    }

    private static func end(_ body: JSONTree, _ now: Timestamp) throws(Fault) -> Timestamp {
        let end = body["ends_at"] ?? body["endsAt"]
        let most = SettingText.of(spanMax)
        if let duration = body["duration"] {
            guard end == nil else {
                throw Fault(pointer: "/duration", detail: "and ends_at must not both be given")
            }
            guard
                let span = duration.text.flatMap({
                    SettingText.quantity($0, SettingText.durationUnits)
                }), (1...spanMax.count).contains(span)
            else {
                throw Fault(
                    pointer: "/duration",
                    detail: "a span such as 90m or 2h expected, at most \(most)")
            }
            return now + Milliseconds(span)
        }
        guard let end else {
            throw Fault(pointer: "/ends_at", detail: "or duration must be given")
        }
        guard let at = end.instant, at - now <= spanMax else {
            throw Fault(
                pointer: "/ends_at", detail: "RFC 3339 expected, at most \(most) from now")
        }
        if at <= now { throw Fault(pointer: "/ends_at", detail: "has passed already") }
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
        return Array(text.utf8)
    }

    // MARK: - Matchers

    private static func matchers(_ value: JSONTree?) throws(Fault) -> [LabelMatcher] {
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
        guard (1...MatcherText.countMax).contains(matchers.count) else {
            throw Fault(
                pointer: "/matchers",
                detail: "1 to \(MatcherText.countMax) expected, such as alertname=HighOfflineRate")
        }
        // As in Alertmanager: one that fits all alerts would be found out too late.
        guard matchers.contains(where: { !$0.fits([]) }) else {
            throw Fault(
                pointer: "/matchers", detail: "one must name a value that an alert must have")
        }
        return matchers
    }

    /// A text, or an object as Alertmanager has it.
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

/// The routes of silences: mutes of notifications, never of states. Source: design §6 A7, A11.
extension Router {
    /// Answers `POST /v1/silences`.
    func postSilence(_ request: HTTPRequest, _ answer: @escaping Answer) {
        read(request, answer) { (body) throws(BodyFault) in
            do throws(SilenceRequest.Fault) {
                let now = ClockReading.now().wall
                return .silence(.begin(try SilenceRequest(body, now: now).silence))
            } catch {
                throw BodyFault(detail: error.text)
            }
        } then: { receipt in
            switch (receipt.silence, receipt.silenceFault) {
            case (let number?, _): return showSilence(number, answer)
            case (nil, .tooMany):
                answer(
                    .problem(
                        409, "Conflict",
                        detail: "\(Silence.countMax) silences are in force already: end one"),
                    InputFigures())
            case (nil, _):
                answer(Self.unprocessable("/ends_at: has passed already"), InputFigures())
            }
        }
    }

    /// Answers `DELETE /v1/silences/{id}`: ends it now.
    func endSilence(_ number: Int64, _ request: HTTPRequest, _ answer: @escaping Answer) {
        write(.silence(.end(number)), request, answer) { receipt in
            guard receipt.silence != nil else { return answer(Self.noSilence, InputFigures()) }
            showSilence(number, answer)
        }
    }

    /// Answers `GET /v1/silences`.
    func listSilences(_ request: HTTPRequest, _ answer: @escaping Answer) {
        guard request.query.isEmpty else {
            return answer(.refusal(ParameterError(detail: "unknown parameter")), InputFigures())
        }
        keeper.ask { view in
            let desk = view.engine.desk
            let active = desk.silences.sorted { ($0.endsAt, $0.number) < ($1.endsAt, $1.number) }
            let over = desk.pastSilences.sorted { ($0.endsAt, $0.number) > ($1.endsAt, $1.number) }
            let silences =
                active.map { Self.silence($0, isActive: true, view.engine) }
                + over.map { Self.silence($0, isActive: false, view.engine) }
            let tree: JSONTree = [
                "as_of": AlertJSON.time(view.engine.watch.wallNow), "silences": .list(silences),
            ]
            answer(.json(AlertJSON.bytes(tree)), InputFigures())
        }
    }

    /// Answers `GET /v1/silences/{id}`, and what made or ended one.
    func showSilence(_ number: Int64, _ answer: @escaping Answer) {
        keeper.ask { view in
            let desk = view.engine.desk
            let active = desk.silences.first { $0.number == number }
            guard let silence = active ?? desk.pastSilences.first(where: { $0.number == number })
            else { return answer(Self.noSilence, InputFigures()) }
            let tree: JSONTree = [
                "silence": Self.silence(silence, isActive: active != nil, view.engine)
            ]
            answer(.json(AlertJSON.bytes(tree)), InputFigures())
        }
    }

    private static func silence(
        _ silence: Silence, isActive: Bool, _ engine: Engine
    ) -> JSONTree {
        let firing =
            isActive
            ? engine.alerts.all.filter { $0.alert.state == .firing }
                .filter { silence.matchers.fit($0.alert.labels) }
                .sorted { AlertKey.areInOrder($0.key, $1.key) } : []
        return [
            "id": .integer(silence.number), "state": isActive ? "active" : "over",
            "matchers": .list(silence.matchers.map { .text(MatcherText.text($0)) }),
            "starts_at": AlertJSON.time(silence.startsAt),
            "ends_at": AlertJSON.time(silence.endsAt), "author": AlertJSON.text(silence.author),
            "comment": AlertJSON.text(silence.comment),
            "muting": .list(firing.map { .text(title($0.key)) }),
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

    /// Why a body is not taken.
    struct BodyFault: Error {
        let detail: String
    }

    static func unprocessable(_ detail: String) -> HTTPResponse {
        .problem(422, "Unprocessable Content", detail: detail)
    }

    /// Reads a body of one object, hands over the event that `make` makes of it, and goes on with
    /// `then` after its commit.
    func read(
        _ request: HTTPRequest, _ answer: @escaping Answer,
        _ make: (JSONTree) throws(BodyFault) -> Event,
        then: @escaping @Sendable (Receipt) -> Void
    ) {
        let event: Event
        do {
            event = try make(try JSONTree(reading: request.body))
        } catch let error as JSONError {
            return answer(Self.notJSON(error), InputFigures())
        } catch let error as BodyFault {
            return answer(Self.unprocessable(error.detail), InputFigures())
        } catch {
            return answer(Self.unprocessable("not understood"), InputFigures())
        }
        write(event, request, answer, then: then)
    }

    /// What is answered to a body that is no JSON.
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
            place = try admission.enter(
                source ?? holder(request), bytes: request.body.count, isShared: source != nil)
        } catch {
            return answer(Self.refusal(error), InputFigures())
        }
        keeper.write(event) { [admission] outcome in
            admission.leave(place)
            switch outcome {
            case .committed(let receipt): then(receipt)
            case .unavailable(let reason): answer(Self.unavailable(reason), InputFigures())
            }
        }
    }
}
