import RollcallCore
import RollcallSupport

/// The routes that bring something. Source: I7.
extension Router {
    /// Seconds between heartbeats that may be promised (F6).
    static var everySeconds: ClosedRange<Int> { 1...3600 }

    /// Reads a body of items and answers each after its commit.
    func postItems(
        _ kind: ItemKind, _ request: HTTPRequest, _ answer: @escaping Answer
    ) {
        write(kind, request, answer) { .items($0.items, source: $1) }
    }

    /// Reads a body of items, hands it over as `event` makes it, and answers after its commit.
    ///
    /// One that `isWhole` is refused for one rejected item, and changes nothing: whoever is not in a
    /// roster is retired, also a person whose item cannot be read (I11, I12).
    func write(
        _ kind: ItemKind, _ request: HTTPRequest, _ answer: @escaping Answer,
        isWhole: Bool = false,
        as event: (ScanResult, _ source: [UInt8]) -> Event
    ) {
        guard let source = source(request) else {
            return answer(Self.badSource, InputStats())
        }
        let place: Admission.Place
        do throws(Admission.Refusal) {
            place = try admission.reserve(source, bytes: request.body.count)
        } catch {
            return answer(Self.refusal(error), InputStats())
        }
        let you = Self.standingForm(request)
        var scan: ScanResult
        do throws(ScanError) {
            scan = try ItemScanner.scan(
                request.body.span, kind: kind, format: Self.format(request.contentType) ?? .json,
                limits: Self.limits(limits.current, you), isStrict: Self.isStrict(request))
        } catch {
            admission.release(place)
            return answer(Self.refusal(error, you), InputStats())
        }
        if let refusal = refusalElsewhere(scan) {
            admission.release(place)
            return answer(refusal, InputStats())
        }
        if isWhole, scan.rejectedCount > 0 {
            admission.release(place)
            var input = InputStats()
            input.add(scan)
            return answer(
                Self.verdict(
                    scan, Receipt(),
                    refusal: Self.notWhole),
                input)
        }
        let key: RequestKey?
        do throws(IdempotencyKey.Fault) {
            // What was read, not what was sent: `sent_at` is another each time.
            key =
                kind == .transition
                ? try self.key(.report, of: request, body: scan.items.bytes) : nil
        } catch {
            admission.release(place)
            return answer(Self.badKey, InputStats())
        }
        let sending = RequestSending(request, body: scan.sentAt)
        note(sending, of: source, receivedAt: scan.receivedAt)
        var input = InputStats()
        if scan.sentAt == .untold {
            if let problem = sending.problem { scan.note(problem) }
            if case .at(_, let form) = sending.said { input.addTime(form) }
        }
        input.add(scan)
        writer.write(event(scan, source), once: key, asksStandings: you != nil) {
            [self, input, scan] outcome in
            admission.release(place)
            switch outcome {
            case .committed(let receipt): committed(receipt, scan, you, input, answer)
            case .unavailable(let reason):
                answer(Self.unavailable(reason), InputStats())
            }
        }
    }

    /// The reason why nothing of a roster is taken.
    static var notWhole: String {
        "an item was rejected, and a roster is taken whole or not at all"
    }

    /// Answers a body whose items are committed, or were before, as a repeat of it says (S19).
    private func committed(
        _ receipt: Receipt, _ scan: ScanResult, _ you: StandingJSON.Form?, _ input: InputStats,
        _ answer: @escaping Answer
    ) {
        guard let answer = replaying(receipt, answer) else { return }
        var input = input
        input.add(receipt)
        guard receipt.repeated != nil else {
            return answer(Self.verdict(scan, receipt, you), input)
        }
        // Of a repeat all that could be read is there already.
        var receipt = receipt
        receipt.duplicates = scan.items.count
        answer(Self.verdict(scan, receipt, you), input)
    }

    /// True if an unknown field is to refuse its item (P3).
    static func isStrict(_ request: HTTPRequest) -> Bool {
        request.query.contains { $0.name == "strict" && $0.value == "true" }
    }

    /// The fields that a heartbeat's body may have.
    private static var heartbeatFields: [String] { ["source", "every_seconds", "sent_at"] }

