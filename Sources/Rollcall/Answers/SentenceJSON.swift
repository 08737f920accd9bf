import RollcallSupport

extension Sentence {
    /// As `GET /v1/status` tells it.
    var tree: JSONTree {
        [
            "level": .text(level.rawValue), "headline": .text(headline),
            "rest": .text(rest), "detail": .text(detail),
            "since": since.map { AlertJSON.time($0) } ?? nil,
            "incident": key.map { .text($0) } ?? nil,
        ]
    }

    /// The numbers of who can be reached, beside it.
    var reachable: JSONTree {
        [
            "yes": .integer(Int64(share.reachable)), "of": .integer(Int64(share.expected)),
            "at_most": .boolean(share.isAtMost),
        ]
    }
}
