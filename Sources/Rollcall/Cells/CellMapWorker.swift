import Logging
import RollcallBasis
import RollcallCore
import RollcallSupport

/// A thread that asks its share of the cells; the first one also makes the map.
///
/// `@unchecked Sendable` is true because everything mutable is touched by its own thread alone; the
/// mailbox is what other threads see.
final class CellMapWorker: @unchecked Sendable {
    /// Milliseconds between two looks at whether there is something to do.
    private static let lookEvery: Int64 = 250
    /// Milliseconds between two questions for what a cell has to say.
    private static let listenEvery: Int64 = 1000
    /// Milliseconds between two looks at whether a cell has the silences that it should, and after a failure.
    private static let silencesEvery: Int64 = 60_000
    private static let silencesAgain: Int64 = 5000
    /// Milliseconds until a cell that could not be told of masses is told again.
    private static let massesAgain: Int64 = 2000
    /// Milliseconds between two questions to a cell that has the map.
    private static let askEvery: Int64 = 15_000
    /// Milliseconds between two tries, growing, with a fifth by chance.
    private static let pauses: [Int64] = [500, 1000, 2000, 4000, 8000, 15_000, 30_000]
    /// Milliseconds between two looks whether a cell without slots may be split from another one.
    private static let splitEvery: Int64 = 2000
    /// Milliseconds for which the state writer is waited for.
    private static let writerPatience: Int64 = 10_000

    /// The share of one cell in what the thread does. Instants are the machine's clock.
    private struct Work {
        var notBefore = Int64.min / 4
        var failures = 0
        /// The version that it was last asked about.
        var version: Int64 = 0
        var standing = CellBoard.Standing()
        /// The position of the last summary; 0 before the first.
        var position: Int64 = 0
        var listensFrom = Int64.min / 4
        /// The silences that it has, and the reason why it may not.
        var silences: FleetSilences?
        var silencesProblem: String?
        var silencesFrom = Int64.min / 4
        /// The masses that it was told of, by their numbers: how many people, and until when, each had then.
        var masses: [Int64: (members: Int, to: Timestamp)] = [:]
        var massesFrom = Int64.min / 4
        /// The revision of the masses that it was told of, all of them.
        var massesRevision: Int64 = 0
        /// The time by which its clock is ahead.
        var ahead = Milliseconds(0)
        /// The address that answered last.
        var url: [UInt8] = []
    }

    private let named: [CellMap.Cell]
    private let share: (place: Int, of: Int)
    private let writer: StateWriter
    private let board: CellBoard
    private let asker: PeerGroupAsker
    private let caller: CellCaller
    private let mailbox = Mailbox<Void>()
    private var works: [[UInt8]: Work] = [:]
    /// True once the cells were asked for a map that this store has lost.
    private var hasAsked = false
    private var splitsFrom = Int64.min / 4

    init(
        _ named: [CellMap.Cell], share: (place: Int, of: Int), token: Secret?,
        writer: StateWriter, board: CellBoard, asker: PeerGroupAsker
    ) {
        self.asker = asker
        self.named = named
        self.share = share
        self.writer = writer
        self.board = board
        caller = CellCaller(token: token)
    }

    func start() -> Bool { DetachedThread.start { [self] in run() } }

    func close() { mailbox.put(()) }

    private func run() {
        // Whatever is put there ends it.
        while mailbox.takeAll(waiting: Self.lookEvery).isEmpty {
            guard writer.isTakingWrites else {
                // Whoever leads asks them; what was known here is of the past.
                if !works.isEmpty { board.forgetStandings() }
                works = [:]
                continue
            }
            if share.place == 0 { keepMap() }
            guard let map = board.map else { continue }
            // The last of them has no cell of the map while one is without slots: who hangs holds up nobody.
            if share.place == share.of - 1, let next = split(map) { keep(next) }
            for (place, cell) in map.cells.enumerated() where place % share.of == share.place {
                tend(cell, map)
                listen(to: cell)
                settleSilences(of: cell)
                handMasses(to: cell)
            }
        }
    }

    // MARK: - The map

    /// Makes the first map, or the one that follows from other addresses.
    private func keepMap() {
        guard let held = board.map else {
            let own = { [named, caller] in
                // Who looks on in another cell's log has slots once it is split from that one.
                CellMap(first: named.filter { !caller.looksOn($0) })
            }
            if let map = lost() ?? own() { keep(map) }
            return
        }
        if let next = held.following(named) { keep(next) }
    }

