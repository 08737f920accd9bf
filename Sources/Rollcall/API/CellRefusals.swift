import RollcallBasis
import RollcallCore
import RollcallSupport

/// Requests about people of another cell, which are refused whole before anything is enqueued. Source: K1.
extension Router {
    /// The field that says the version of the map by which a request was answered.
    static let cellMapField = "Rollcall-Cell-Map"

    /// The map of the fleet's cells, as it is held here.
    var cells: CellBoard { edge.cells }

    /// Says by which map of cells an answer is one: who asks all cells knows then whether there are more.
    func namingMap(_ response: HTTPResponse) -> HTTPResponse {
        // The leader's own answer may have said it already.
        guard let version = cells.mapVersion,
            !response.headers.contains(where: { $0.0 == Self.cellMapField })
        else { return response }
        var response = response
        response.headers.append((Self.cellMapField, "\(version)"))
        return response
    }

    /// The parameters by which lists are about one person.
    private var people: [String] { ["responder", "responder_id"] }

    /// Returns the refusal of what was read of a body; nil if all of it is about own people.
    func refusalElsewhere(_ scan: ScanResult) -> HTTPResponse? {
        guard let refusal = cells.refusal(of: scan.items) else { return nil }
        return Self.answer(refusal) { Int64(scan.places[$0]) }
    }

    /// Returns the refusal of a request about one person; nil if they are this cell's.
    func refusalElsewhere(_ id: [UInt8]) -> HTTPResponse? {
        cells.refusal(of: id).map { Self.answer($0) { _ in 0 } }
    }

    /// Returns the refusal of a request that names a person by its path, or asks for the past of one;
    /// nil for all others.
    func refusalElsewhere(
        _ route: Route, _ target: Target, _ request: HTTPRequest
    ) -> HTTPResponse? {
        if cells.isAlone { return nil }
        switch route.resource {
        case .responder, .timeline, .nudge: return refusalElsewhere(target.id)
        case .events, .gaps, .dark, .nudges:
            guard route.method == .get,
                let id = request.query.first(where: { people.contains($0.name) })?.value
            else { return nil }
            return refusalElsewhere(Array(id.utf8))
        default: return nil
        }
    }

    private static func answer(
        _ refusal: CellBoard.Refusal, index: (Int) -> Int64
    ) -> HTTPResponse {
        switch refusal {
        case .noMap:
            return unavailable("nobody has told this cell yet which people are its own")
        case .elsewhere(let item, let cell, let version):
            let name = String(decoding: cell, as: UTF8.self)
            let tree: JSONTree = [
                "type": "about:blank", "title": "Misdirected Request", "status": 421,
                "detail": .text(
                    "a person is cell \(name)'s, by version \(version) of the map: nothing of it is "
                        + "taken here"),
                "map_version": .integer(version), "index": .integer(index(item)),
                "cell": .text(name),
            ]
            var body: [UInt8] = []
            tree.append(to: &body)
            return HTTPResponse(
                status: 421,
                headers: [("Content-Type", "application/problem+json")], body: body + [0x0A])
        }
    }
}
