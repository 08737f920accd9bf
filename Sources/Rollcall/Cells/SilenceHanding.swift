import RollcallBasis
import RollcallCore
import RollcallSupport

/// Makes the silences of a cell those of the fleet cell, but for what was asked of the cell itself.
/// Source: K2.
struct SilenceHanding {
    let caller: CellCaller

    /// Begins in a cell what it does not have, and ends what the fleet cell does not have any more. Returns why
    /// that could not be done, in words; nil if it was.
    func settle(_ cell: CellMap.Cell, _ silences: FleetSilences) -> String? {
        let asked = caller.answer(to: .get, Resource.silences.path, of: cell)
        guard let asked, asked.status == 200, let tree = try? JSONTree(reading: asked.body) else {
            return asked.map { CellCaller.words($0) } ?? "it does not answer"
        }
        var held: [String: Int64] = [:]
        for one in tree["silences"]?.elements ?? [] where one["state"]?.text == "active" {
            guard let name = one["request_id"]?.text, name.hasPrefix(FleetSilences.prefix),
                let number = one["id"]?.whole
            else { continue }
            held[name] = number
        }
        var problem: String?
        for silence in silences.list where held.removeValue(forKey: silences.name(silence)) == nil {
            var body: [UInt8] = []
            Self.body(silence, silences.name(silence)).append(to: &body)
            let answer = caller.answer(to: .post, Resource.silences.path, of: cell, body)
            if answer?.status != 200 {
                problem = answer.map { CellCaller.words($0) } ?? "it does not answer"
            }
        }
        for number in held.values.sorted() {
            let path = "\(Resource.silences.path)/\(number)"
            let answer = caller.answer(to: .delete, path, of: cell)
            // One that is over by itself is over.
            if answer?.status != 200, answer?.status != 404 {
                problem = answer.map { CellCaller.words($0) } ?? "it does not answer"
            }
        }
        return problem
    }

    private static func body(_ silence: Silence, _ name: String) -> JSONTree {
        [
            "matchers": .list(silence.matchers.map { .text(MatcherText.text($0)) }),
            "ends_at": .text(RFC3339.string(silence.endsAt)),
            "author": .text(String(decoding: silence.author, as: UTF8.self)),
            "comment": .text(String(decoding: silence.comment, as: UTF8.self)),
            "id": .text(name),
        ]
    }
}