    /// Returns the map in which a cell that was named since is split from the one in whose log all of its
    /// members look on; nil while there is none.
    private func split(_ map: CellMap) -> CellMap? {
        let others = named.filter { map.place(of: $0.name) == nil }
        let now = ClockReading.now().elapsed
        guard !others.isEmpty, now >= splitsFrom else { return nil }
        splitsFrom = now + Self.splitEvery
        // One after the other: all have this map, and are heard.
        let isSettled =
            !board.hasUnlit
            && map.cells.allSatisfy {
                let standing = board.standing(of: $0.name)
                return standing.version == map.version && standing.problem == nil
            }
        var made: CellMap?
        for cell in others {
            let name = String(decoding: cell.name, as: UTF8.self)
            var standing = CellBoard.Standing()
            switch caller.newCell(cell, in: map) {
            case .ready(let origin):
                guard isSettled, made == nil else {
                    standing.problem =
                        "it waits until all cells have the map as it is, and say how their people are"
                    break
                }
                made = map.splitting(origin, into: cell)
                if made == nil {
                    standing.problem = "no map can have it, or the other has one slot"
                }
            case .waits(let why): standing.problem = why
            }
            if let problem = standing.problem, problem != board.standing(of: cell.name).problem {
                writer.log.warning(
                    "a cell without slots takes nobody",
                    metadata: ["cell": "\(name)", "why": "\(problem)"])
            }
            board.note(standing, of: cell.name)
        }
        return made
    }

    /// Returns the newest map that a cell holds, of which this store knows nothing; nil without one.
    private func lost() -> CellMap? {
        if hasAsked { return nil }
        hasAsked = true
        let maps = named.compactMap { cell -> CellMap? in
            guard case .has(let map, _) = caller.ask(cell), isOurs(map, of: cell) else {
                return nil
            }
            return map
        }
        return maps.max { $0.version < $1.version }
    }

    /// True of a map that a cell holds of this fleet: cells may have been named since, or not any more; one that
    /// names others is of another fleet.
    private func isOurs(_ map: CellMap, of cell: CellMap.Cell) -> Bool {
        let names = named.map(\.name)
        return map.place(of: cell.name) != nil
            && (map.cells.allSatisfy { names.contains($0.name) }
                || names.allSatisfy { map.place(of: $0) != nil })
    }

    /// Returns the map that takes the place of this store's, since a cell holds another one: this store was
    /// lost, and begun before the cell could tell. If all others say what they have, none has this one and none a
    /// newer one than theirs, that is the fleet's, whosever slots are.
    private func map(after own: CellMap, _ theirs: CellMap, of cell: CellMap.Cell) -> CellMap? {
        if let next = own.following(theirs) { return next }
        guard own.version == 1, theirs.version > own.version, isOurs(theirs, of: cell) else {
            return nil
        }
        let isTheirs = own.cells.allSatisfy { other in
            let standing = board.standing(of: other.name)
            let version = standing.version ?? 0
            return other.name == cell.name
                || standing.hasAnswered && version != own.version && version <= theirs.version
        }
        return isTheirs ? theirs : nil
    }

    /// Keeps a map; false if that was not stored in time.
    @discardableResult
    private func keep(_ map: CellMap) -> Bool {
        let answers = Mailbox<Bool>()
        writer.write(.cells(map)) { outcome in
            if case .committed(let receipt) = outcome {
                answers.put(receipt.cellMapFault == nil)
            } else {
                answers.put(false)
            }
        }
        guard answers.takeAll(waiting: Self.writerPatience).first == true else { return false }
        writer.log.info(
            "the fleet cell has a map of its cells",
            metadata: ["version": "\(map.version)", "cells": "\(map.cells.count)"])
        return true
    }

    // MARK: - The cells

    private func tend(_ cell: CellMap.Cell, _ map: CellMap) {
        var work = works[cell.name] ?? Work()
        let now = ClockReading.now()
        guard now.elapsed >= work.notBefore || work.version != map.version else { return }
        work.version = map.version
        let before = work.standing
        take(hand(map, to: cell), of: cell, now.wall, &work.standing)
        if work.standing.problem == nil {
            (work.failures, work.notBefore) = (0, ClockReading.now().elapsed + Self.askEvery)
        } else {
            let pause = Self.pauses[min(work.failures, Self.pauses.count - 1)]
            work.failures += 1
            work.notBefore =
                ClockReading.now().elapsed + pause + Int64.random(in: -pause / 5...pause / 5)
        }
        works[cell.name] = work
        board.note(work.standing, of: cell.name)
        writeLog(cell, before, work.standing)
    }

    /// Asks a cell that has the map what it has to say.
    private func listen(to cell: CellMap.Cell) {
        guard var work = works[cell.name], work.standing.problem == nil,
            ClockReading.now().elapsed >= work.listensFrom
        else { return }
        let said = caller.summary(
            of: inOrder(cell, work), after: work.position,
            settled: board.versionSettled(for: cell.name))
        if let said {
            (work.position, work.url) = (said.summary.position, said.url)
            // Only whose clock is ahead says something of later than now.
            work.ahead = max(Milliseconds(0), said.summary.through - ClockReading.now().wall)
            writer.hear(said.summary)
            if !said.wanted.isEmpty { asker.ask(for: cell.name, said.wanted) }
        }
        work.listensFrom = ClockReading.now().elapsed + Self.listenEvery
        works[cell.name] = work
    }

