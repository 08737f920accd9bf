import Logging
import RollcallBasis
import RollcallCore
import RollcallSupport

/// The map of a fleet's cells, as it is told and handed over. Source: K1.
extension Router {
    /// Tells the map that is held here, and at the fleet cell how each cell stands.
    func showCells(_ answer: @escaping Answer) {
        var body: [UInt8] = []
        switch cells.role {
        case .alone:
            let detail = "this watch is all of its fleet: neither cluster.cell nor cells is set"
            return answer(.problem(404, "Not Found", detail: detail), InputStats())
        case .cell(let name):
            JSONWriter.raw("{\"role\":\"cell\",\"cell\":", to: &body)
            JSONWriter.string(name, to: &body)
            if let tree = splitTree {
                JSONWriter.raw(",\"split_from\":", to: &body)
                tree.append(to: &body)
            }
            if let standing = writer.board?.standing {
                JSONWriter.raw(",\"log\":", to: &body)
                JSONWriter.string(Array(String(standing.place.log, radix: 16).utf8), to: &body)
            }
        case .fleet: JSONWriter.raw("{\"role\":\"fleet\",\"cell\":null", to: &body)
        }
        let map = cells.map
        body.append(UInt8(ascii: ","))
        body += map.map { $0.json.dropFirst().dropLast() } ?? Self.noMap[...]
        guard case .fleet(let named) = cells.role else {
            return answer(.json(body + Array("}\n".utf8)), InputStats())
        }
        let known = map?.cells.map(\.name) ?? []
        let others = named.map(\.name).filter { !known.contains($0) }
        JSONWriter.raw(",\"standing\":", to: &body)
        writer.ask { [self, body] view in
            var body = body
            let standings = (known + others).map { standing($0, view.engine.cells[$0]) }
            JSONTree.list(standings).append(to: &body)
            answer(.json(body + Array("}\n".utf8)), InputStats())
        }
    }

    /// The cell that this one is still to be split from, and why it may not be yet; nil if it is none such.
    private var splitTree: JSONTree? {
        guard let origin = cells.origin, let standing = writer.board?.standing else { return nil }
        let problem = standing.splitProblem
        return [
            "cell": .text(String(decoding: origin, as: UTF8.self)),
            "ready": .boolean(problem.isEmpty), "lag": .integer(standing.lag),
            "problem": problem.isEmpty ? .null : .text(problem),
        ]
    }

    private static let noMap = Array(
        "\"version\":0,\"slots\":\(PersonSlot.count),\"cells\":[]".utf8)

    private func standing(_ cell: [UInt8], _ heard: CellBook.Cell?) -> JSONTree {
        let standing = cells.standing(of: cell)
        let hasSlots = cells.map?.place(of: cell) != nil
        return [
            "cell": .text(String(decoding: cell, as: UTF8.self)),
            "has_slots": .boolean(hasSlots),
            "version": standing.version.map { .integer($0) } ?? .null,
            "unreached_since": standing.unreachedSince.map { .text(RFC3339.string($0)) } ?? .null,
            "problem": standing.problem.map { .text($0) } ?? .null,
            "heard_through": heard.flatMap {
                $0.position > 0 ? .text(RFC3339.string($0.through)) : nil
            }
                ?? .null,
            "dark": .boolean(heard?.isDark ?? false),
            "blind": .boolean(heard?.isBlind ?? false),
            "active": .integer(Int64(heard?.active ?? 0)),
        ]
    }

    /// Takes the map that the fleet cell hands over, if it is newer than the one that is held.
    func putCells(_ request: HTTPRequest, _ answer: @escaping Answer) {
        guard case .cell(let name) = cells.role else {
            return answer(
                Self.conflict("this watch is no cell: cluster.cell is not set"), InputStats())
        }
        let map: CellMap
        do throws(JSONError) {
            map = try CellMap(json: request.body.span, request.body.indices)
        } catch {
            let isJSON = (try? JSONTree(reading: request.body)) != nil
            return answer(
                isJSON ? Self.unprocessable(error.message) : Self.notJSON(error), InputStats())
        }
        guard map.place(of: name) != nil else {
            let shown = String(decoding: name, as: UTF8.self)
            return answer(
                Self.conflict("this is cell \(shown), which the map does not name"), InputStats())
        }
        let held = cells.map
        if let fault = map.fault(after: held) { return answer(refusal(fault), InputStats()) }
        guard map.version - (held?.version ?? 0) <= CellMap.jumpMax else {
            return answer(
                Self.conflict(
                    "no fleet cell has made so many maps since version \(held?.version ?? 0)"),
                InputStats())
        }
        guard let gives = held.map({ map.takesSlots(of: name, since: $0) }) ?? false else {
            let detail =
                "slots of the map were another cell's, and only a new cell is given some: it is split from one"
            return answer(Self.conflict(detail), InputStats())
        }
        if gives, writer.board == nil {
            return answer(
                Self.conflict("this cell has no log that a new one could look on in"), InputStats())
        }
        // It is handed over again by whoever did not get the answer.
        if held == map { return answer(Self.taken(map), InputStats()) }
        let event: Event = gives ? .split(CellSplit(map, own: name, isNew: false)) : .cells(map)
        write(event, request, answer) { [self] receipt, answer in
            if let fault = receipt.cellMapFault { return answer(refusal(fault), InputStats()) }
            writer.log.info(
                gives
                    ? "the cell is split: people of slots that it gave are another cell's"
                    : "the map of the fleet's cells is taken",
                metadata: ["version": "\(map.version)", "cells": "\(map.cells.count)"])
            answer(Self.taken(map), InputStats())
        }
    }

