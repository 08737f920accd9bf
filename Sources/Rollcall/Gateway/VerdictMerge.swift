import RollcallBasis
import RollcallCore
import RollcallSupport

/// The verdicts of several cells on their parts of a body, as one on the whole. Source: K5, I7.
struct VerdictMerge {
    /// Items that were not taken because a cell did not answer, or not as it should.
    private struct Unavailable {
        let cell: [UInt8]
        let why: String
        let items: [Int]
    }

    private var accepted: Int64 = 0
    private var duplicates: Int64 = 0
    private var updates: [Int64] = [0, 0, 0]
    private var retired: Int64?
    private var rejected: [(index: Int, note: JSONTree)] = []
    private var problems: [(index: Int, note: JSONTree)] = []
    private var you: [Int: JSONTree] = [:]
    private var asksStandings = false
    private var places = 0
    private var unavailable: [Unavailable] = []
    /// The refusals of parts that no cell takes as they are, such as of an unknown token.
    private var refusals: [HTTPCallAnswer] = []
    private var partCount = 0
    /// True of what is taken whole or not at all: a conflict of one is that of all.
    private let isWhole: Bool

    private static let counts = ["accepted", "duplicate", "late"]

    /// Verdicts on a body of which nothing is known yet.
    init(isWhole: Bool = false) { self.isWhole = isWhole }

    /// True if somebody refused a part as it is.
    var isRefused: Bool { !refusals.isEmpty }

    /// True once something of the body was not taken that might be later.
    var isPartial: Bool { !unavailable.isEmpty || !refusals.isEmpty }

    // MARK: - Adding

    /// Adds what a cell says of a part.
    mutating func add(_ part: BodyParts.Part, of cell: CellMap.Cell, _ outcome: CellOutcome) {
        partCount += 1
        places = max(places, (part.places.last ?? -1) + 1)
        switch outcome {
        case .unavailable(let why): note(part, cell, why)
        case .answered(let answer):
            let tree = try? JSONTree(reading: answer.body)
            if [200, 422].contains(answer.status), let tree, tree["accepted"]?.whole != nil {
                return add(part, tree)
            }
            let detail = tree?["detail"]?.text.map { ": \($0)" } ?? ""
            // What this gateway knows of whose they are is no fault of the client's.
            let isOwnFault = !Self.isVerdict(answer)
            if !isOwnFault { refusals.append(answer) }
            let isNone = isOwnFault && answer.status < 400
            note(
                part, cell,
                isNone ? "it answers, and not as it should" : "it answers \(answer.status)\(detail)"
            )
        }
    }

    /// True of an answer that says what became of items, or why they are not taken: another one is no fault of the
    /// client's, nor is what a gateway believes of whose they are, and a cell that is busy takes it later.
    static func isVerdict(_ answer: HTTPCallAnswer) -> Bool {
        guard ![408, 421, 429].contains(answer.status), Gateway.isDocument(answer) else {
            return false
        }
        if answer.status >= 400 { return true }
        return (try? JSONTree(reading: answer.body))?["accepted"]?.whole != nil
    }

    private mutating func note(_ part: BodyParts.Part, _ cell: CellMap.Cell, _ why: String) {
        let items = Array(part.places.suffix(part.itemCount))
        unavailable.append(Unavailable(cell: cell.name, why: why, items: items))
    }

    private mutating func add(_ part: BodyParts.Part, _ tree: JSONTree) {
        accepted = Gateway.sum([accepted, tree["accepted"]?.whole])
        duplicates = Gateway.sum([duplicates, tree["duplicates"]?.whole])
        for (place, word) in Self.counts.enumerated() {
            updates[place] = Gateway.sum([updates[place], tree["updates"]?[word]?.whole])
        }
        if let count = tree["retired"]?.whole { retired = Gateway.sum([retired, count]) }
        rejected += Self.notes(tree["rejected"], part)
        problems += Self.notes(tree["problems"], part)
        guard case .list(let standings) = tree["you"] else { return }
        asksStandings = true
        for (place, standing) in zip(part.places, standings) { you[place] = standing }
    }

