import RollcallCore
import Testing

/// Sequences against a model that remembers every one of them. Source: I1, I3,
/// F13, F14.
@Suite struct LedgerTests {
    /// One install of the naive model: sets of numbers instead of ranges.
    private struct NaiveInstall {
        var id: UInt64
        /// Received, and what counts as received since its hole was closed.
        var held: Set<Int64> = []
        var closedThrough: Int64 = -1
        var firstCapturedAt: Timestamp?

        var ranges: [ClosedRange<Int64>] {
            var ranges: [ClosedRange<Int64>] = []
            for sequence in held.sorted() {
                if let last = ranges.last, last.upperBound + 1 == sequence {
                    ranges[ranges.count - 1] = last.lowerBound...sequence
                } else {
                    ranges.append(sequence...sequence)
                }
            }
            return ranges
        }

        mutating func take(_ update: Update) -> UpdateOutcome {
            if update.sequence <= closedThrough { return .late }
            if !held.insert(update.sequence).inserted { return .duplicate }
            // A range begins wherever a number's predecessor is missing.
            if held.count > 64, held.count(where: { !held.contains($0 - 1) }) > 64 {
                closedThrough = ranges[1].lowerBound - 1
                held.formUnion(ranges[0].upperBound...closedThrough)
            }
            firstCapturedAt = firstCapturedAt ?? update.capturedAt
            return .accepted
        }
    }

    /// The rules I1, I3, F13 and F14 word by word.
    private struct NaiveLedger {
        var installs: [NaiveInstall] = []
        var forgotten: [UInt64] = []
        var newestCapturedAt: Timestamp?
        var resets = 0

        mutating func take(_ update: Update, id: UInt64) -> UpdateOutcome {
            guard let index = index(update, id) else { return .late }
            let outcome = installs[index].take(update)
            if outcome == .accepted, let captured = update.capturedAt {
                newestCapturedAt = newestCapturedAt.map { max($0, captured) } ?? captured
            }
            return outcome
        }

        private mutating func index(_ update: Update, _ id: UInt64) -> Int? {
            let current = installs.count - 1
            if id != 0 {
                if let known = installs.firstIndex(where: { $0.id == id }) { return known }
                if forgotten.contains(id) { return nil }
                if current >= 0, installs[current].id == 0 {
                    installs[current].id = id
                    return current
                }
                return begin(id)
            }
            guard current >= 0 else { return begin(0) }
            guard installs[current].id == 0, let captured = update.capturedAt else {
                return current
            }
            let install = installs[current]
            let isTaken = install.held.contains(update.sequence)
            let isBelow = install.held.allSatisfy { update.sequence < $0 }
            if isTaken || isBelow, newestCapturedAt.map({ captured > $0 }) ?? true {
                return begin(0)
            }
            if current > 0, let first = install.firstCapturedAt, captured < first {
                return current - 1
            }
            return current
        }

        private mutating func begin(_ id: UInt64) -> Int {
            if !installs.isEmpty { resets += 1 }
            installs.append(NaiveInstall(id: id))
            if installs.count > 4 {
                let oldest = installs.removeFirst().id
                if oldest != 0 { forgotten = (forgotten + [oldest]).suffix(16) }
            }
            return installs.count - 1
        }
    }

    private func update(_ sequence: Int64, captured: Int64? = nil) -> Update {
        Update(
            sequence: sequence, capturedAt: captured.map { Timestamp(milliseconds: $0) },
            isCached: false)
    }

    @Test(arguments: UInt64(1)...12)
    func `an install takes what a set of its sequences would take`(seed: UInt64) {
        var random = Seeded(seed: seed)
        var install = Install()
        var naive = NaiveInstall(id: 0)
        let width = Int64.random(in: 20...400, using: &random)
        var base: Int64 = 0
        for step in 0..<600 {
            if Int.random(in: 0..<20, using: &random) == 0 { base += width / 20 }
            let sequence = base + Int64.random(in: 0..<width, using: &random)
            let outcome = install.take(update(sequence))
            let expected = naive.take(update(sequence))
            let isSame = step % 20 > 0 || install.ranges == naive.ranges
            guard outcome == expected, install.closedThrough == naive.closedThrough, isSame else {
                Issue.record("seed \(seed), step \(step): \(sequence) \(outcome), not \(expected)")
                return
            }
        }
        #expect(install.ranges.count <= Install.rangesMax)
    }