    private static func taken(_ map: CellMap) -> HTTPResponse {
        var body: [UInt8] = []
        JSONTree.object([.init(name: "version", value: .integer(map.version))]).append(to: &body)
        return .json(body + [0x0A])
    }

    private func refusal(_ fault: CellMapFault) -> HTTPResponse {
        let version = cells.map?.version ?? 0
        switch fault {
        case .older: return Self.conflict("version \(version) of the map is held here already")
        case .differs:
            return Self.conflict("version \(version) of the map is held here, and is another one")
        }
    }

    private static func conflict(_ detail: String) -> HTTPResponse {
        .problem(409, "Conflict", detail: detail)
    }
}

/// A question for what a cell says of its people.
struct SummaryQuery: Sendable {
    /// The position of the last summary that is known; 0 for none.
    var after: Int64 = 0
    /// True if the fleet cell asks.
    var isFleetCells = false
    /// The newest version of the map by which no new cell lacks people of this one, as the fleet cell says; 0
    /// without a word.
    var settled: Int64 = 0

    static let parameters = Parameters(
        SummaryQuery(),
        [
            .flag(
                "fleet",
                "The fleet cell says so: it counts as heard, and is told which company is wanted.",
                standard: false, into: \.isFleetCells),
            .number(
                "after",
                "The `position` of the last one; the answer says everything if that is another one."
            ) { $0.after = $1 },
            .number(
                "settled",
                "With `fleet`: the newest version of the map by which no new cell lacks people of this one."
            ) { $0.settled = $1 },
        ])
}

extension Router {
    /// Tells the fleet cell what alerts about many are judged by. Source: K2.
    func showSummary(_ query: SummaryQuery, _ answer: @escaping Answer) {
        if let refusal = refusalUnlessLeadingCell { return answer(refusal, InputStats()) }
        if query.isFleetCells { cells.noteAsk(settled: query.settled) }
        writer.summary(after: query.after, wants: query.isFleetCells) { summary, wanted in
            guard let summary else {
                return answer(Self.unavailable("nothing can be said now"), InputStats())
            }
            var bytes: [UInt8] = []
            Base64.append(summary.journalBytes, to: &bytes)
            var tree: JSONTree = [
                "position": .integer(summary.position),
                "through": .text(RFC3339.string(summary.through)),
                "whole": .boolean(summary.isWhole),
                "bytes": .text(String(decoding: bytes, as: UTF8.self)),
            ]
            if !wanted.isEmpty { tree = tree.with(["wanted": wanted.tree]) }
            answer(.json(AlertJSON.bytes(tree)), InputStats())
        }
    }

    // MARK: - Company in other cells

    /// Tells the fleet cell in which of some groups somebody is active here. Source: K3.
    func findPeers(_ request: HTTPRequest, _ answer: @escaping Answer) {
        let groups = word(request, answer, "lists of circles and regions") { PeerGroups($0) }
        guard let groups else { return }
        let name = ownName
        writer.ask { view in
            let active = view.engine.active(of: groups).tree
            answer(.json(AlertJSON.bytes(["cell": name, "active": active])), InputStats())
        }
    }

    /// Takes the fleet cell's word of the company that people of this cell have in others.
    func putPeers(_ request: HTTPRequest, _ answer: @escaping Answer) {
        let call: PeersElsewhere? = word(request, answer, "lists of circles and regions") { tree in
            guard let active = PeerGroups(tree["active"]),
                let nobody = PeerGroups(tree["nobody"])
            else { return nil }
            return .groups(active: active, nobody: nobody)
        }
        if let call { take(.peersElsewhere(call), request, answer) }
    }

    // MARK: - Masses

    /// Takes the fleet cell's word of who fell out of contact together. Source: C1, K2.
    func putMasses(_ request: HTTPRequest, _ answer: @escaping Answer) {
        let masses = word(request, answer, "a list of masses") { FleetMass.list($0) }
        if let masses { take(.masses(masses), request, answer) }
    }

