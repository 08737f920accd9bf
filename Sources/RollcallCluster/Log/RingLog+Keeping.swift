import RollcallCore

/// The log moves its tail on, keeps what members say of themselves, and is begun anew in another's
/// place.
extension RingLog {
    /// Moves the tail on, and removes the parts behind it.
    package func trim(through position: Int64, _ view: LogView) {
        guard position > view.tail, position < view.head.position else { return }
        let comparison: KeyValueTransaction.Comparison =
            view.tail == 0
            ? .absent(key: keys.tail)
            : .value(key: keys.tail, is: RingValue.number(view.tail))
        // Parts go with their entries, also those that nobody's slot ever named.
        let parts = KeyValueTransaction.Operation.delete(
            from: keys.parts(of: 0), to: keys.parts(of: position + 1))
        let transaction = KeyValueTransaction(
            if: [comparison], [.put(key: keys.tail, value: RingValue.number(position)), parts])
        store.run(transaction) { [store] outcome in
            guard case .answered(let answer) = outcome, answer.isTrue else { return }
            store.forget(before: view.head.revision)
        }
    }

    /// Puts the first entry and the head of another log where the lost one was, and takes all else
    /// away: what members said was of that one.
    package func adopt(
        _ adoption: LogAdoption, _ entry: LogEntry, over lost: LogHead?,
        reply: @escaping @Sendable (AppendOutcome) -> Void
    ) {
        let head = LogHead(
            log: adoption.log, position: entry.position, hash: entry.hash,
            reign: entry.origin.reign, revision: 0)
        let own = keys.slot(entry.position)
        let parts = keys.allParts
        var operations: [KeyValueTransaction.Operation] = [
            .put(key: own, value: RingSlot.whole(entry.bytes).bytes),
            .put(key: keys.head, value: RingValue.head(head)),
            .put(key: keys.adopted, value: RingValue.adoption(adoption)),
            // A transaction names no key twice.
            .delete(from: keys.allSlots.from, to: own),
            .delete(from: keys.behindSlot(entry.position), to: keys.allSlots.to),
            .delete(from: parts.from, to: parts.to),
            .delete(from: keys.notes, to: KeyValueRow.behind(keys.notes)),
        ]
        operations += [keys.tail, keys.emptied, keys.beat].map { .delete(from: $0, to: $0 + [0]) }
        let transaction = KeyValueTransaction(
            if: lost.map { isEnd($0) } ?? [.absent(key: keys.head)], operations)
        store.run(transaction) { reply(Self.outcome($0, head)) }
    }

    /// Puts the member's own key.
    package func note(_ note: MemberNote) {
        let put = KeyValueTransaction.Operation.put(
            key: keys.note(note.member), value: RingValue.note(note))
        store.run(KeyValueTransaction([put])) { _ in }
    }

    /// Takes the member's key away.
    package func forget(member: [UInt8]) {
        let key = keys.note(member)
        store.run(KeyValueTransaction([.delete(from: key, to: key + [0])])) { _ in }
    }
}
