import RollcallCore

/// The turn log as a ring of keys in a key-value store (S2, S12).
///
/// An append is one transaction: it compares the head's value and revision, puts the entry into its
/// slot and the new head in its place. What is too large for one request is put in parts before, each
/// of which compares the head too; nobody sees them until the entry in the slot names them. Nothing
/// deletes slots: an append overwrites one of a position that is trimmed, and where there is none the
/// log is full.
package final class RingLog: TurnLog {
    /// The sizes of a log.
    package struct Sizes: Sendable {
        /// Entries between the tail and the head at most.
        package var slots: Int64 = 65_536
        /// Bytes of an entry, and of a part, in one request: half of what etcd takes, for the
        /// gateway's Base64.
        package var partBytes = 512 << 10

        /// The standard ones.
        package init() {}
    }

    let store: any KeyValueStore
    let keys: RingKeys
    private let sizes: Sizes

    /// The log under a prefix of a store's keys.
    package init(_ store: any KeyValueStore, prefix: [UInt8], sizes: Sizes = Sizes()) {
        self.store = store
        self.sizes = sizes
        keys = RingKeys(prefix: prefix, slots: sizes.slots)
    }

    // MARK: - The end

    /// Reads head, tail, beat, notes and what stands beside them in one transaction.
    package func head(reply: @escaping @Sendable (HeadOutcome) -> Void) {
        let keys = keys
        store.run(KeyValueTransaction(Self.lookAtEnd(keys))) { outcome in
            switch outcome {
            case .answered(let answer):
                guard let view = Self.view(answer.found[...], keys) else {
                    let isNone = answer.found.first?.isEmpty == true
                    return reply(isNone ? .none : .failed("the log's head makes no sense"))
                }
                reply(.view(view))
            case .notRun(let why), .unknown(let why): reply(.failed(why))
            }
        }
    }

    private static func lookAtEnd(_ keys: RingKeys) -> [KeyValueTransaction.Operation] {
        [
            .get(key: keys.head), .get(key: keys.tail), .get(key: keys.beat),
            .get(key: keys.emptied), .get(key: keys.adopted),
            .range(from: keys.notes, to: KeyValueRow.behind(keys.notes), limit: 100),
        ]
    }

    /// The number of operations of `lookAtEnd`.
    private static let lookCount = 6

    /// The view of what `lookAtEnd` found; nil without a head that makes sense.
    private static func view(_ found: ArraySlice<[KeyValueRow]>, _ keys: RingKeys) -> LogView? {
        let found = Array(found)
        guard found.count == lookCount, let head = found[0].first.flatMap({ RingValue.head($0) })
        else {
            return nil
        }
        var view = LogView(
            head: head, beat: found[2].first?.revision ?? 0,
            tail: found[1].first.flatMap { RingValue.number($0.value) } ?? 0,
            notes: found[5].compactMap { RingValue.note($0, prefix: keys.notes) },
            isReleased: found[2].first.flatMap { RingValue.number($0.value) } == -head.position)
        view.emptied = found[3].first.flatMap { RingValue.number($0.value) } ?? 0
        view.adoption = found[4].first.flatMap { RingValue.adoption($0.value) }
        return view
    }

    // MARK: - Appending

    /// Puts the first entry and the head, if there is no head.
    package func create(
        log: UInt64, _ entry: LogEntry, reply: @escaping @Sendable (AppendOutcome) -> Void
    ) {
        let head = LogHead(
            log: log, position: entry.position, hash: entry.hash, reign: entry.origin.reign,
            revision: 0)
        let transaction = KeyValueTransaction(
            if: [.absent(key: keys.head)],
            [
                .put(key: keys.slot(entry.position), value: RingSlot.whole(entry.bytes).bytes),
                .put(key: keys.head, value: RingValue.head(head)),
            ])
        store.run(transaction) { reply(Self.outcome($0, head)) }
    }

    /// Puts parts if there must be some, then slot and head in one transaction; `unavailable` if the
    /// position's slot holds what is not trimmed.
    package func append(
        _ entry: LogEntry, after view: LogView,
        reply: @escaping @Sendable (AppendOutcome) -> Void
    ) {
        precondition(entry.position == view.head.position + 1, "the entry that follows")
        // The tail only moves on: one that was seen earlier leaves less room, never more.
        guard entry.position - view.tail <= sizes.slots else {
            return reply(.unavailable("the log is full: a member must hold what is in it"))
        }
        let bytes = entry.bytes
        guard bytes.count > sizes.partBytes else {
            return put(.whole(bytes), of: entry, after: view, reply)
        }
        putParts(bytes, from: 0, of: entry, after: view, reply)
    }

    /// Puts the parts from number `index` on, one after the other, and the slot behind the last.
    private func putParts(
        _ bytes: [UInt8], from index: Int, of entry: LogEntry, after view: LogView,
        _ reply: @escaping @Sendable (AppendOutcome) -> Void
    ) {
        let begin = index * sizes.partBytes
        guard begin < bytes.count else {
            let count = (bytes.count + sizes.partBytes - 1) / sizes.partBytes
            let slot = RingSlot.parts(count: count, hash: StableHash.of(bytes.span, bytes.indices))
            return put(slot, of: entry, after: view, reply)
        }
        let part = Array(bytes[begin..<min(begin + sizes.partBytes, bytes.count)])
        let transaction = KeyValueTransaction(
            if: isEnd(view.head),
            [.put(key: keys.part(entry.position, entry.origin, index), value: part)])
        store.run(transaction) { [self] outcome in
            switch outcome {
            case .answered(let answer) where answer.isTrue:
                putParts(bytes, from: index + 1, of: entry, after: view, reply)
            case .answered: reply(.refused)
            case .notRun(let why): reply(.unavailable(why))
            // A part may come late: nothing names it, and a second one is equal.
            case .unknown(let why): reply(.unknown(why))
            }
        }
    }

    private func put(
        _ slot: RingSlot, of entry: LogEntry, after view: LogView,
        _ reply: @escaping @Sendable (AppendOutcome) -> Void
    ) {
        let head = view.head
        let next = LogHead(
            log: head.log, position: entry.position, hash: entry.hash, reign: entry.origin.reign,
            revision: 0)
        var transaction = KeyValueTransaction(
            if: isEnd(head),
            [
                .put(key: keys.slot(entry.position), value: slot.bytes),
                .put(key: keys.head, value: RingValue.head(next)),
            ])
        // What was trimmed may name people who were erased (S13). The comparison of the head is what
        // makes it safe: no later entry can stand there.
        let emptied = view.emptiedNext(slots: sizes.slots)
        if let emptied {
            transaction.operations += [
                .delete(
                    from: keys.slot(emptied.lowerBound), to: keys.behindSlot(emptied.upperBound)),
                .put(key: keys.emptied, value: RingValue.number(emptied.upperBound)),
            ]
        }
        let isLast = emptied?.upperBound == view.tail
        store.run(transaction) { [store] outcome in
            let outcome = Self.outcome(outcome, next)
            reply(outcome)
            // The engine keeps what keys held until it is told to forget it.
            if isLast, case .landed(let head) = outcome { store.forget(before: head.revision) }
        }
    }

    /// The log still ends at `head`, by value and revision.
    func isEnd(_ head: LogHead) -> [KeyValueTransaction.Comparison] {
        [
            .value(key: keys.head, is: RingValue.head(head)),
            .revision(key: keys.head, is: head.revision),
        ]
    }

    static func outcome(_ outcome: KeyValueOutcome, _ head: LogHead) -> AppendOutcome {
        switch outcome {
        case .answered(let answer) where answer.isTrue:
            var head = head
            head.revision = answer.revision
            return .landed(head)
        case .answered: return .refused
        case .notRun(let why): return .unavailable(why)
        case .unknown(let why): return .unknown(why)
        }
    }

    /// Changes the beat's key, if the head is as it was seen.
    package func beat(
        after head: LogHead, reply: @escaping @Sendable (AppendOutcome) -> Void
    ) {
        beat(head.position, head, reply)
    }

    /// Changes it to what is no position, if the head is as it was seen.
    package func release(
        after head: LogHead, reply: @escaping @Sendable (AppendOutcome) -> Void
    ) {
        beat(-head.position, head, reply)
    }

    private func beat(
        _ number: Int64, _ head: LogHead, _ reply: @escaping @Sendable (AppendOutcome) -> Void
    ) {
        let transaction = KeyValueTransaction(
            if: isEnd(head), [.put(key: keys.beat, value: RingValue.number(number))])
        store.run(transaction) { reply(Self.outcome($0, head)) }
    }

    // MARK: - Reading

    /// Reads slots with the head in one transaction, up to the ring's end, and the parts of entries
    /// that have some.
    package func read(
        after position: Int64, limit: Int, reply: @escaping @Sendable (ReadOutcome) -> Void
    ) {
        // A range ends where the ring does: what follows is read next time.
        let first = position + 1
        let last = min(first + Int64(limit) - 1, (first / sizes.slots + 1) * sizes.slots - 1)
        let range = KeyValueTransaction.Operation.range(
            from: keys.slot(first), to: keys.behindSlot(last), limit: limit)
        store.run(KeyValueTransaction(Self.lookAtEnd(keys) + [range])) { [self] outcome in
            switch outcome {
            case .answered(let answer):
                guard answer.found.count == Self.lookCount + 1,
                    let view = Self.view(answer.found.prefix(Self.lookCount), keys)
                else { return reply(.failed("the log's head makes no sense")) }
                collect(answer.found[Self.lookCount][...], [], after: position, view, reply)
            case .notRun(let why), .unknown(let why): reply(.failed(why))
            }
        }
    }

    /// Takes the entries out of slots that were read in one transaction with `view`, and reads the
    /// parts of those that have some.
    private func collect(
        _ rows: ArraySlice<KeyValueRow>, _ entries: [LandedEntry], after position: Int64,
        _ view: LogView, _ reply: @escaping @Sendable (ReadOutcome) -> Void
    ) {
        var rows = rows
        var entries = entries
        while let row = rows.popFirst() {
            let next = position + Int64(entries.count) + 1
            switch RingSlot(bytes: row.value) {
            case .whole(let bytes):
                guard let entry = LogEntry(bytes: bytes) else {
                    return reply(.failed("the slot of position \(next) makes no sense"))
                }
                // The slot still holds the entry of a round before, or already that of a later one.
                guard entry.position == next else {
                    return finish(entries, after: position, view, reply)
                }
                entries.append(LandedEntry(entry, revision: row.revision))
            case .parts(let count, let hash):
                let (rest, known) = (rows, entries)
                return readParts(of: next, count, hash) { [self] found in
                    switch found {
                    case .failure(let why): reply(.failed(why.text))
                    case .success(nil): finish(known, after: position, view, reply)
                    case .success(let entry?):
                        let landed = LandedEntry(entry, revision: row.revision)
                        collect(rest, known + [landed], after: position, view, reply)
                    }
                }
            case nil: return reply(.failed("the slot of position \(next) makes no sense"))
            }
        }
        finish(entries, after: position, view, reply)
    }

    private func finish(
        _ entries: [LandedEntry], after position: Int64, _ view: LogView,
        _ reply: (ReadOutcome) -> Void
    ) {
        // What the tail has passed may be overwritten at any time.
        if position < view.tail, entries.isEmpty { return reply(.trimmed(view)) }
        // Parts may have been read later than the head.
        let count = max(0, view.head.position - position)
        reply(.entries(Array(entries.prefix(Int(count))), view))
    }

    private struct ReadFailure: Error {
        var text: String
    }

    /// Reads the parts of an entry and puts it together; nil if they are not, or no longer, those of
    /// the slot.
    private func readParts(
        of position: Int64, _ count: Int, _ hash: UInt64,
        _ reply: @escaping @Sendable (Result<LogEntry?, ReadFailure>) -> Void
    ) {
        gather(Array(keys.parts(of: position)), position, []) { result in
            reply(
                result.map { rows in
                    // Of several who tried, the one whose bytes the slot vouches for.
                    let byOrigin = Dictionary(grouping: rows) { Array($0.key.dropLast(19)) }
                    for parts in byOrigin.values where parts.count == count {
                        let bytes = parts.flatMap(\.value)
                        guard StableHash.of(bytes.span, bytes.indices) == hash else { continue }
                        return LogEntry(bytes: bytes).flatMap {
                            $0.position == position ? $0 : nil
                        }
                    }
                    return nil
                })
        }
    }

    /// Reads all parts of a position from key `from` on, one a request: each is about as large as an
    /// answer may be.
    private func gather(
        _ from: [UInt8], _ position: Int64, _ found: [KeyValueRow],
        _ reply: @escaping @Sendable (Result<[KeyValueRow], ReadFailure>) -> Void
    ) {
        let end = KeyValueRow.behind(keys.parts(of: position))
        let transaction = KeyValueTransaction([.range(from: from, to: end, limit: 1)])
        store.run(transaction) { [self] outcome in
            switch outcome {
            case .answered(let answer):
                guard let row = answer.found.first?.first else { return reply(.success(found)) }
                gather(row.key + [0], position, found + [row], reply)
            case .notRun(let why), .unknown(let why): reply(.failure(ReadFailure(text: why)))
            }
        }
    }

    // MARK: - Watching

    /// Follows all keys of the log; of an entry in parts it is told that it is there.
    package func watch(after revision: Int64, receive: @escaping @Sendable (LogNews) -> Void) {
        let keys = keys
        store.watch(prefix: keys.prefix + [UInt8(ascii: "/")], after: revision) { news in
            guard case .changed(let rows) = news else { return receive(.lost) }
            for row in rows {
                if row.key == keys.beat {
                    let isOver = RingValue.number(row.value).map { $0 < 0 } ?? false
                    receive(
                        isOver
                            ? .released(revision: row.revision) : .beat(revision: row.revision))
                } else if row.key.starts(with: keys.slotPrefix) {
                    switch RingSlot(bytes: row.value) {
                    case .whole(let bytes):
                        guard let entry = LogEntry(bytes: bytes) else { continue }
                        receive(.entry(LandedEntry(entry, revision: row.revision)))
                    // Its parts came before it: whoever reads from now on finds all of it.
                    case .parts: receive(.grown(revision: row.revision))
                    case nil: continue
                    }
                }
            }
        }
    }
}
