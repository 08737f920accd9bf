import RollcallCore
import RollcallSupport
import Synchronization

/// Those who wait for events at a gateway. All are asked for again once a second, at the same instant, and who
/// asks the same of a cell as somebody else shares the question: so none of them holds a thread, however many
/// they are. Source: K5.
final class EventWaits: Sendable {
    /// Milliseconds between two looks.
    private static let every: Int64 = 1000

    /// A question that is the same whoever asks it: who may see what is a matter of its fields.
    private struct Question: Hashable {
        let cell: [UInt8]
        let target: String
        let fields: [String]
    }

    private enum Order: Sendable {
        case again(@Sendable () -> Void)
        /// Nobody waits any more.
        case hurry
        case end
    }

    private let calls: CellCalls
    private let mailbox = Mailbox<Order>()
    /// Those who get the answer to each question that is on its way.
    private let asked = Mutex<[Question: [CellCalls.Reply]]>([:])

    /// Waits that ask by `calls`, which take no place of anybody else.
    init(_ calls: CellCalls) { self.calls = calls }

    /// Starts the thread; false if the system has none left.
    func start() -> Bool { DetachedThread.start { [self] in run() } }

    /// Asks for all at once, and for those who come from now on.
    func hurry() { mailbox.put(.hurry) }

    /// Ends the thread, once it has asked for all.
    func close() {
        mailbox.put(.end)
        calls.close()
    }

    /// Has `ask` called at the next look, on a thread that must not wait.
    func again(_ ask: @escaping @Sendable () -> Void) { mailbox.put(.again(ask)) }

    private func run() {
        var waiting: [@Sendable () -> Void] = []
        var (isHurried, isOver) = (false, false)
        while !isOver {
            var now = ClockReading.now().elapsed
            let due = (now / Self.every + 1) * Self.every
            while now < due, !isOver, !isHurried || waiting.isEmpty {
                for order in mailbox.takeAll(waiting: due - now) {
                    switch order {
                    case .again(let ask): waiting.append(ask)
                    case .hurry: isHurried = true
                    case .end: isOver = true
                    }
                }
                now = ClockReading.now().elapsed
            }
            for ask in waiting { ask() }
            waiting = []
        }
    }

    /// Asks each of some cells, and goes on with what came of all.
    func send(
        _ requests: [(request: CellRequest, cell: CellMap.Cell)],
        then: @escaping @Sendable ([CellOutcome]) -> Void
    ) {
        let gathering = CellGathering(requests.count, then: then)
        for (place, (request, cell)) in requests.enumerated() {
            send(request, to: cell) { gathering.take($0, at: place) }
        }
    }

    private func send(
        _ request: CellRequest, to cell: CellMap.Cell, reply: @escaping CellCalls.Reply
    ) {
        let question = Question(
            cell: cell.name, target: request.target,
            fields: request.headers.map { "\($0.name): \($0.value)" })
        let isFirst = asked.withLock { asked in
            asked[question, default: []].append(reply)
            return asked[question]?.count == 1
        }
        guard isFirst else { return }
        calls.send(request, to: cell, arrival: ClockReading.now().elapsed) { [self] outcome in
            let replies = asked.withLock { $0.removeValue(forKey: question) } ?? []
            for reply in replies { reply(outcome) }
        }
    }
}