    @Test func `sixty-four ranges are kept, one more closes the oldest hole`() {
        #expect(Install.rangesMax == 64)
        var install = Install()
        for index in 0..<64 { #expect(install.take(update(Int64(index) * 10 + 5)) == .accepted) }
        #expect(install.ranges.count == 64 && install.closedThrough == -1)
        #expect(install.take(update(9)) == .accepted)
        // That was the 65th: the hole 6…8 closed, the lowest range now reaches from 5 to 9.
        #expect(install.ranges.count == 64 && install.closedThrough == 8)
        #expect(install.ranges[0] == 5...9)
        for sequence in [Int64(0), 5, 6, 8] { #expect(install.take(update(sequence)) == .late) }
        #expect(install.take(update(9)) == .duplicate)
        #expect(install.take(update(10)) == .accepted)
        #expect(install.take(update(1000)) == .accepted)
        #expect(install.closedThrough == 14 && install.ranges[0] == 5...15)
    }

    @Test func `the ends of the range of sequences are ordinary sequences`() {
        var install = Install()
        for sequence in [Int64.max, 0, Int64.max - 1, 1] {
            #expect(install.take(update(sequence)) == .accepted)
            #expect(install.take(update(sequence)) == .duplicate)
        }
        #expect(install.ranges == [0...1, (Int64.max - 1)...Int64.max])
    }

    @Test func `the oldest hole closes below the lowest range too`() {
        var install = Install()
        for index in 0..<64 { _ = install.take(update(Int64(index) * 10 + 100)) }
        #expect(install.take(update(3)) == .accepted)
        #expect(install.closedThrough == 99 && install.ranges[0] == 3...100)
        #expect(install.take(update(50)) == .late)
    }

    @Test func `the ids of the last sixteen forgotten installs are known`() {
        var ledger = SequenceLedger()
        var resets = 0
        for id in UInt64(1)...20 {
            #expect(ledger.take(update(7), id: id, resets: &resets).outcome == .accepted)
        }
        #expect(resets == 19)
        for id in UInt64(1)...16 {
            #expect(ledger.take(update(8), id: id, resets: &resets).outcome == .late)
        }
        for id in UInt64(17)...20 {
            #expect(ledger.take(update(7), id: id, resets: &resets).outcome == .duplicate)
        }
        // One more, and the first of them is a stranger again.
        #expect(ledger.take(update(7), id: 21, resets: &resets).outcome == .accepted)
        #expect(ledger.take(update(8), id: 2, resets: &resets).outcome == .late)
        #expect(ledger.take(update(8), id: 1, resets: &resets).outcome == .accepted)
    }

    /// A phone that counts on, loses, repeats, reorders, and is installed anew, with and without
    /// telling its install's id.
    private struct Phone {
        var random: Seeded
        var next: Int64 = 0
        var now: Int64 = 1_000_000
        var id: UInt64 = 0
        var installs: UInt64 = 0
        var sent: [(update: Update, id: UInt64)] = []
        let tellsID: Bool

        mutating func send() -> (update: Update, id: UInt64) {
            now += Int64.random(in: 0...3, using: &random)
            let dice = Int.random(in: 0..<100, using: &random)
            if dice < 35, let old = sent.suffix(200).randomElement(using: &random) { return old }
            if dice == 35 {
                next = Int64.random(in: 0...5, using: &random)
                installs += 1
            }
            if dice == 36 { id = tellsID ? installs % 24 + 1 : 0 }
            if dice < 60 { next += Int64.random(in: 1...3, using: &random) }
            let skew = dice > 95 ? Int64.random(in: -50...50, using: &random) : 0
            let captured = dice > 93 && dice < 96 ? nil : Timestamp(milliseconds: now + skew)
            let update = Update(sequence: next, capturedAt: captured, isCached: false)
            next += 1
            let sentID = dice > 90 && dice < 93 ? 0 : id
            sent.append((update, sentID))
            return (update, sentID)
        }
    }

    @Test(arguments: UInt64(1)...20)
    func `a ledger takes what the rules word by word take`(seed: UInt64) {
        var phone = Phone(random: Seeded(seed: seed), tellsID: seed % 2 == 0)
        var ledger = SequenceLedger()
        var naive = NaiveLedger()
        var resets = 0
        for step in 0..<600 {
            let (update, id) = phone.send()
            let outcome = ledger.take(update, id: id, resets: &resets).outcome
            let expected = naive.take(update, id: id)
            let isSame =
                step % 20 > 0 || ledger.installs.map(\.ranges) == naive.installs.map(\.ranges)
            guard outcome == expected, resets == naive.resets, isSame else {
                Issue.record(
                    "seed \(seed), step \(step): \(update) \(id) \(outcome), not \(expected)")
                return
            }
        }
    }

    /// The engine keeps one install with one range in the person itself: the same must come of it.
    @Test(arguments: Effort.seeds(20 as UInt64))
    func `the engine takes what the rules word by word take`(seed: UInt64) throws {
        var phone = Phone(random: Seeded(seed: seed), tellsID: seed % 2 == 0)
        var engine = Engine()
        var naive = NaiveLedger()
        for step in 0..<400 {
            let (update, id) = phone.send()
            let captured = update.capturedAt.map { ",\"captured_at\":\($0.milliseconds)" } ?? ""
            let install = id == 0 ? "" : ",\"install_id\":\"\(id)\""
            let body =
                "{\"responder_id\":\"41\"\(install),\"updates\":"
                + "[{\"sequence\":\(update.sequence)\(captured)}]}"
            let scan = try ItemScanner.scan(Array(body.utf8).span, kind: .batch)
            let at = RunningTime(milliseconds: phone.now)
            let receipt = engine.fold(.items(scan.items, source: Array("s".utf8)), at: at)
            let expected = naive.take(update, id: id)
            guard receipt.updates[Int(expected.rawValue)] == 1 else {
                Issue.record(
                    "seed \(seed), step \(step): \(body) \(receipt.updates), not \(expected)")
                return
            }
        }
        #expect(engine.counters.installsReset == naive.resets)
    }
}
