import RollcallBasis
import RollcallCore
import RollcallSupport

/// The routes of silences: mutes of notifications, never of states. Source: A7, A11.
extension Router {
    /// Answers `POST /v1/silences`.
    func postSilence(_ request: HTTPRequest, _ answer: @escaping Answer) {
        guard let answer = noting(SilenceRequest.fields, request, answer) else { return }
        read(request, answer) { (body) throws(RequestFault) in
            .silence(.begin(try SilenceRequest(body, now: ClockReading.now().wall).silence))
        } then: { receipt, answer in
            if let number = receipt.repeated?.first {
                return self.showSilence(number, warns: true, answer)
            }
            switch (receipt.silence, receipt.silenceFault) {
            case (let number?, _): return self.showSilence(number, warns: true, answer)
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
        let action = action(.silenceEnd, request)
        write(.silence(.end(number)), request, answer, once: .action, as: action) {
            receipt, answer in
            guard receipt.silence == nil, receipt.repeated == nil else {
                return self.showSilence(number, answer)
            }
            self.writer.ask { view in
                let past = view.engine.alerting.notifications.pastSilences
                    .first { $0.number == number }
                answer(past.map(Self.isOver) ?? Self.noSilence, InputStats())
            }
        }
    }

    private static func isOver(_ silence: Silence) -> HTTPResponse {
        .problem(
            404, "Not Found",
            detail: "silence \(silence.number) is over since \(RFC3339.string(silence.endsAt))")
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
        case .cell: "\(key.name.word){cell=\"\(name)\"}"
        case .suspected: "\(key.name.word){suspected=\"true\"}"
        }
    }

    private static var noSilence: HTTPResponse {
        .problem(404, "Not Found", detail: "no silence has this id, or it was over a day ago")
    }

    // MARK: - Writes of admins

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
    /// `then` after its commit. It is done once under the name that the request may have.
    func read(
        _ request: HTTPRequest, _ answer: @escaping Answer,
        _ make: (JSONTree) throws(RequestFault) -> Event,
        then: @escaping Then
    ) {
        guard let event = document(request, answer, make) else { return }
        write(event, request, answer, once: .action, as: action(event, request), then: then)
    }

    /// Says who asks for the event of an operator; nil of others.
    private func action(_ event: Event, _ request: HTTPRequest) -> ActionReport? {
        switch event {
        case .silence(.begin(let silence)):
            var report = action(.silence, request, author: silence.author)
            report.comment = silence.comment
            return report
        case .take(.begin(let take)):
            var report = action(.take, request, author: take.by)
            (report.comment, report.until) = (take.note, take.until)
            return report
        case .drill(let receiver):
            var report = action(.drill, request)
            report.subject = receiver
            return report
        default: return nil
        }
    }

    /// Returns the answer to a body that is no JSON.
    static func notJSON(_ error: JSONError) -> HTTPResponse {
        .problem(
            400, "Bad Request", detail: "not JSON: \(error.message) at byte \(error.offset)")
    }

    /// Goes on with what came of a write, and a way to answer that tells of a repeat.
    typealias Then = @Sendable (Receipt, @escaping Answer) -> Void

    /// Hands over an event and goes on with `then` after its commit. With a `source` it has to do
    /// with that source's share of what waits; with a `kind` of names it is done once under the name
    /// that the request may have (S19); `action` says who does it.
    func write(
        _ event: Event, _ request: HTTPRequest, _ answer: @escaping Answer,
        by source: [UInt8]? = nil, once kind: RequestKey.Kind? = nil,
        as action: ActionReport? = nil, then: @escaping Then
    ) {
        let key: RequestKey?
        do throws(IdempotencyKey.Fault) {
            key = try kind.flatMap { (kind) throws(IdempotencyKey.Fault) in
                try self.key(kind, of: request)
            }
        } catch {
            return answer(Self.badKey, InputStats())
        }
        let place: Admission.Place
        do throws(Admission.Refusal) {
            place = try admission.reserve(
                source ?? holder(request), bytes: request.body.count, isShared: source != nil)
        } catch {
            return answer(Self.refusal(error), InputStats())
        }
        writer.write(event, once: key, by: action) { [admission] outcome in
            admission.release(place)
            switch outcome {
            case .committed(let receipt):
                if let answer = self.replaying(receipt, answer) { then(receipt, answer) }
            case .unavailable(let reason): answer(Self.unavailable(reason), InputStats())
            }
        }
    }
}
