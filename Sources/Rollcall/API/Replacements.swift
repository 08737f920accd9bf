import RollcallCore
import RollcallSupport

/// The people who can be reached instead of somebody, the best first. Source: R5.
struct Replacements {
    /// The facts that are compared of two of them.
    private struct Rank: Comparable {
        /// False for the same region, or a circle that both are in.
        let isFar: Bool
        /// False for who is on duty, true for who is on a mission.
        let isBusy: Bool
        let locatedAt: Timestamp
        let number: Int

        static func < (a: Rank, b: Rank) -> Bool {
            if a.isFar != b.isFar { return b.isFar }
            if a.isBusy != b.isBusy { return b.isBusy }
            if a.locatedAt != b.locatedAt { return a.locatedAt > b.locatedAt }
            return a.number < b.number
        }
    }

    private let engine: Engine
    private let missing: Responder
    private let circles: Set<[UInt8]>
    /// Sets of circles by their numbers, and whether one of them is also the missing person's.
    private var isShared: [UInt32: Bool] = [:]

    /// Returns their numbers, `limit` at most, of whom `engine` knows as it stands.
    static func numbers(insteadOf number: Int, limit: Int, _ engine: Engine) -> [Int] {
        var search = Replacements(insteadOf: number, engine)
        var found: [Rank] = []
        for other in 0..<engine.roster.count where other != number {
            if let rank = search.rank(other) { found.append(rank) }
        }
        return found.sorted().prefix(limit).map(\.number)
    }

    private init(insteadOf number: Int, _ engine: Engine) {
        self.engine = engine
        missing = engine.roster[number]
        circles = Set(CircleNames.names(engine.circles[missing.circles]))
    }

    /// Returns the rank of somebody; nil of who cannot be reached.
    private mutating func rank(_ number: Int) -> Rank? {
        let person = engine.roster[number]
        guard person.idCount > 0, engine.reachable(person) == .yes else { return nil }
        return Rank(
            isFar: person.region != missing.region && !shares(person.circles),
            isBusy: person.duty != .onDuty, locatedAt: person.lastLocationAt, number: number)
    }

    private mutating func shares(_ number: UInt32) -> Bool {
        if circles.isEmpty { return false }
        if let known = isShared[number] { return known }
        let shares = CircleNames.names(engine.circles[number]).contains { circles.contains($0) }
        isShared[number] = shares
        return shares
    }
}

extension Router {
    /// Answers who can be reached instead of somebody. The state is looked at as it was, on the
    /// thread of history: a million people hold the state writer up for nothing.
    func listReplacements(of id: [UInt8], limit: Int, _ answer: @escaping Answer) {
        writer.ask { [history] view in
            let engine = view.engine
            guard let number = engine.roster.number(of: id) else {
                return answer(
                    .problem(404, "Not Found", detail: "nobody has this id"), InputStats())
            }
            history.ask({ answer($0, InputStats()) }) { _ in
                var body: [UInt8] = []
                JSONWriter.raw("{\"responders\":", to: &body)
                let found = Replacements.numbers(insteadOf: number, limit: limit, engine)
                JSONWriter.list(found, to: &body) { ResponderJSON.append($0, engine, to: &$1) }
                JSONWriter.raw(",\"next\":null}\n", to: &body)
                return .json(body)
            }
        }
    }
}