    /// Lets a cell have the silences of the fleet cell, some at a time.
    private func settleSilences(of cell: CellMap.Cell) {
        guard var work = works[cell.name], work.standing.problem == nil,
            let silences = board.silences
        else { return }
        let now = ClockReading.now().elapsed
        guard silences != work.silences || now >= work.silencesFrom else { return }
        let outcome = SilenceHanding(caller: caller).settle(inOrder(cell, work), silences)
        var problem: String?
        switch outcome {
        case .settled: work.silencesFrom = now + Self.silencesEvery
        case .begun: work.silencesFrom = now
        case .failed(let why, let isRefusal):
            problem = why
            work.silencesFrom = now + (isRefusal ? Self.silencesEvery : Self.silencesAgain)
        }
        if let problem, problem != work.silencesProblem {
            writer.log.warning(
                "a cell does not have the silences of the fleet cell",
                metadata: [
                    "cell": "\(String(decoding: cell.name, as: UTF8.self))",
                    "error": "\(problem)",
                ])
        }
        (work.silences, work.silencesProblem) = (silences, problem)
        works[cell.name] = work
    }

    /// Tells a cell of the masses that were decided, or went on, since it was told last.
    private func handMasses(to cell: CellMap.Cell) {
        guard var work = works[cell.name], work.standing.problem == nil,
            work.massesRevision != board.massesRevision
        else { return }
        let now = ClockReading.now().elapsed
        guard now >= work.massesFrom else { return }
        let (masses, revision) = board.masses
        let changed = masses.filter { mass in
            work.masses[mass.number].map { $0 != (mass.members, mass.to) } ?? true
        }
        // Those of which it knows nothing go first, then those that it heard of longest ago.
        let news = changed.sorted { a, b in
            let (one, other) = (work.masses[a.number]?.to, work.masses[b.number]?.to)
            return one == other
                ? a.number < b.number : one ?? .distantPast < other ?? .distantPast
        }.prefix(FleetMass.handedMax)
        if news.count == changed.count { work.massesRevision = revision }
        if news.isEmpty || caller.hand(news.map { $0.by(work.ahead) }, to: inOrder(cell, work)) {
            for mass in news { work.masses[mass.number] = (mass.members, mass.to) }
            if work.masses.count > 2 * masses.count + 64 {
                let held = Set(masses.map(\.number))
                work.masses = work.masses.filter { held.contains($0.key) }
            }
        } else {
            work.massesFrom = now + Self.massesAgain
            work.massesRevision = 0
        }
        works[cell.name] = work
    }

    /// Returns a cell with the address in front that answered last.
    private func inOrder(_ cell: CellMap.Cell, _ work: Work) -> CellMap.Cell {
        var cell = cell
        cell.prefer(work.url)
        return cell
    }

    /// Asks a cell which map it has, and hands it the newer one.
    private func hand(_ map: CellMap, to cell: CellMap.Cell) -> CellCaller.Answer {
        let asked = caller.ask(cell)
        guard case .has(let held, let url) = asked else {
            guard case .hasNone(let url) = asked else { return asked }
            if let origin = board.originAwaited(by: cell.name) {
                let shown = String(decoding: origin, as: UTF8.self)
                return .refuses(
                    "it does not have its people yet: it takes them from the log of cell \(shown), as cluster.split_from says"
                )
            }
            // While others hold a later one the first may not be the fleet's.
            let isLost = map.version == 1 && board.isBehind(map.version)
            return isLost ? asked : caller.hand(map, to: cell, at: url)
        }
        return held.version < map.version ? caller.hand(map, to: cell, at: url) : asked
    }

    private func take(
        _ answer: CellCaller.Answer, of cell: CellMap.Cell, _ now: Timestamp,
        _ standing: inout CellBoard.Standing
    ) {
        (standing.problem, standing.hasAnswered) = (nil, false)
        switch answer {
        case .has(let map, _):
            (standing.version, standing.hasAnswered) = (map.version, isOurs(map, of: cell))
            guard let own = board.map, own != map else { break }
            if let next = self.map(after: own, map, of: cell), keep(next) { break }
            standing.problem =
                map.version == own.version
                ? "it holds another map of this version"
                : "it holds version \(map.version) of the map, which is not this fleet cell's"
        case .hasNone:
            (standing.problem, standing.hasAnswered) = (
                "it did not keep the map that it was handed", true
            )
        case .refuses(let why): standing.problem = why
        case .unreached(let why):
            standing.problem = why
            standing.unreachedSince = standing.unreachedSince ?? now
            return
        }
        standing.unreachedSince = nil
    }

    private func writeLog(
        _ cell: CellMap.Cell, _ before: CellBoard.Standing, _ after: CellBoard.Standing
    ) {
        let name = String(decoding: cell.name, as: UTF8.self)
        if let problem = after.problem, problem != before.problem {
            writer.log.warning(
                "a cell does not have the map",
                metadata: ["cell": "\(name)", "error": "\(problem)"])
        }
        if after.problem == nil, before.problem != nil || before.version != after.version {
            writer.log.info(
                "a cell has the map",
                metadata: ["cell": "\(name)", "version": "\(after.version ?? 0)"])
        }
    }
}
