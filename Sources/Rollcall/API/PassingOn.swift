import RollcallBasis
import RollcallCore
import RollcallSupport

/// Writes at a member that does not lead: they are passed on to the one that does, one hop. Source:
/// S15.
extension Router {
    /// The fields of the leader's answer that go to the client, beside the type of its body.
    static let fieldsKept = [
        positionField, leaderField, IdempotencyKey.replayedField, "Retry-After", "Location",
        "Allow", cellMapField, "Accept", "Accept-Encoding", "WWW-Authenticate",
    ]

    /// Those of an answer to a browser, beside them.
    static let pageFieldsKept = [
        "Content-Encoding", "Content-Security-Policy", "Vary", "Cache-Control", "Referrer-Policy",
        "Cross-Origin-Opener-Policy", "Cross-Origin-Resource-Policy",
    ]

    /// Of the fields of a request to an input, which may name a phone in any of them (M3): those that
    /// are for this hop alone, that this member has judged, or that go on anyway.
    private static let fieldsOfHop: Set<String> = [
        "accept", "accept-encoding", "connection", "content-encoding", "content-length",
        "content-type", "expect", "host", "idempotency-key", "keep-alive", "origin",
        "rollcall-passed-on", "rollcall-sent-at", "sec-fetch-site", "te", "trailer",
        "transfer-encoding", "upgrade", "via",
    ]

    /// Passes a write on if another member leads, as far as is known here; false if it is to be
    /// answered here.
    ///
    /// The client's own token goes to the leader, which authorises the request itself: it reaches
    /// nobody but whom the members' token goes to already, the address that a member noted in the log.
    func passOn(
        _ route: Route, _ request: HTTPRequest, _ answer: @escaping Answer
    ) -> Bool {
        // What asks by HEAD would arrive as a GET, and writes nothing.
        guard let board = writer.board, route.isPassedOn, request.passedOn == nil, !request.isHead,
            !writer.isTakingWrites
        else { return false }
        let standing = board.standing
        guard standing.role == .following, standing.leader != board.member,
            let address = standing.leaderAddress,
            let method = HTTPCall.Method(rawValue: request.method)
        else { return false }
        let arrival = ClockReading.now().elapsed
        var call = HTTPCall(method, address + Self.target(of: request))
        call.body = request.body
        call.fieldsKept = Self.fieldsKept
        // libcurl repeats by itself what a kept connection may have carried already.
        call.mayBeSentTwice = route.isRepeatable || request.idempotencyKey != nil
        call.headers = Self.passedFields(of: request)
        leaders.call(call, arrival: arrival) { outcome, response in
            board.passedOn(outcome)
            answer(Self.response(outcome, response, standing.leader), InputStats())
        }
        return true
    }

    /// Returns the path and the query as they go on: the path was never decoded, and what no path may have
    /// is escaped, since a `#` would end it there.
    static func target(of request: HTTPRequest) -> String {
        let query = request.query.map { "\(encoded($0.name))=\(encoded($0.value))" }
        let path = encoded(request.path, except: "%/:@!$&'()*+,;=")
        return query.isEmpty ? path : "\(path)?\(query.joined(separator: "&"))"
    }

    /// Percent-encodes all but what RFC 3986 §2.3 calls unreserved, and some others.
    static func encoded(_ text: String, except others: String = "") -> String {
        var bytes: [UInt8] = []
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"):
                bytes.append(byte)
            default:
                if "-._~".utf8.contains(byte) || others.utf8.contains(byte) {
                    bytes.append(byte)
                } else {
                    let digits = Array("0123456789ABCDEF".utf8)
                    bytes += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
                }
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Returns the fields that the leader has to see as the client sent them. What stands for this hop
    /// alone stays here, as does the coding of a body that was expanded.
    static func passedFields(of request: HTTPRequest) -> [(name: String, value: String)] {
        let given: [(String, String?)] = [
            ("Authorization", request.authorization), ("Accept", request.accept),
            (RequestSending.field, request.sentAt), (IdempotencyKey.field, request.idempotencyKey),
            ("Cookie", SessionCookie.ours(in: request)),
            // Of a body that was not expanded here.
            ("Content-Encoding", request.body.isEmpty ? nil : request.contentEncoding),
        ]
        // libcurl would say that a body without a type is a form's.
        let type = (name: "Content-Type", value: request.contentType ?? "")
        return [type] + given.compactMap { name, value in value.map { (name: name, value: $0) } }
            + request.fields.filter { !fieldsOfHop.contains($0.name.lowercased()) }
    }

    private static func response(
        _ outcome: PassedOnStats.Outcome, _ answer: HTTPCallAnswer?, _ leader: [UInt8]
    ) -> HTTPResponse {
        let name = NotificationWords.text(leader)
        guard let answer, (200...599).contains(answer.status) else {
            switch outcome {
            case .unreached: return unavailable("member \(name) leads, and cannot be reached")
            case .full: return unavailable("too much is on its way to member \(name), which leads")
            case .answered, .unknown:
                return unavailable(
                    "member \(name) leads, and its answer did not come: not known to be done")
            }
        }
        let type = answer.contentType.map { [("Content-Type", $0)] } ?? []
        return HTTPResponse(
            status: answer.status, headers: type + answer.fields.map { ($0.name, $0.value) },
            body: answer.body)
    }
}

extension Route {
    /// True of a write that the leader answers for the watch. The settings are each member's own file,
    /// what a member is asked to do it does itself, and phones may write by GET (M3).
    var isPassedOn: Bool {
        switch resource {
        case .reload, .session, .clusterDrain, .clusterJoin, .clusterAdopt: false
        case .input, .inputBelow: true
        default: method != .get
        }
    }

    /// True of what does nothing more when it comes twice, with or without a name of its own.
    var isRepeatable: Bool {
        switch resource {
        case .batches, .responders, .responder, .heartbeat, .input, .inputBelow, .cells: true
        default: false
        }
    }
}

extension HTTPRequest {
    /// A request that another member had for longer is not believed: that one has given it up.
    private static let heardAgoMax = LeaderCaller.patience

    /// For how long the member that passed it on had it; nothing of one that comes from a client.
    var heardAgo: Milliseconds {
        guard let count = passedOn.flatMap({ Int64($0) }), count > 0 else { return Milliseconds(0) }
        return min(Milliseconds(count), Self.heardAgoMax)
    }
}
