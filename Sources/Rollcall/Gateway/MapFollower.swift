import Logging
import RollcallBasis
import RollcallCore
import RollcallSupport
import Synchronization

/// Follows the map of the fleet's cells for a gateway, which has no store: it asks the fleet cell for it, and
/// holds the newest that it was told. Source: K5.
///
/// `@unchecked Sendable` is true because everything mutable is touched by its own thread alone; the mailbox
/// and the mutex are what other threads see.
final class MapFollower: @unchecked Sendable {
    /// Milliseconds between two questions, while there is a map.
    private static let askEvery: Int64 = 15_000
    /// Milliseconds between two questions, while cells say that the map is not what is held.
    private static let hurriedEvery: Int64 = 250
    /// Milliseconds between two questions while there is none, and between two looks at the clock.
    private static let lookEvery: Int64 = 500

    /// From a question to its answer, while there is a map: somebody may wait for it.
    private static let patience = Milliseconds(1000)
    /// From a question to its answer, before there is a map.
    private static let patienceAtFirst = Milliseconds(5000)

    private struct State {
        var map: CellMap?
        /// The reason why there was no answer last; nil after one.
        var problem: String?
        /// Those who wait for the answer to the next question, or for a map of a version.
        var waiting: [(version: Int64, then: @Sendable (CellMap?) -> Void)] = []
    }

    /// The address that answered last in front.
    private var fleetCell: CellMap.Cell
    private let caller: CellCaller
    private let log: Logger
    private let onTurn: @Sendable () -> Void
    private enum Order: Sendable { case hurry, end }

    private let mailbox = Mailbox<Order>()
    /// True from the word of a later map to the next question for it: nobody need be told twice.
    private let isHurried = Atomic(false)
    private let state = Mutex(State())
    private var isLogged = false

    /// A follower that asks the fleet cell, which asks for `token`; `onTurn` is called twice a second.
    init(
        _ fleetCell: CellMap.Cell, token: Secret?, log: Logger,
        onTurn: @escaping @Sendable () -> Void
    ) {
        self.fleetCell = fleetCell
        caller = CellCaller(token: token)
        self.log = log
        self.onTurn = onTurn
    }

    /// Starts the thread; false if the system has none left.
    func start() -> Bool { DetachedThread.start { [self] in run() } }

    /// Ends the thread after what it is at.
    func close() { mailbox.put(.end) }

    /// A cell answered by a map of that version: if it is a later one than the one that is held, the fleet cell is
    /// asked at once.
    func heard(of version: Int64) {
        guard version > map?.version ?? 0, !isHurried.exchange(true, ordering: .relaxed) else {
            return
        }
        mailbox.put(.hurry)
    }

    /// The map that is held; nil before there is one.
    var map: CellMap? { state.withLock { $0.map } }

    /// The reason why the fleet cell told none when it was asked last; nil if it did.
    var problem: String? { state.withLock { $0.problem } }

    /// Hands over a map of `version` or a later one, at once if it is held, else what is held once the fleet cell
    /// was asked again; if that did not answer when it was asked last, nobody waits for it.
    func map(of version: Int64, then: @escaping @Sendable (CellMap?) -> Void) {
        let held: CellMap?? = state.withLock { state in
            if let map = state.map, map.version >= version { return map }
            if state.problem != nil { return .some(state.map) }
            state.waiting.append((version, then))
            return nil
        }
        heard(of: version)
        if let held { then(held) }
    }

    private func takeWaiting(
        where isDue: (_ version: Int64) -> Bool = { _ in true }
    ) -> [@Sendable (CellMap?) -> Void] {
        state.withLock { state in
            let due = state.waiting.filter { isDue($0.version) }
            state.waiting.removeAll { isDue($0.version) }
            return due.map(\.then)
        }
    }

    /// Hands the map over, on a thread of its own: much may be made of it, and the next question comes in time.
    private func handOver(to waiting: [@Sendable (CellMap?) -> Void]) {
        guard !waiting.isEmpty else { return }
        let handOver = { @Sendable [map] in for then in waiting { then(map) } }
        if !DetachedThread.start(handOver) { handOver() }
    }

    private func run() {
        var asked = Int64.min / 4
        var orders: [Order] = []
        while !orders.contains(.end) {
            onTurn()
            let isHurried = isHurried.load(ordering: .relaxed)
            let pause =
                isHurried ? Self.hurriedEvery : map == nil ? Self.lookEvery : Self.askEvery
            if ClockReading.now().elapsed - asked >= pause {
                self.isHurried.store(false, ordering: .relaxed)
                // Who comes from now on may want what the answer on its way does not know yet.
                let waiting = takeWaiting()
                ask()
                let (held, isUntold) = (map?.version ?? 0, problem != nil)
                handOver(to: waiting + takeWaiting { $0 <= held || isUntold })
                asked = ClockReading.now().elapsed
            }
            orders = mailbox.takeAll(waiting: isHurried ? Self.hurriedEvery : Self.lookEvery)
        }
        handOver(to: takeWaiting())
    }

    private func ask() {
        let problem: String
        var trouble: String?
        let patience = map == nil ? Self.patienceAtFirst : Self.patience
        switch caller.map(of: fleetCell, timeout: patience) {
        case .has(let found, let url):
            fleetCell.prefer(url)
            return keep(found)
        case .hasNone: problem = "it has not made the map yet"
        case .refuses(let why): problem = why
        // Where it is, strangers need not know who ask whether we are ready.
        case .unreached(let why): (problem, trouble) = ("it does not answer", why)
        }
        state.withLock { $0.problem = problem }
        guard !isLogged else { return }
        isLogged = true
        log.warning(
            "the fleet cell does not tell the map of its cells",
            metadata: ["error": "\(trouble ?? problem)"])
    }

    private func keep(_ found: CellMap) {
        isLogged = false
        let isNew = state.withLock { state in
            state.problem = nil
            guard found.version > state.map?.version ?? 0 else { return false }
            state.map = found
            return true
        }
        guard isNew else { return }
        log.info(
            "the gateway has the map of the fleet's cells",
            metadata: ["version": "\(found.version)", "cells": "\(found.cells.count)"])
    }
}
