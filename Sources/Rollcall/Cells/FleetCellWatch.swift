import Logging
import RollcallBasis
import RollcallCore
import RollcallSupport

/// A cell's part in K4: it notices that the fleet cell asks nobody any more, and tells of it if no cell with a
/// lower name does. Of several members only the one that leads is asked, and so only that one notices.
///
/// `@unchecked Sendable` is true because everything mutable is touched by its own thread alone; the
/// mailbox is what other threads see.
package final class FleetCellWatch: @unchecked Sendable {
    /// Milliseconds between two looks.
    private static let lookEvery: Int64 = 1000
    /// Milliseconds between two questions to others while the fleet cell is not heard.
    private static let askEvery: Int64 = 5000
    /// Milliseconds for which others are asked at a look; those that are left are asked at the next.
    private static let othersPatience: Int64 = 5000
    /// Milliseconds of silence for which one that comes first is waited for that does not know what it hears.
    private static let waitsMax: Int64 = 75_000
    private static let timeout = Milliseconds(1000)
    /// The field of `/-/leader` by which a cell says whether the fleet cell asks it.
    static let field = "Rollcall-Fleet-Cell"

    /// The answer of another cell.
    private enum Answer {
        case silent
        /// It takes writes, and says whether it hears the fleet cell.
        case hearing(CellBoard.Hearing)
    }

    /// The decision on telling that the fleet cell is dark.
    private enum Verdict {
        case dark
        /// It is not dark, or another one tells of it.
        case notOurs
        /// Another one will know soon.
        case undecided
        /// Not all have been asked.
        case unfinished
    }

    private let writer: StateWriter
    private let board: CellBoard
    private let mailbox = Mailbox<Void>()
    /// Milliseconds of silence while this thread ran.
    private var silence: Int64 = 0
    private var lookedAt = ClockReading.now().elapsed
    private var asks = 0
    /// Until then nothing is told, and nobody is asked.
    private var reportsFrom = Int64.min / 4
    private let caller = try? HTTPCaller()
    /// The place in the map of the cell that is asked next.
    private var nextAsked = 0

    /// A watch that tells the state writer what it notices.
    package init(writer: StateWriter, board: CellBoard) {
        (self.writer, self.board) = (writer, board)
    }

    /// Starts the thread; false if the system has none left.
    package func start() -> Bool { DetachedThread.start { [self] in run() } }

    /// Ends it after what it is at, and does not wait for that.
    package func close() { mailbox.put(()) }

    private func run() {
        // Whatever is put there ends it.
        while mailbox.takeAll(waiting: Self.lookEvery).isEmpty { look() }
    }

    private func look() {
        let now = ClockReading.now().elapsed
        // While this process stood still nobody could ask it.
        let span = min(now - lookedAt, 2 * Self.lookEvery)
        lookedAt = now
        let asked = board.asks
        let isAsked = asked != asks
        asks = asked
        guard writer.isTakingWrites, let map = board.map else {
            silence = 0
            board.hearing = .unknown
            return
        }
        silence = isAsked ? 0 : silence + span
        if silence >= CellBook.darkAfter.count { board.hearing = .dark }
        guard now >= reportsFrom else { return }
        // Of settings that make it a cell only the log may not know yet.
        guard let isReported = board.isFleetCellDark else { return }
        if isAsked, isReported { return report(isDark: false) }
        guard silence >= CellBook.darkAfter.count else {
            nextAsked = 0
            return
        }
        let verdict = verdict(map, asked)
        if verdict == .unfinished { return }
        nextAsked = 0
        reportsFrom = now + Self.askEvery
        // It may have asked meanwhile.
        guard board.asks == asked, writer.isTakingWrites else { return }
        if verdict == .dark, !isReported { report(isDark: true) }
        if verdict == .notOurs, isReported { report(isDark: false) }
    }

    /// Asks others, some at a look.
    private func verdict(_ map: CellMap, _ asked: Int) -> Verdict {
        guard case .cell(let name) = board.role, let own = map.place(of: name) else {
            return .undecided
        }
        let until = ClockReading.now().elapsed + Self.othersPatience
        while nextAsked < map.cells.count {
            guard ClockReading.now().elapsed < until, board.asks == asked else {
                return .unfinished
            }
            let place = nextAsked
            nextAsked += 1
            if place == own { continue }
            switch answer(of: map.cells[place]) {
            // It is there, and only the way to this cell is not.
            case .hearing(.heard): return .notOurs
            // One that comes first tells of it; what it does not know yet it will, unless it never does.
            case .hearing(.dark) where place < own: return .notOurs
            case .hearing(.unknown) where place < own && silence < Self.waitsMax:
                return .undecided
            case .hearing, .silent: break
            }
        }
        return .dark
    }

    private func answer(of cell: CellMap.Cell) -> Answer {
        guard let caller else { return .silent }
        for url in cell.urls {
            var call = HTTPCall(.get, String(decoding: url, as: UTF8.self) + Resource.leader.path)
            (call.connectTimeout, call.timeout) = (Self.timeout, Self.timeout)
            call.fieldsKept = [Self.field]
            // A password may be asked for: who asks for one is there.
            guard let answer = try? caller.answer(to: call), answer.status < 500 else { continue }
            let value = answer.fields.first?.value
            return .hearing(CellBoard.Hearing.allCases.first { $0.rawValue == value } ?? .unknown)
        }
        return .silent
    }

    private func report(isDark: Bool) {
        writer.write(.fleetCell(isDark: isDark)) { [log = writer.log] outcome in
            guard case .committed = outcome else { return }
            if isDark {
                log.error("nothing is heard of the fleet cell: nobody decides about many")
            } else {
                log.info("the fleet cell is heard again")
            }
        }
        // Until it is committed nothing is told again.
        reportsFrom = ClockReading.now().elapsed + Self.askEvery
    }
}