    /// Arms or disarms a source's dead-man's switch (B2).
    func postHeartbeat(
        _ request: HTTPRequest, _ answer: @escaping Answer
    ) {
        let known = request.method == "POST" ? Self.heartbeatFields : []
        guard let answer = noting(known, request, answer) else { return }
        guard let asked = source(request) else {
            return answer(Self.badSource, InputStats())
        }
        var source = asked
        var every = Milliseconds(0)
        var sending: RequestSending?
        if request.method == "POST" {
            if let refusal = Self.bulk(request) { return answer(refusal, InputStats()) }
            let body: ReplayBody
            do throws(JSONError) {
                body = try ReplayBody(request.body.span, 0..<request.body.count)
            } catch {
                let isJSON = (try? JSONTree(reading: request.body)) != nil
                return answer(isJSON ? Self.noBeat : Self.notJSON(error), InputStats())
            }
            guard let seconds = body.everySeconds, Self.holds(seconds) else {
                return answer(
                    .problem(
                        422, "Unprocessable Content",
                        detail: "/every_seconds: a number from \(Self.everySeconds.lowerBound) to "
                            + "\(Self.everySeconds.upperBound) expected"),
                    InputStats())
            }
            every = Milliseconds(Int64((seconds * 1000).rounded()))
            source = body.source ?? asked
            guard Self.isName(source) else { return answer(Self.badSource, InputStats()) }
            let said = RequestSending(request, body: body.sentAt)
            note(said, of: source)
            sending = said
        }
        let place: Admission.Place
        do throws(Admission.Refusal) {
            place = try admission.reserve(source, bytes: request.body.count, isShared: false)
        } catch {
            return answer(Self.refusal(error), InputStats())
        }
        let holder = holder(request)
        let isForeign = source != holder && !opens(.admin, request)
        writer.write(.heartbeat(source: source, every: every)) {
            [admission, sending, writer, source, every] outcome in
            admission.release(place)
            switch outcome {
            case .committed(let receipt) where receipt.accepted == 1:
                var problems = [sending?.problem].compactMap(\.self)
                if isForeign, let promised = receipt.promised, promised < every {
                    problems.append(Self.stretched(promised))
                    Self.warn(of: source, holder, from: promised, to: every, writer)
                }
                var body: [UInt8] = []
                JSONWriter.raw("{\"accepted\":1", to: &body)
                if !problems.isEmpty {
                    JSONWriter.raw(",\"problems\":", to: &body)
                    Self.append(problems, to: &body)
                }
                JSONWriter.raw("}\n", to: &body)
                answer(.json(body), sending?.stats ?? InputStats())
            case .committed:
                answer(
                    .problem(
                        409, "Conflict",
                        detail: "\(Feed.sourcesMax) sources are declared already: delete one"),
                    InputStats())
            case .unavailable(let reason): answer(Self.unavailable(reason), InputStats())
            }
        }
    }

    /// The word to somebody who stretched another's promise: whose token it is not may not disarm it,
    /// and 2.5 hours are nearly that.
    private static func stretched(_ promised: Milliseconds) -> ItemNote {
        let before = SettingText.of(promised, between: " ")
        return ItemNote(
            index: 0, pointer: "/every_seconds", fault: .outOfRange,
            detail: "it holds, but \(before) were promised before, and this token is not the "
                + "source's own")
    }

    private static func warn(
        of source: [UInt8], _ token: [UInt8], from before: Milliseconds, to every: Milliseconds,
        _ writer: StateWriter
    ) {
        writer.log.warning(
            "another's token stretched the promise of a source: its dead-man's switch waits longer",
            metadata: [
                "source": "\(String(decoding: source, as: UTF8.self))",
                "token": "\(String(decoding: token, as: UTF8.self))",
                "before": "\(SettingText.of(before))", "every": "\(SettingText.of(every))",
            ])
    }

    /// The answer to a heartbeat that is JSON and no object.
    private static var noBeat: HTTPResponse {
        unprocessable("an object expected, such as {\"every_seconds\": 10}")
    }

    private static func holds(_ seconds: Double) -> Bool {
        (Double(everySeconds.lowerBound)...Double(everySeconds.upperBound)).contains(seconds)
    }

    // MARK: - Answers

    static func refusal(
        _ error: ScanError, _ you: StandingJSON.Form?
    ) -> HTTPResponse {
        switch error {
        case .notJSON(let error): return notJSON(error)
        case .tooManyItems(let limit):
            let asked = you != nil && limit == PersonalStanding.itemsMax ? " with tell=true" : ""
            return .problem(
                413, "Content Too Large",
                detail: "more than \(limit) items\(asked): send them in parts")
        }
    }

    static func refusal(_ refusal: Admission.Refusal) -> HTTPResponse {
        switch refusal {
        case .overloaded: unavailable("too much is waiting")
        case .share:
            .problem(
                429, "Too Many Requests",
                detail: "too much of this source is waiting while others wait too; send it again",
                headers: [("Retry-After", "1")])
        }
    }

    /// Refuses by its head what there is no room for: its body need not be read.
    func refusalAtCapacity(_ request: HTTPRequest) -> HTTPResponse? {
        guard let source = source(request) else { return nil }
        do throws(Admission.Refusal) {
            try admission.check(source)
            return nil
        } catch {
            return Self.refusal(error)
        }
    }

    /// Not known to be done: to be sent again.
    static func unavailable(_ reason: String) -> HTTPResponse {
        .problem(
            503, "Service Unavailable", detail: "\(reason); send it again",
            headers: [("Retry-After", "1")])
    }

    static var badSource: HTTPResponse {
        .problem(
            422, "Unprocessable Content",
            detail: "source: 1 to \(ItemScanner.nameBytesMax) bytes without control characters")
    }

    // MARK: - Sources

    /// Returns the source of a write: `?source=NAME`, else whose token it came with, else `default`
    /// (F10); nil if it is no name.
    func source(_ request: HTTPRequest) -> [UInt8]? {
        guard let named = request.query.first(where: { $0.name == "source" }) else {
            return holder(request)
        }
        let name = Array(named.value.utf8)
        return Self.isName(name) ? name : nil
    }

    static func isName(_ name: [UInt8]) -> Bool {
        (1...ItemScanner.nameBytesMax).contains(name.count)
            && !name.contains { $0 < 0x20 || $0 == 0x7F }
    }
}
