import RollcallBasis
import RollcallCore
import RollcallSupport

/// Asks a cell for its map, and hands it another, at whichever of its addresses answers. It blocks its
/// thread meanwhile. Source: K1, K2.
struct CellCaller {
    /// The outcome of a question to a cell.
    enum Answer {
        /// It has this map, and said so at this address.
        case has(CellMap, at: [UInt8])
        /// It has no map yet.
        case hasNone(at: [UInt8])
        /// It answers, and not as it should; the reason in words.
        case refuses(String)
        /// None of its addresses answers; the reason of the last one.
        case unreached(String)
    }

    /// Until the connection stands, and until the answer is whole.
    private static let connectTimeout = Milliseconds(1000)
    private static let timeout = Milliseconds(5000)
    private static let summaryTimeout = Milliseconds(2000)
    /// Bytes of a map, or of a summary of all regions in Base64, at most.
    private static let answerBytesMax = 24 << 20

    private let token: Secret?
    private let caller: HTTPCaller?

    /// A caller that shows `token`.
    init(token: Secret?) {
        self.token = token
        caller = try? HTTPCaller()
    }

    /// Asks a cell which map it has.
    func ask(_ cell: CellMap.Cell) -> Answer {
        let name = String(decoding: cell.name, as: UTF8.self)
        return ask(cell, "cell \(name)") { $0?["cell"]?.shown == name }
    }

    /// Asks the fleet cell for the map; an answer of an address is given up after `timeout`.
    func map(of fleetCell: CellMap.Cell, timeout: Milliseconds) -> Answer {
        ask(fleetCell, "the fleet cell", timeout: timeout) { $0?["role"]?.text == "fleet" }
    }

    /// Asks a watch which map it has; `isMeant` is false of an answer of another one.
    private func ask(
        _ cell: CellMap.Cell, _ words: String, timeout: Milliseconds = timeout,
        _ isMeant: (JSONTree?) -> Bool
    ) -> Answer {
        var last = Answer.unreached("it has no address")
        var none: Answer?
        for url in cell.urls {
            switch send(.get, Resource.cells.path, at: url, timeout: timeout) {
            case .failure(let why): last = .unreached(why.description)
            case .success(let answer):
                last = Self.read(answer, words, isMeant, at: url)
                switch last {
                case .has: return last
                // One that still looks on in another cell's log has none, and others may (K6).
                case .hasNone: none = none ?? last
                case .refuses, .unreached: continue
                }
            }
        }
        return none ?? last
    }

    /// The state of a cell that has no slots yet.
    enum NewCell: Equatable {
        /// Every member of it holds all of that cell's log.
        case ready(origin: [UInt8])
        /// It cannot be split from another one yet; the reason in words.
        case waits(String)
    }

    /// Asks all members of a cell without slots whether they hold all that the cell of a map holds which it is
    /// to be split from.
    func newCell(_ cell: CellMap.Cell, in map: CellMap) -> NewCell {
        let name = String(decoding: cell.name, as: UTF8.self)
        var followed: (origin: String, log: String)?
        for url in cell.urls {
            let shown = String(decoding: url, as: UTF8.self)
            guard let tree = cells(at: url) else { return .waits("\(shown) does not answer") }
            guard tree["cell"]?.shown == name else {
                return .waits("another watch than cell \(name) answers at \(shown)")
            }
            guard let origin = tree["split_from"]?["cell"]?.text, let log = tree["log"]?.text,
                map.place(of: Array(origin.utf8)) != nil
            else {
                return .waits(
                    "\(shown) is to be split from no cell that has slots: see cluster.split_from")
            }
            guard tree["split_from"]?["ready"] == .boolean(true) else {
                let why = tree["split_from"]?["problem"]?.text ?? "it does not say why"
                return .waits("\(shown) is not ready to be split from cell \(origin): \(why)")
            }
            if let followed, followed != (origin, log) {
                return .waits("its members look on in different logs")
            }
            followed = (origin, log)
        }
        guard let followed, let place = map.place(of: Array(followed.origin.utf8)) else {
            return .waits("it has no address")
        }
        let isItsLog = map.cells[place].urls.contains {
            cells(at: $0).map {
                $0["cell"]?.shown == followed.origin && $0["log"]?.text == followed.log
            } ?? false
        }
        return isItsLog
            ? .ready(origin: Array(followed.origin.utf8))
            : .waits("no member of cell \(followed.origin) says that the log is its own")
    }

    /// True of a cell that is to be split from another one, as far as one of its members answers.
    func looksOn(_ cell: CellMap.Cell) -> Bool {
        cell.urls.contains { cells(at: $0)?["split_from"] != nil }
    }

    /// Returns what a watch says of the map of cells; nil without an answer.
    private func cells(at url: [UInt8]) -> JSONTree? {
        guard case .success(let answer) = send(.get, Resource.cells.path, at: url),
            answer.status == 200
        else { return nil }
        return try? JSONTree(reading: answer.body)
    }

    /// Hands a cell a map, at the address that answered.
    func hand(_ map: CellMap, to cell: CellMap.Cell, at url: [UInt8]) -> Answer {
        switch send(.put, Resource.cells.path, at: url, map.json) {
        case .failure(let why): return .unreached(why.description)
        case .success(let answer) where answer.status == 200:
            let version = (try? JSONTree(reading: answer.body))?["version"]?.whole
            return version == map.version ? .has(map, at: url) : .hasNone(at: url)
        case .success(let answer): return .refuses(Self.words(answer))
        }
    }

