import Foundation

/// A `Verdict` holds what Rollcall answered to a body of items.
struct Verdict: Decodable, Sendable {
    /// Something about one item, or one field of it.
    struct Note: Decodable, Sendable {
        let index: Int?
        let pointer: String
        let detail: String
    }

    /// Items that a cell did not take, by their places in the body.
    struct Missing: Decodable, Sendable {
        let cell: String
        let items: [Int]
    }

    let accepted: Int
    let duplicates: Int
    let rejected: [Note]
    let problems: [Note]?
    private let unavailable: [Missing]?

    /// The verdict on all of `count` items. Another server's 200 is none: nil. A 503 is one if it says
    /// which items a cell did not take.
    init?(_ answer: HTTPTransport.Answer, count: Int) {
        guard [200, 422, 503].contains(answer.status),
            let verdict = try? JSONDecoder().decode(Verdict.self, from: answer.body),
            (0...count).contains(verdict.accepted), (0...count).contains(verdict.duplicates),
            verdict.away.keys.allSatisfy({ (0..<count).contains($0) }),
            answer.status != 503 || !verdict.away.isEmpty
        else { return nil }
        let unnamed = verdict.unnamed(of: count)
        guard unnamed == 0 || unnamed > 0 && verdict.rejected.count >= notesMax else { return nil }
        self = verdict
    }

    /// The cell that did not take it, for each place of such an item.
    var away: [Int: String] {
        (unavailable ?? []).reduce(into: [:]) { away, part in
            for place in part.items { away[place] = part.cell }
        }
    }

    /// Rejected items that are not named: Rollcall names some only.
    func unnamed(of count: Int) -> Int {
        count - accepted - duplicates - rejected.count - away.count
    }
}

/// Of the rejected items so many are named at most.
private let notesMax = 100

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
