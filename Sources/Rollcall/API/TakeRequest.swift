import RollcallCore
import RollcallSupport

/// The word that somebody sees to an incident, as they give it with `POST /v1/incidents/{key}/take`.
/// Source: R2.
struct TakeRequest {
    static let fields = ["by", "note", "until", "duration"]

    let take: Take

    /// Reads a body at `now`, about an incident. Throws `RequestFault` if it is no object, or a field of
    /// it is wrong, or nobody knows who takes it: neither they say it, nor their `token` does.
    init(
        _ body: JSONTree, _ incident: Int64, token: [UInt8], now: Timestamp
    ) throws(RequestFault) {
        guard case .object = body else {
            throw RequestFault(pointer: "", detail: "an object expected")
        }
        let by = try RequestFault.textIfGiven(body["by"], "/by", SilenceRequest.authorMax) ?? token
        if by.isEmpty { throw RequestFault(pointer: "/by", detail: "must say who takes it") }
        take = Take(
            incident: incident, by: by, token: token, note: try RequestFault.note(body),
            until: try Self.end(body, now))
    }

    private static func end(_ body: JSONTree, _ now: Timestamp) throws(RequestFault) -> Timestamp {
        let longest = SettingText.of(Take.longest)
        let until = body["until"] == .null ? nil : body["until"]
        if let duration = body["duration"], duration != .null {
            guard until == nil else {
                throw RequestFault(pointer: "/duration", detail: "and until must not both be given")
            }
            guard let span = duration.text.flatMap({ SettingText.duration($0) }),
                (Milliseconds(1)...Take.longest).contains(span)
            else {
                throw RequestFault(
                    pointer: "/duration",
                    detail: "a span such as 30m or 2h expected, at most \(longest)")
            }
            return now + span
        }
        guard let until else { return now + Take.usual }
        // The clock of whoever asks may be ahead; it ends in time all the same.
        let most = Milliseconds(Take.longest.count + SilenceRequest.skewMax.count)
        guard let at = until.instant, at - now <= most else {
            throw RequestFault(
                pointer: "/until", detail: "RFC 3339 expected, at most \(longest) from now")
        }
        if at <= now { throw RequestFault(pointer: "/until", detail: "has passed already") }
        return at
    }
}
