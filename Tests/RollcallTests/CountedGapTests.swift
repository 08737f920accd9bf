import RollcallCore
import Testing

@testable import RollcallStore

/// Gaps of a mass are written many at once: the rows are those that one after the other would be.
/// Source: J14, C1.
@Suite struct CountedGapTests {
    private static let most = CountedGap.rowsMax
    /// As many as fill a step if none of them is there.
    private static let new = CountedGap.newRowsMax

    /// A person's gap as it is decided.
    private func decision(
        _ id: Int64, gap: Int64, of person: Int, closedAt: Timestamp = .distantPast,
        suspected: GapCause = .noNetwork
    ) -> NumberedDecision {
        var report = GapReport()
        report.number = gap
        report.state = closedAt == .distantPast ? .open : .closed
        report.suspected = suspected
        report.openedAt = Timestamp(milliseconds: 1_000_000 + gap)
        report.closedAt = closedAt
        // Empty ones too, and some longer than a word.
        report.facts.region = Array(repeating: UInt8(ascii: "a"), count: Int(gap) % 11)
        return NumberedDecision(
            decision: .gap(
                at: Timestamp(milliseconds: 2_000_000 + id), number: person, GapDecision(report)),
            id: id, previous: 0)
    }

    /// What a store holds of gaps once a turn each has written these, and whether each row is whole.
    private func stored(_ turns: [[NumberedDecision]]) throws -> [String] {
        let directory = TemporaryDirectory()
        let journal = try Journal(path: directory.store)
        for (place, decisions) in turns.enumerated() {
            let turn = Int64(place + 1)
            try journal.begin()
            var batch = DecisionBatch()
            batch.append(decisions)
            try journal.append(batch, turn: turn)
            try journal.write(turn: .of(turn, nil))
            try journal.commit()
        }
        try journal.close()
        let connection = try SQLiteConnection(path: directory.store, access: .readOnly)
        return try Statement(connection, "\(select: .gaps) ORDER BY number").all { row in
            let numbers = [
                row[.number], row[.responder], row[.aggregates], row[.openedMs], row[.closedMs],
                row[.firstTurn], row[.turn], row.checksum ?? -1,
            ]
            return "\(numbers) \(Array(row.bytes(.region))) \(Array(row.bytes(.body))) "
                + "\(row.fits(.gaps))"
        }
    }

    @Test(arguments: [
        1, new - 1, new, new + 1, 2 * new, most - 1, most, most + 1, 2 * most, 2 * most + 1,
    ])
    func `J14: as many gaps as fill a step, or one more or less, are the rows of each alone`(
        count: Int
    ) throws {
        let decisions = (1...count).map { decision(Int64($0), gap: Int64($0), of: $0 * 3) }
        let found = try stored([decisions])
        #expect(found.count == count && found.allSatisfy { $0.hasSuffix("true") })
        // Each alone is a store of its own: some at both ends of each step are enough.
        for place in [
            0, 1, Self.new - 1, Self.new, Self.most - 1, Self.most, 2 * Self.most - 1,
            2 * Self.most,
        ] where place < count {
            #expect(try stored([[decisions[place]]]) == [found[place]])
        }
    }

    @Test
    func `J14: gaps stand beside decisions of other kinds, and those that do not count nowhere`()
        throws
    {
        var decisions: [NumberedDecision] = []
        for gap in 1...Int64(Self.most + 2) {
            let id = Int64(decisions.count + 1)
            decisions.append(
                NumberedDecision(
                    decision: .status(
                        at: Timestamp(milliseconds: 5), number: Int(gap), from: .degraded,
                        to: .offline, origin: .deadline),
                    id: id, previous: 0))
            decisions.append(decision(id + 1, gap: 0, of: Int(gap)))
            decisions.append(decision(id + 2, gap: gap, of: Int(gap)))
        }
        let found = try stored([decisions])
        #expect(found.count == Self.most + 2)
        #expect(try stored([[decisions[2]]]) == [found[0]])
    }

    @Test
    func
        `C1: what is known later takes the place of what was, in the same step and in a later turn`()
        throws
    {
        let closed = Timestamp(milliseconds: 3_000_000)
        let opened = (1...Self.most).map { decision(Int64($0), gap: Int64($0), of: $0) }
        let ended = (1...Self.most).map {
            decision(
                Int64(Self.most + $0), gap: Int64($0), of: $0, closedAt: closed,
                suspected: .lowPower)
        }
        let both = try stored([opened, ended])
        #expect(both.count == Self.most && both.allSatisfy { $0.hasSuffix("true") })
        // One by one: the last of each is alone in its turn, and all before it are.
        let few = try stored([[opened[0]], [ended[0]]])
        #expect(few == [both[0]])
        // The step of so many holds one gap twice: opened, and then closed.
        let twice =
            Array(opened.dropLast()) + [
                decision(
                    Int64(Self.most), gap: 1, of: 1, closedAt: closed, suspected: .lowPower)
            ]
        let found = try stored([twice])
        #expect(found.count == Self.most - 1 && found.allSatisfy { $0.hasSuffix("true") })
        #expect(try stored([[twice[0], twice[Self.most - 1]]]) == [found[0]])
    }

    @Test func `C1: in no step a gap takes another person's row`() throws {
        let first = decision(1, gap: 7, of: 70)
        let others = (1...Self.most).map { decision(Int64($0 + 1), gap: Int64($0), of: $0) }
        let found = try stored([[first], others])
        #expect(found.count == Self.most && found.allSatisfy { $0.hasSuffix("true") })
        #expect(try stored([[first]]) == [found[6]])
    }

    @Test(arguments: [[1, 5], [7, 7 + Int64(new) - 1], [3, 3 + Int64(most)]])
    func `J14: behind a hole and around one gaps keep their numbers`(ends: [Int64]) throws {
        // The first turn leaves the table's end elsewhere than the second begins.
        let first = [decision(1, gap: ends[0], of: 5), decision(2, gap: ends[1], of: 6)]
        let numbers = (ends[1] + 2)..<(ends[1] + 2 + Int64(Self.most + Self.new + 3))
        let rest = numbers.filter { $0 != ends[1] + Int64(Self.most) }.map {
            decision($0 + 10, gap: $0, of: Int($0) * 2)
        }
        let found = try stored([first, rest])
        #expect(found.count == 2 + rest.count && found.allSatisfy { $0.hasSuffix("true") })
        // Of turns of their own; only which turn it is differs.
        let alone = try stored([first] + [rest.filter { $0.id % 2 == 0 }])
        for row in alone.dropFirst(2) { #expect(found.contains(row)) }
    }
}
