import RollcallBasis
import RollcallCore
import RollcallSupport

/// The fleet cell's part in K3: it asks all cells whether anybody is active in circles that one of them has
/// to know about, and tells that one what they say. It keeps nothing of it.
///
/// `@unchecked Sendable` is true because everything mutable is touched by its own thread alone; the
/// mailbox is what other threads see.
final class PeerGroupAsker: @unchecked Sendable {
    private enum Message {
        /// A cell has to know this.
        case wanted(cell: [UInt8], PeerGroups)
        case close
    }

    /// Milliseconds between two looks.
    private static let lookEvery: Int64 = 1000
    /// Groups that are asked for at once, of all cells together; a cell asks again for what is left out.
    private static let groupsMax = 4000

    private let board: CellBoard
    private let caller: CellCaller
    private let mailbox = Mailbox<Message>()

    /// An asker that shows cells `token`.
    init(token: Secret?, board: CellBoard) {
        self.board = board
        caller = CellCaller(token: token)
    }

    /// Starts the thread; false if the system has none left.
    func start() -> Bool { DetachedThread.start { [self] in run() } }

    /// Ends it after what it is at, and does not wait for that.
    func close() { mailbox.put(.close) }

    /// Asks for what a cell has to know.
    func ask(for cell: [UInt8], _ groups: PeerGroups) {
        mailbox.put(.wanted(cell: cell, groups))
    }

    private func run() {
        while true {
            var wanted: [(cell: [UInt8], groups: PeerGroups)] = []
            for message in mailbox.takeAll(waiting: Self.lookEvery) {
                guard case .wanted(let cell, let groups) = message else { return }
                if let place = wanted.firstIndex(where: { $0.cell == cell }) {
                    guard wanted[place].groups.count < Self.groupsMax else { continue }
                    wanted[place].groups.circles += groups.circles
                    wanted[place].groups.regions += groups.regions
                } else {
                    wanted.append((cell, groups))
                }
            }
            if let map = board.map, !wanted.isEmpty { ask(map, wanted) }
        }
    }

    private func ask(_ map: CellMap, _ wanted: [(cell: [UInt8], groups: PeerGroups)]) {
        var asked = PeerGroups()
        var (circles, regions) = (Set<[UInt8]>(), Set<[UInt8]>())
        for (_, groups) in wanted.shuffled() where asked.count < Self.groupsMax {
            asked.circles += groups.circles.filter { circles.insert($0).inserted }
            asked.regions += groups.regions.filter { regions.insert($0).inserted }
        }
        var active: [[UInt8]: PeerGroups] = [:]
        // Of one that is away, nothing is known of whoever is there.
        for cell in map.cells
        where board.standing(of: cell.name).problem == nil
            && (wanted.count > 1 || wanted[0].cell != cell.name)
        {
            active[cell.name] = caller.active(of: asked, at: cell)
        }
        for (name, groups) in wanted {
            guard let cell = map.cells.first(where: { $0.name == name }) else { continue }
            let others = map.cells.map(\.name).filter { $0 != name }
            let answers = others.compactMap { active[$0] }
            let isWhole = answers.count == others.count
            let accompanied = Self.union(of: answers)
            let (found, left) = Self.divided(groups, by: accompanied, asked: (circles, regions))
            let nobody = isWhole ? left : PeerGroups()
            if found.isEmpty, nobody.isEmpty { continue }
            caller.handOver(to: cell, active: found, nobody: nobody)
        }
    }

    private static func union(
        of answers: [PeerGroups]
    ) -> (circles: Set<[UInt8]>, regions: Set<[UInt8]>) {
        (Set(answers.flatMap(\.circles)), Set(answers.flatMap(\.regions)))
    }

    /// Divides groups into those in which somebody is, and the rest of what was asked for.
    private static func divided(
        _ groups: PeerGroups, by active: (circles: Set<[UInt8]>, regions: Set<[UInt8]>),
        asked: (circles: Set<[UInt8]>, regions: Set<[UInt8]>)
    ) -> (active: PeerGroups, left: PeerGroups) {
        var (found, left) = (groups, groups)
        found.circles.removeAll { !active.circles.contains($0) }
        found.regions.removeAll { !active.regions.contains($0) }
        left.circles.removeAll { active.circles.contains($0) || !asked.circles.contains($0) }
        left.regions.removeAll { active.regions.contains($0) || !asked.regions.contains($0) }
        return (found, left)
    }
}
