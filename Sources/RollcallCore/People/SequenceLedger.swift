/// The sequences received from one install of the app, as ranges. Source: I1.
package struct Install: Equatable, Sendable {
    /// Ranges kept at most; the oldest hole closes when there would be one more.
    package static let rangesMax = 64

    /// Hash of the install's id; 0 while it has none.
    package var id: UInt64 = 0
    /// Received sequences, ascending, neither touching nor overlapping.
    package var ranges: [ClosedRange<Int64>] = []
    /// The top of the newest closed hole; −1 while none is closed. What arrives at or below it is
    /// late (F13).
    package var closedThrough: Int64 = -1
    /// `captured_at`, as sent, of the update that began the install.
    package var firstCapturedAt: Timestamp?
    /// The newest `captured_at`, as sent, that was taken.
    package var newestCapturedAt: Timestamp?

    /// An install that nothing was received from.
    package init(id: UInt64 = 0) { self.id = id }

    /// Takes `update` once.
    package mutating func take(_ update: Update) -> UpdateOutcome {
        if update.sequence <= closedThrough { return .late }
        // The first range that ends at or behind the sequence's predecessor.
        var index = ranges.count
        while index > 0, ranges[index - 1].upperBound >= update.sequence - 1 { index -= 1 }
        if index < ranges.count, ranges[index].contains(update.sequence) { return .duplicate }
        insert(update.sequence, at: index)
        note(update.capturedAt)
        return .accepted
    }

    /// Remembers what was captured when.
    mutating func note(_ capturedAt: Timestamp?) {
        guard let capturedAt else { return }
        firstCapturedAt = firstCapturedAt ?? capturedAt
        newestCapturedAt = newestCapturedAt.map { max($0, capturedAt) } ?? capturedAt
    }

    /// Inserts a sequence that is in no range; `index` is the first range that may touch it.
    private mutating func insert(_ sequence: Int64, at index: Int) {
        var index = index
        if index < ranges.count, ranges[index].upperBound == sequence - 1 {
            ranges[index] = ranges[index].lowerBound...sequence
            // Behind the last number there is no next range to touch.
            if index + 1 < ranges.count, ranges[index + 1].lowerBound == sequence + 1 {
                ranges[index] = ranges[index].lowerBound...ranges[index + 1].upperBound
                ranges.remove(at: index + 1)
            }
            return
        }
        while index < ranges.count, ranges[index].upperBound < sequence { index += 1 }
        if index < ranges.count, ranges[index].lowerBound - 1 == sequence {
            ranges[index] = sequence...ranges[index].upperBound
            return
        }
        ranges.insert(sequence...sequence, at: index)
        if ranges.count > Self.rangesMax {
            closedThrough = ranges[1].lowerBound - 1
            ranges[0] = ranges[0].lowerBound...ranges[1].upperBound
            ranges.remove(at: 1)
        }
    }
}

/// The sequences received from one person's phones: their last installs. Source: I1, I3.
package struct SequenceLedger: Equatable, Sendable {
    /// Installs remembered at most.
    package static let installsMax = 4
    /// Forgotten installs whose ids are kept at most (F14).
    package static let forgottenMax = 16

    /// Oldest first; the last one is current.
    package var installs: [Install] = []
    /// Hashes of the ids of forgotten installs, oldest first.
    package var forgotten: [UInt64] = []

    package init() {}

    /// Takes `update`, sent under the install id that hashes to `id` (0: none).
    ///
    /// `resets` grows by one when a new install of a known person begins. Also returns the place of
    /// the install that it belongs to.
    package mutating func take(
        _ update: Update, id: UInt64, resets: inout Int
    ) -> (outcome: UpdateOutcome, install: Int) {
        guard let index = install(for: update, id: id, resets: &resets) else { return (.late, 0) }
        return (installs[index].take(update), index)
    }

    /// Takes the update that follows the newest one of the only install, nearly always the next; nil for
    /// any other.
    mutating func takeNext(_ update: Update, id: UInt64) -> UpdateOutcome? {
        guard installs.count == 1, id == 0 || id == installs[0].id,
            let newest = installs[0].ranges.last, newest.upperBound < .max,
            update.sequence == newest.upperBound + 1
        else { return nil }
        installs[0].ranges[installs[0].ranges.count - 1] = newest.lowerBound...update.sequence
        installs[0].note(update.capturedAt)
        return .accepted
    }

    /// True if a late update was captured, as sent, after all that was taken from this person; the next
    /// must be captured after it (P9).
    mutating func isNews(late capturedAt: Timestamp) -> Bool {
        guard let current = installs.indices.last else { return false }
        if let newest = installs.compactMap(\.newestCapturedAt).max(), capturedAt <= newest {
            return false
        }
        installs[current].newestCapturedAt = capturedAt
        return true
    }

    /// Makes the install that `id` names current or known, as a batch without updates does.
    package mutating func meet(id: UInt64, resets: inout Int) {
        if id != 0 { _ = install(for: nil, id: id, resets: &resets) }
    }

    private mutating func install(
        for update: Update?, id: UInt64, resets: inout Int
    ) -> Int? {
        if id != 0 {
            if let known = installs.lastIndex(where: { $0.id == id }) { return known }
            if forgotten.contains(id) { return nil }
            // The first id seen adopts the anonymous install (F14).
            if let current = installs.indices.last, installs.allSatisfy({ $0.id == 0 }) {
                installs[current].id = id
                return current
            }
            return begin(id: id, resets: &resets)
        }
        guard let current = installs.indices.last else { return begin(id: 0, resets: &resets) }
        guard installs[current].id == 0, let update, let capturedAt = update.capturedAt else {
            return current
        }
        if isRestart(update.sequence, capturedAt, installs[current]) {
            return begin(id: 0, resets: &resets)
        }
        // What was captured before the current install's first update belongs to the one before.
        if current > 0, let first = installs[current].firstCapturedAt, capturedAt < first {
            return current - 1
        }
        return current
    }

    /// I3's guess: a sequence inside a taken range or below the lowest, captured later than all
    /// that was taken. A hole between ranges never is one, and where nothing told when it was
    /// captured there is nothing to be later than.
    private func isRestart(
        _ sequence: Int64, _ capturedAt: Timestamp, _ current: Install
    ) -> Bool {
        guard let lowest = current.ranges.first?.lowerBound else { return false }
        guard let newest = installs.compactMap(\.newestCapturedAt).max(), capturedAt > newest else {
            return false
        }
        return sequence < lowest || current.ranges.contains { $0.contains(sequence) }
    }

    private mutating func begin(id: UInt64, resets: inout Int) -> Int {
        if !installs.isEmpty { resets += 1 }
        installs.append(Install(id: id))
        if installs.count > Self.installsMax {
            let oldest = installs.removeFirst()
            if let newest = oldest.newestCapturedAt {
                installs[0].newestCapturedAt = max(installs[0].newestCapturedAt ?? newest, newest)
            }
            if oldest.id != 0 { forgotten.append(oldest.id) }
            if forgotten.count > Self.forgottenMax { forgotten.removeFirst() }
        }
        return installs.count - 1
    }
}
