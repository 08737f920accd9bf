import RollcallCluster
import RollcallTools

/// A process's way to the key-value store: delays, requests and answers that are lost, and answers
/// that come after nobody waits any more.
final class ClusterLink: KeyValueStore, @unchecked Sendable {
    /// Nobody waits longer for an answer.
    static let patience: Int64 = 800

    private let world: ClusterWorld
    private let owner: ClusterProcess
    private var watch:
        (prefix: [UInt8], revision: Int64, receive: @Sendable (KeyValueNews) -> Void)?
    /// An older state, which stale reads are answered from.
    private var stale: VirtualEtcd.State?

    init(_ world: ClusterWorld, _ owner: ClusterProcess) {
        self.world = world
        self.owner = owner
    }

    private var isCut: Bool { world.isCut(owner.host) }

    func run(
        _ transaction: KeyValueTransaction, reply: @escaping @Sendable (KeyValueOutcome) -> Void
    ) {
        let transaction = planted(transaction)
        let there = world.dice.number(1...4)
        let back = world.dice.number(1...4)
        let answer: (Int64, KeyValueOutcome) -> Void = { [world, owner] delay, outcome in
            world.time.after(delay) { owner.deliver { reply(outcome) } }
        }
        let fate = world.isShaky ? world.dice.number(0...99) : 99
        switch fate {
        case 0...3: answer(5, .notRun("no connection"))
        case 4...7: answer(Self.patience, .unknown("the request was lost"))
        case 8...12:
            world.time.after(there) { [self] in if !isCut { _ = world.etcd.run(transaction) } }
            answer(Self.patience, .unknown("the answer was lost"))
        case 13...17:
            // It lands when nobody waits any more.
            let late = Self.patience + world.dice.number(0...3000)
            world.time.after(late) { [self] in
                if !world.isEtcdDown { _ = world.etcd.run(transaction) }
            }
            answer(Self.patience, .unknown("nobody answered in time"))
        default:
            guard !isCut else {
                if world.isEtcdDown, world.dice.chance(500) {
                    return answer(3, .notRun("connection refused"))
                }
                return answer(Self.patience, .unknown("nobody answered in time"))
            }
            world.time.after(there) { [self] in
                guard !isCut else {
                    return answer(Self.patience, .unknown("nobody answered in time"))
                }
                let outcome = read(transaction) ?? world.etcd.run(transaction)
                // What was cut off meanwhile gets no answer.
                world.time.after(back) { [self] in
                    if isCut {
                        answer(Self.patience, .unknown("nobody answered in time"))
                    } else {
                        answer(0, .answered(planted(outcome)))
                    }
                }
            }
        }
    }

    func watch(
        prefix: [UInt8], after revision: Int64,
        receive: @escaping @Sendable (KeyValueNews) -> Void
    ) {
        watch = (prefix, revision, receive)
        pump()
    }

    func forget(before revision: Int64) { world.etcd.forget(before: revision) }

    /// Hands over what the watch has not told yet, unless it stalls.
    func pump() {
        guard let watch, !isCut, !world.isStalled(owner.host) else { return }
        guard let changes = world.etcd.changes(after: watch.revision) else {
            self.watch = nil
            return deliver(.gone, watch.receive)
        }
        guard let last = changes.last else { return }
        self.watch?.revision = last.revision
        for change in changes {
            let rows = change.rows.filter { $0.key.starts(with: watch.prefix) }
            if !rows.isEmpty { deliver(.changed(rows), watch.receive) }
        }
    }

    private func deliver(_ news: KeyValueNews, _ receive: @escaping (KeyValueNews) -> Void) {
        world.time.after(2) { [owner] in owner.deliver { receive(news) } }
    }

    // MARK: - Planted faults

    private func isKey(_ key: [UInt8], _ name: String) -> Bool {
        String(decoding: key, as: UTF8.self).contains("/\(name)")
    }

    private func puts(_ transaction: KeyValueTransaction, _ name: String) -> Bool {
        transaction.operations.contains {
            if case .put(let key, _) = $0 { isKey(key, name) } else { false }
        }
    }

    /// The transaction as a member with the world's fault would send it.
    private func planted(_ given: KeyValueTransaction) -> KeyValueTransaction {
        var transaction = given
        switch world.fault {
        case .beatWithoutCompare where puts(given, "beat"): transaction.comparisons = []
        case .compareNothing where puts(given, "head"): transaction.comparisons = []
        case .compareNoRevision where puts(given, "head"):
            transaction.comparisons.removeAll { if case .revision = $0 { true } else { false } }
        case .deleteSlots where puts(given, "tail"):
            let slots = Array("/w/slot/".utf8)
            transaction.operations.append(.delete(from: slots, to: slots + [0xFF]))
        case .emptyNothing where puts(given, "emptied"):
            transaction.operations.removeAll { if case .delete = $0 { true } else { false } }
        case .emptyEverything where puts(given, "emptied"):
            let slots = Array("/w/slot/".utf8)
            transaction.operations.append(.delete(from: slots, to: slots + [0xFF]))
        case .partsByPosition:
            transaction.operations = transaction.operations.map {
                guard case .put(let key, let value) = $0, isKey(key, "part/") else { return $0 }
                var words = key.split(
                    separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
                words[words.count - 2] = Array("1-1".utf8)[...]
                return .put(key: Array(words.joined(separator: [UInt8(ascii: "/")])), value: value)
            }
        default: break
        }
        return transaction
    }

    /// A read as a careless store answers it, from a state of some time ago; nil for an honest one.
    private func read(_ transaction: KeyValueTransaction) -> KeyValueAnswer? {
        guard world.fault == .staleReads, transaction.comparisons.isEmpty,
            !puts(transaction, "note")
        else { return nil }
        defer { if stale == nil || world.dice.chance(200) { stale = world.etcd.state } }
        guard let stale, world.dice.chance(300) else { return nil }
        let copy = VirtualEtcd()
        copy.restore(stale)
        return copy.run(transaction)
    }

    /// The answer as a member with the world's fault would read it.
    private func planted(_ given: KeyValueAnswer) -> KeyValueAnswer {
        var answer = given
        switch world.fault {
        case .hideBeats:
            for index in answer.found.indices {
                answer.found[index].removeAll { isKey($0.key, "beat") }
            }
        case .trimEverything:
            guard let head = given.found.first?.first, isKey(head.key, "head") else { break }
            let position = String(decoding: head.value, as: UTF8.self).split(separator: " ")[2]
            for index in answer.found.indices
            where answer.found[index].contains(where: { isKey($0.key, "note/") }) {
                for row in answer.found[index].indices {
                    answer.found[index][row].value = Array("\(position) 0".utf8)
                }
            }
        case .refusedIsLanded where !given.isTrue: answer.isTrue = true
        default: break
        }
        return answer
    }
}
