import Foundation

/// A `Verdict` holds what Rollcall answered to a body of items.
struct Verdict: Decodable, Sendable {
    /// Something about one item, or one field of it.
    struct Note: Decodable, Sendable {
        let index: Int?
        let pointer: String
        let detail: String
    }

    let accepted: Int
    let duplicates: Int
    let rejected: [Note]
    let problems: [Note]?

    /// The verdict on all of `count` items. Another server's 200 is none: nil.
    init?(_ answer: HTTPTransport.Answer, count: Int) {
        guard answer.status == 200 || answer.status == 422,
            let verdict = try? JSONDecoder().decode(Verdict.self, from: answer.body),
            verdict.accepted >= 0, verdict.duplicates >= 0,
            verdict.accepted <= count, verdict.duplicates <= count,
            verdict.accepted + verdict.duplicates + verdict.rejected.count == count
        else { return nil }
        self = verdict
    }
}

/// A `Remark` holds what stands in Rollcall's other answers.
struct Remark: Decodable {
    let detail: String?
    let problems: [Verdict.Note]?

    /// Reads as much as there is.
    static func of(_ answer: HTTPTransport.Answer) -> Remark? {
        try? JSONDecoder().decode(Remark.self, from: answer.body)
    }

    /// The status and its reason, in words.
    static func text(_ answer: HTTPTransport.Answer) -> String {
        of(answer)?.detail.map { "\(answer.status) \($0)" } ?? "\(answer.status)"
    }
}