    /// The notes of a part, at the places of the whole.
    private static func notes(
        _ list: JSONTree?, _ part: BodyParts.Part
    ) -> [(index: Int, note: JSONTree)] {
        (list?.elements ?? []).map { note in
            let index = note["index"]?.whole.flatMap { Int(exactly: $0) } ?? 0
            let place = part.places.indices.contains(index) ? part.places[index] : index
            let members = note.members.map { member in
                member.name == "index"
                    ? JSONTree.Member(name: "index", value: .integer(Int64(place))) : member
            }
            return (place, .object(members))
        }
    }

    // MARK: - The answer

    /// The answer to the whole: 200 with what is `unavailable` if the client asked for it, 503 else. A
    /// `refusal` says why nothing of it counts.
    func response(isPartialTaken: Bool, refusal: String? = nil) -> HTTPResponse {
        let isOfAll =
            refusals.count == partCount && Set(refusals.map(\.status)).count == 1
        let conflict = isWhole ? refusals.first { $0.status == 409 } : nil
        // A key under which a cell has had another body: the same again will not do.
        let ofKey = isPartialTaken ? nil : refusals.first { $0.status == 422 }
        if let refusal = isOfAll ? refusals.first : conflict ?? ofBody {
            return Gateway.response(refusal)
        }
        let isEmpty = unavailable.isEmpty && accepted == 0 && duplicates == 0
        let isRefused = refusal != nil || (isEmpty && !rejected.isEmpty)
        var tree: JSONTree = [:]
        var status = 200
        if let ofKey {
            status = 422
            let detail = (try? JSONTree(reading: ofKey.body))?["detail"]?.text
            tree = Self.head(status, "Unprocessable Content", detail ?? "a cell refuses its part")
        } else if isRefused {
            status = 422
            tree = Self.head(status, "Unprocessable Content", refusal ?? "every item was rejected")
        } else if !unavailable.isEmpty, !isPartialTaken {
            status = 503
            let names = unavailable.map { String(decoding: $0.cell, as: UTF8.self) }
            tree = Self.head(
                status, "Service Unavailable",
                "cell \(names.joined(separator: ", ")) did not take its items; send all of it again"
            )
        }
        tree = tree.with([
            "accepted": .integer(accepted), "duplicates": .integer(duplicates),
            "rejected": Self.list(rejected), "problems": Self.list(problems),
            "updates": .object(
                zip(Self.counts, updates).map { .init(name: $0, value: .integer($1)) }),
        ])
        if let retired { tree = tree.with(["retired": .integer(retired)]) }
        if asksStandings {
            tree = tree.with(["you": .list((0..<places).map { you[$0] ?? .null })])
        }
        if !unavailable.isEmpty || isPartialTaken {
            tree = tree.with(["unavailable": .list(unavailable.map(Self.tree))])
        }
        var response = HTTPResponse.json(AlertJSON.bytes(tree), status: status)
        if status != 200 { response.headers = [("Content-Type", "application/problem+json")] }
        if status == 503 { response.headers.append(("Retry-After", "1")) }
        return response
    }

    /// The refusal of a part by which the whole is wrong, while nobody took anything: it is not put right by
    /// being sent again.
    private var ofBody: HTTPCallAnswer? {
        guard accepted == 0, duplicates == 0, rejected.isEmpty else { return nil }
        return refusals.first { [400, 413, 415].contains($0.status) }
    }

    private static func head(_ status: Int, _ title: String, _ detail: String) -> JSONTree {
        [
            "type": "about:blank", "title": .text(title), "status": .integer(Int64(status)),
            "detail": .text(detail),
        ]
    }

    private static func list(_ notes: [(index: Int, note: JSONTree)]) -> JSONTree {
        let sorted = notes.enumerated().sorted { a, b in
            (a.element.index, a.offset) < (b.element.index, b.offset)
        }
        return .list(sorted.prefix(ItemScanner.notesMax).map(\.element.note))
    }

    private static func tree(_ part: Unavailable) -> JSONTree {
        [
            "cell": .text(String(decoding: part.cell, as: UTF8.self)), "reason": .text(part.why),
            "items": .list(part.items.map { .integer(Int64($0)) }),
        ]
    }
}