    /// Takes a word of the fleet cell, and says how many people it concerns.
    private func take(_ event: Event, _ request: HTTPRequest, _ answer: @escaping Answer) {
        let name = ownName
        write(event, request, answer) { receipt, answer in
            let people = JSONTree.integer(Int64(receipt.accepted))
            answer(.json(AlertJSON.bytes(["cell": name, "people": people])), InputStats())
        }
    }

    /// The name of this cell: so it is known that another watch is not taken for it.
    private var ownName: JSONTree {
        if case .cell(let name) = cells.role { AlertJSON.text(name) } else { .null }
    }

    /// Returns what a body says to a cell; nil, and the answer is given, if this is no cell that takes writes,
    /// or the body says nothing of what is `expected`.
    private func word<Made>(
        _ request: HTTPRequest, _ answer: Answer, _ expected: String, _ make: (JSONTree) -> Made?
    ) -> Made? {
        if let refusal = refusalUnlessLeadingCell {
            answer(refusal, InputStats())
            return nil
        }
        do throws(JSONError) {
            if let made = make(try JSONTree(reading: request.body)) { return made }
            answer(Self.unprocessable("\(expected) expected"), InputStats())
        } catch {
            answer(Self.notJSON(error), InputStats())
        }
        return nil
    }

    /// The answer of a watch that is no cell, or of a member of one that does not lead; nil of others.
    private var refusalUnlessLeadingCell: HTTPResponse? {
        guard case .cell = cells.role else {
            return .problem(404, "Not Found", detail: "this watch is no cell")
        }
        return writer.isTakingWrites ? nil : Self.unavailable("another member says it")
    }
}

/// The routes of a fleet of many cells. Source: K1, K2.
extension Route {
    static let cells: [Route] = [
        Route(
            .get, .cells, "getCells", .status, .read, .operation,
            "The map of the fleet's cells, and how far each is",
            """
            Which slots are whose, as far as it is known here; version 0 before there is a map. At the \
            fleet cell, of the member that leads, `standing` says which version each cell has taken, \
            and since when none of its addresses answers. 404 where there are no cells.
            """,
            answers: [200: "Cells"], problems: [404]
        ) { $0.showCells($1.answer) },
        Route(
            .put, .cells, "putCells", .status, .admin, .operation,
            "Hands a cell the map of the fleet's cells",
            """
            The fleet cell does. It is taken if its version is greater than that of the map that is \
            held; the same again changes nothing. With one that gives slots of this cell to a new one it is \
            split: their people are here no more. 409 of an older one, of another one of the same version, of \
            one that does not name this cell or gives it slots, and where there is no cell.
            """,
            body: "CellMap", answers: [200: "CellMapTaken"], problems: [409, 422]
        ) { $0.putCells($1.request, $1.answer) },
        Route(
            .get, .cellSummary, "getCellSummary", .status, .admin, .operation,
            "What a cell says of its people, for the fleet cell",
            """
            Counts by region, and what changed of them since the last one, complete through an instant; it \
            names nobody. `bytes` is Base64 of the form in which the journal keeps it. 404 at a watch that \
            is no cell, 503 at a member that does not lead, and while the store fails.
            """,
            query: SummaryQuery.parameters, answers: [200: "CellSummary"], problems: [404, 503]
        ) { $0.showSummary($1, $2.answer) },
        Route(
            .post, .cellPeers, "findCompany", .status, .admin, .operation,
            "Whether anybody is active in some circles, for the fleet cell",
            """
            Of circles, and of regions, those in which somebody is active in this cell. 404 at a watch that is \
            no cell, 503 at a member that does not lead.
            """,
            body: "CompanyGroups", answers: [200: "CompanyFound"], problems: [404, 422, 503]
        ) { $0.findPeers($1.request, $1.answer) },
        Route(
            .put, .cellPeers, "putCompany", .status, .admin, .operation,
            "Tells a cell in which circles somebody is active in another one",
            """
            The fleet cell does, of the groups that stand as `wanted` beside a summary. It holds for 30 s, and \
            nudges that wait for it are decided. 404 at a watch that is no cell, 503 at a member that does not lead.
            """,
            body: "CompanyWord", answers: [200: "CompanyTaken"], problems: [404, 422, 503]
        ) { $0.putPeers($1.request, $1.answer) },
        Route(
            .put, .cellMasses, "putMasses", .status, .admin, .operation,
            "Tells a cell who fell out of contact together",
            """
            The fleet cell does, of the people of one region in whichever cells they are. Whoever fell silent \
            within 60 s before `since`, or later, and not after `to`, and is still, and belongs to no group, belongs \
            to this one; the same again changes nothing. 404 at a watch that is no cell, 503 at a member that does not lead.
            """,
            body: "Masses", answers: [200: "MassesTaken"], problems: [404, 422, 503]
        ) { $0.putMasses($1.request, $1.answer) },
    ]
}