    /// The word of a cell of its people.
    struct Said {
        var summary: Summary
        /// The groups of which it has to know whether somebody is active in another cell.
        var wanted: PeerGroups
        /// The address that said so.
        var url: [UInt8]
    }

    /// Asks a cell what it has to say since a position, and says the version of the map if no new cell lacks people
    /// of it; nil if none of its addresses says anything.
    func summary(
        of cell: CellMap.Cell, after position: Int64, settled version: Int64?
    ) -> Said? {
        let settled = version.map { "&settled=\($0)" } ?? ""
        let path = Resource.cellSummary.path + "?fleet=true&after=\(position)" + settled
        for url in cell.urls {
            guard
                case .success(let answer) = send(.get, path, at: url, timeout: Self.summaryTimeout),
                answer.status == 200, let tree = try? JSONTree(reading: answer.body),
                let text = tree["bytes"]?.text,
                let bytes = Base64.decoded(Array(text.utf8).span, 0..<text.utf8.count),
                let summary = Summary(journalBytes: bytes), summary.cell == cell.name,
                Event.summaries([summary]).isCredible
            else { continue }
            let wanted = PeerGroups(tree["wanted"]) ?? PeerGroups()
            return Said(summary: summary, wanted: wanted, url: url)
        }
        return nil
    }

    /// Returns those of some groups in which somebody is active in a cell; nil if none of its addresses says.
    func active(of groups: PeerGroups, at cell: CellMap.Cell) -> PeerGroups? {
        peers(.post, groups.tree, of: cell).flatMap { PeerGroups($0["active"]) }
    }

    /// Tells a cell of groups in which somebody is active in another one, and of those in which nobody is.
    /// One that does not hear it asks again.
    func handOver(to cell: CellMap.Cell, active: PeerGroups, nobody: PeerGroups) {
        _ = peers(.put, ["active": active.tree, "nobody": nobody.tree], of: cell)
    }

    /// Hands a cell masses; false if it did not take them.
    func hand(_ masses: [FleetMass], to cell: CellMap.Cell) -> Bool {
        var body: [UInt8] = []
        (["masses": .list(masses.map(\.tree))] as JSONTree).append(to: &body)
        return answer(to: .put, Resource.cellMasses.path, of: cell, body)?.status == 200
    }

    private func peers(
        _ method: HTTPCall.Method, _ tree: JSONTree, of cell: CellMap.Cell
    ) -> JSONTree? {
        var body: [UInt8] = []
        tree.append(to: &body)
        let answer = answer(to: method, Resource.cellPeers.path, of: cell, body)
        guard let answer, answer.status == 200 else { return nil }
        guard let tree = try? JSONTree(reading: answer.body),
            tree["cell"]?.text == String(decoding: cell.name, as: UTF8.self)
        else { return nil }
        return tree
    }

    /// Asks a cell at its addresses in turns, until one says something else than that it cannot just now. Returns
    /// the last answer; nil if there is none.
    func answer(
        to method: HTTPCall.Method, _ path: String, of cell: CellMap.Cell, _ body: [UInt8] = []
    ) -> HTTPCallAnswer? {
        var last: HTTPCallAnswer?
        for url in cell.urls {
            let outcome = send(method, path, at: url, body, timeout: Self.summaryTimeout)
            guard case .success(let answer) = outcome else { continue }
            last = answer
            if answer.status != 503 { break }
        }
        return last
    }

    private static func read(
        _ answer: HTTPCallAnswer, _ words: String, _ isMeant: (JSONTree?) -> Bool, at url: [UInt8]
    ) -> Answer {
        guard answer.status == 200 else { return .refuses(Self.words(answer)) }
        let tree = try? JSONTree(reading: answer.body)
        guard let version = tree?["version"]?.whole, isMeant(tree) else {
            return .refuses("another watch than \(words) answers there")
        }
        if version == 0 { return .hasNone(at: url) }
        guard let map = try? CellMap(json: answer.body.span, answer.body.indices) else {
            return .refuses("it tells a map that is none")
        }
        return .has(map, at: url)
    }

    /// The status of a refusal, and what it says of itself.
    static func words(_ answer: HTTPCallAnswer) -> String {
        let detail = (try? JSONTree(reading: answer.body))?["detail"]?.shown
        return "it answers \(answer.status)" + (detail.map { ": \($0)" } ?? "")
    }

    private func send(
        _ method: HTTPCall.Method, _ path: String, at url: [UInt8], _ body: [UInt8] = [],
        timeout: Milliseconds = timeout
    ) -> Result<HTTPCallAnswer, HTTPCallError> {
        let address = String(decoding: url, as: UTF8.self)
        var call = HTTPCall(method, address + path)
        call.timeout = timeout
        call.connectTimeout = min(Self.connectTimeout, call.timeout)
        call.answerBytesMax = Self.answerBytesMax
        call.body = body
        call.headers = [("Content-Type", "application/json")]
        if let token {
            call.headers.append(
                ("Authorization", "Bearer \(String(decoding: token.bytes, as: UTF8.self))"))
        }
        return Result { () throws(HTTPCallError) in
            guard let caller else { return try HTTPCaller().answer(to: call) }
            return try caller.answer(to: call)
        }
    }
}

extension CellMap.Cell {
    /// Puts an address of it in front.
    mutating func prefer(_ url: [UInt8]) {
        if let place = urls.firstIndex(of: url) { urls.insert(urls.remove(at: place), at: 0) }
    }
}
