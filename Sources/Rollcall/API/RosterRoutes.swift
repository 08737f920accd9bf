import RollcallBasis
import RollcallCore
import RollcallStore
import RollcallSupport

/// Whole rosters, and erasures. Source: I11.
extension Router {
    /// The time within which an erased person is out of the store, as promised.
    static let erasedWithin = Milliseconds.seconds(600)

    // MARK: - Rosters

    /// Replaces the roster, whole or in parts: who is not in it is retired.
    func putRoster(_ query: RosterQuery, _ request: HTTPRequest, _ answer: @escaping Answer) {
        if query.isCheck { return checkRoster(query.terms.id, answer) }
        write(.rosterEntry, request, answer, isWhole: true) {
            .roster($0.items, source: $1, query.terms)
        }
    }

    /// Answers what a roster in parts would do if it ended now; nothing of the body is read.
    private func checkRoster(_ id: [UInt8], _ answer: @escaping Answer) {
        writer.ask { view in
            do throws(RosterFault) {
                let (active, retiring) = try view.engine.outlook(ofRoster: id)
                let tree: JSONTree = [
                    "active": .integer(Int64(active)), "retiring": .integer(Int64(retiring)),
                ]
                answer(.json(AlertJSON.bytes(tree)), InputStats())
            } catch {
                answer(Self.refusal(error), InputStats())
            }
        }
    }

    static let rosterParameters = Parameters(
        RosterQuery(),
        [
            Parameter(
                "roster", "The id of a roster that comes in parts.", OpenAPI.schema("Name")
            ) { (query, value) throws(ParameterError) in
                query.terms.id = Array(value.utf8)
                guard isName(query.terms.id) else {
                    throw ParameterError(
                        detail: "roster: 1 to \(ItemScanner.nameBytesMax) bytes expected")
                }
            },
            Parameter(
                "more", "Another part follows; needs `roster`.",
                ["type": "boolean", "default": false]
            ) { (query, value) throws(ParameterError) in
                guard value == "true" || value == "false" else {
                    throw ParameterError(detail: "more: true or false expected")
                }
                // Said once, it holds: a roster that is taken for whole retires people.
                if value == "true" { query.terms.hasMore = true }
            },
            Parameter(
                "shrink", "Takes a roster also if it retires most people.",
                ["type": "string", "enum": ["allow"]]
            ) { (query, value) throws(ParameterError) in
                guard value == "allow" else {
                    throw ParameterError(detail: "shrink: allow expected")
                }
                query.terms.allowsShrink = true
            },
            .flag(
                "check",
                """
                Takes nothing, and says how many people the roster in parts would retire if it ended \
                now, of how many active; needs `roster`. A gateway asks so before it ends one.
                """, standard: false, into: \.isCheck),
        ]
    ) { (query, _) throws(ParameterError) in
        if query.terms.hasMore, query.terms.id.isEmpty {
            throw ParameterError(detail: "more: a part needs the roster's id in roster=")
        }
        if query.isCheck, query.terms.id.isEmpty || query.terms.hasMore {
            throw ParameterError(
                detail: "check: goes with the roster's id in roster=, without more")
        }
    }

    /// Returns the answer to a roster that was not taken.
    static func refusal(_ fault: RosterFault) -> HTTPResponse {
        switch fault {
        case .shrinks(let active, let retiring):
            .problem(
                409, "Conflict",
                detail: "this roster would retire \(retiring) of \(active) active people; if it is "
                    + "meant, send it again with shrink=allow")
        case .ended:
            .problem(
                409, "Conflict",
                detail: "this roster is complete, or was given up because a part was missing for "
                    + "10 minutes: send it from its first part under another id")
        }
    }

    // MARK: - Erasures

    /// Takes a person out of memory at once, and out of the store soon.
    ///
    /// Whether anybody had the id is not told: who asks twice, or for a stranger, gets the same.
    func erase(_ id: [UInt8], _ request: HTTPRequest, _ answer: @escaping Answer) {
        guard let source = source(request) else {
            return answer(Self.badSource, InputStats())
        }
        let place: Admission.Place
        do throws(Admission.Refusal) {
            place = try admission.reserve(source, bytes: id.count, isShared: false)
        } catch {
            return answer(Self.refusal(error), InputStats())
        }
        erasedIDs.note(id)
        writer.write(.erase(.id(id), source: source)) { [admission] outcome in
            admission.release(place)
            switch outcome {
            case .committed(let receipt):
                let number = receipt.erasure ?? 0
                var body: [UInt8] = []
                JSONWriter.raw("{\"erasure\":", to: &body)
                JSONWriter.integer(number, to: &body)
                JSONWriter.raw("}\n", to: &body)
                answer(
                    HTTPResponse(
                        status: 202,
                        headers: [
                            ("Content-Type", "application/json"),
                            ("Location", Resource.erasure.path("\(number)")),
                        ], body: body), InputStats())
            case .unavailable(let reason): answer(Self.unavailable(reason), InputStats())
            }
        }
    }

    /// The texts that an erasure does not look into.
    static let keptByErasures = Array(
        "names and words of who silences, takes and asks".utf8)

    /// Answers with how far an erasure is.
    func showErasure(_ number: Int64, _ answer: @escaping Answer) {
        writer.ask { view in
            guard let erasure = view.erasures[number] else {
                return answer(
                    .problem(404, "Not Found", detail: "there is no such erasure"), InputStats())
            }
            var body: [UInt8] = []
            JSONWriter.raw("{\"erasure\":", to: &body)
            JSONWriter.integer(number, to: &body)
            let pending = view.erasuresPending.first { $0.number == number }
            let isRunning = erasure.finishedAt == nil || pending != nil
            ResponderJSON.word("state", isRunning ? "running" : "done", to: &body)
            ResponderJSON.time("requested_at", erasure.requestedAt, to: &body)
            ResponderJSON.time("due_at", erasure.requestedAt + Self.erasedWithin, to: &body)
            let finishedAt = isRunning ? nil : erasure.finishedAt
            ResponderJSON.time("finished_at", finishedAt ?? .distantPast, to: &body)
            JSONWriter.raw(",\"rows\":", to: &body)
            JSONWriter.integer(erasure.rows, to: &body)
            JSONWriter.raw(",\"decisions\":", to: &body)
            JSONWriter.integer(erasure.decisions, to: &body)
            // What people wrote is theirs: nobody can tell whom a text means.
            JSONWriter.raw(",\"kept\":[", to: &body)
            JSONWriter.string(Self.keptByErasures, to: &body)
            JSONWriter.raw("]", to: &body)
            if view.cluster != nil { Self.append(pending, to: &body) }
            JSONWriter.raw("}\n", to: &body)
            answer(.json(body), InputStats())
        }
    }

    /// Appends where else in a watch on several machines something of the person may be (S13).
    private static func append(_ pending: PendingErasure?, to body: inout [UInt8]) {
        let missing = pending?.missing ?? []
        let tree: JSONTree = [
            "missing": .list(missing.map { .text(String(decoding: $0, as: UTF8.self)) }),
            "in_log": .boolean(pending?.isInLog ?? false),
        ]
        JSONWriter.raw(",\"cluster\":", to: &body)
        tree.append(to: &body)
    }
}

/// A roster that is sent, or asked about.
struct RosterQuery: Sendable {
    var terms = RosterTerms()
    /// True if nothing is to be taken.
    var isCheck = false
}
