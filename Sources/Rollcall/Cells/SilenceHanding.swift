import RollcallBasis
import RollcallCore
import RollcallSupport

/// Makes the silences of a cell those of the fleet cell, but for what was asked of the cell itself.
/// Source: K2.
struct SilenceHanding {
    let caller: CellCaller

    /// Changes that are made at once: the thread asks the cell for other things, too.
    private static let changesMax = 8

    /// The state in which a cell was left.
    enum Outcome: Equatable {
        /// It has what it should have.
        case settled
        /// Something is left to be done.
        case begun
        /// It does not do it, for a reason in words; `isRefusal` of what it will not do the next time either.
        case failed(String, isRefusal: Bool)
    }

    /// Ends in a cell what the fleet cell does not have any more, and begins what it does not have.
    func settle(_ cell: CellMap.Cell, _ silences: FleetSilences) -> Outcome {
        let asked = caller.answer(to: .get, Resource.silences.path, of: cell)
        guard let asked, asked.status == 200, let tree = try? JSONTree(reading: asked.body) else {
            return Self.failure(asked)
        }
        var held: [String: Int64] = [:]
        // Whoever ended one at the cell has ended it there.
        var ended = Set<String>()
        for one in tree["silences"]?.elements ?? [] {
            guard let name = one["request_id"]?.text, name.hasPrefix(FleetSilences.prefix),
                let number = one["id"]?.whole
            else { continue }
            if one["state"]?.text == "active" { held[name] = number } else { ended.insert(name) }
        }
        var left = Self.changesMax
        let names = Set(silences.list.map { silences.name($0) })
        for number in held.filter({ !names.contains($0.key) }).values.sorted() {
            guard left > 0 else { return .begun }
            left -= 1
            let path = "\(Resource.silences.path)/\(number)"
            let answer = caller.answer(to: .delete, path, of: cell)
            // One that is over by itself is over.
            guard answer?.status == 200 || answer?.status == 404 else {
                return Self.failure(answer)
            }
        }
        var refusal: Outcome?
        for silence in silences.list {
            let name = silences.name(silence)
            if held[name] != nil || ended.contains(name) { continue }
            guard left > 0 else { return .begun }
            left -= 1
            var body: [UInt8] = []
            Self.body(silence, name).append(to: &body)
            let answer = caller.answer(to: .post, Resource.silences.path, of: cell, body)
            if answer?.status == 200 { continue }
            let failure = Self.failure(answer)
            // The others may be taken.
            guard case .failed(_, isRefusal: true) = failure else { return failure }
            refusal = failure
        }
        return refusal ?? .settled
    }

    private static func failure(_ answer: HTTPCallAnswer?) -> Outcome {
        guard let answer else { return .failed("it does not answer", isRefusal: false) }
        return .failed(
            CellCaller.words(answer), isRefusal: (400..<500).contains(answer.status))
    }

    private static func body(_ silence: Silence, _ name: String) -> JSONTree {
        [
            "matchers": .list(silence.matchers.map { matcher($0) }),
            "ends_at": .text(RFC3339.string(silence.endsAt)),
            "author": .text(String(decoding: silence.author, as: UTF8.self)),
            "comment": .text(String(decoding: silence.comment, as: UTF8.self)),
            "id": .text(name),
        ]
    }

    /// A condition as it is read again: of one value nothing is quoted.
    private static func matcher(_ matcher: LabelMatcher) -> JSONTree {
        guard matcher.values.count == 1, let value = matcher.values.first else {
            return .text(MatcherText.text(matcher))
        }
        return [
            "name": .text(String(decoding: matcher.name, as: UTF8.self)),
            "value": .text(String(decoding: value, as: UTF8.self)),
            "isEqual": .boolean(matcher.isEqual),
        ]
    }
}
