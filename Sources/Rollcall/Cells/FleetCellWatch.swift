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
    /// Milliseconds for which others are asked; those that are left then count as silent.
    private static let othersPatience: Int64 = 10_000
    private static let timeout = Milliseconds(1000)
    /// The field of `/-/leader` by which a cell says whether the fleet cell asks it.
    static let field = "Rollcall-Fleet-Cell"

    /// The answer of another cell.
    private enum Answer {
        case silent
        /// It takes writes, and says whether it hears the fleet cell.
        case hearing(CellBoard.Hearing)
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
        if isAsked { board.hearing = .heard }
        if silence >= CellBook.darkAfter.count { board.hearing = .dark }
        guard now >= reportsFrom else { return }
        if isAsked, board.isFleetCellDark { return report(isDark: false) }
        guard board.hearing == .dark else { return }
        reportsFrom = now + Self.askEvery
        if let isDark = verdict(map), isDark != board.isFleetCellDark,
            // It may have asked meanwhile.
            board.asks == asked, writer.isTakingWrites
        {
            report(isDark: isDark)
        }
    }

    /// Returns whether this cell is to tell that the fleet cell is dark; nil if that stays as it is.
    private func verdict(_ map: CellMap) -> Bool? {
        guard case .cell(let name) = board.role, let own = map.place(of: name) else { return nil }
        let until = ClockReading.now().elapsed + Self.othersPatience
        for (place, cell) in map.cells.enumerated() where place != own {
            guard ClockReading.now().elapsed < until else { break }
            switch answer(of: cell) {
            // It is there, and only the way to this cell is not.
            case .hearing(.heard): return false
            // One that comes first tells of it; what it does not know yet it will.
            case .hearing(.dark) where place < own: return false
            case .hearing(.unknown) where place < own: return nil
            case .hearing, .silent: break
            }
        }
        return true
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
