import Testing

@testable import RollcallCore

/// The company that people of a cell have in other cells. Source: K3.
@Suite struct CompanyTests {
    /// One cell, whose people's locations are old after four hours.
    private struct Cell {
        var engine: Engine

        init(role: FleetRole = .cell, _ change: (inout NudgeRules) -> Void = { _ in }) {
            var policy = Policy()
            policy.role = role
            policy.nudges.mode = .live
            change(&policy.nudges)
            engine = Engine(policy: policy)
            _ = engine.fold(.start(), at: Self.instant(0))
        }

        static func instant(_ seconds: Int64) -> RunningTime {
            RunningTime(milliseconds: 1_795_219_200_000 + seconds * 1000)
        }

        /// Somebody says something of themselves.
        mutating func hear(
            _ id: String, _ rest: String, duty: String = "ON_DUTY", at seconds: Int64
        ) {
            let body =
                #"[{"responder_id":"\#(id)","duty_state":"\#(duty)","region":"harbour"\#(rest)}]"#
            guard let list = try? ItemScanner.scan(Array(body.utf8).span, kind: .batch).items
            else { return }
            _ = engine.fold(
                .items(list, source: EventSource.standard), at: Self.instant(seconds))
            engine.settle()
        }

        /// Somebody is located, for the only time.
        mutating func locate(_ id: String, circles: String = #","circles":["home"]"#) {
            let at = Timestamp(milliseconds: Self.instant(0).milliseconds)
            hear(id, #","updates":[{"captured_at":"\#(RFC3339.string(at))"}]\#(circles)"#, at: 0)
        }

        /// The fleet cell says in which circles somebody is active elsewhere.
        mutating func say(active: [String] = [], nobody: [String] = [], at seconds: Int64) -> Int {
            var (there, empty) = (PeerGroups(), PeerGroups())
            there.circles = active.map { Array($0.utf8) }
            empty.circles = nobody.map { Array($0.utf8) }
            return say(there, empty, at: seconds)
        }

        mutating func say(_ active: PeerGroups, _ nobody: PeerGroups, at seconds: Int64)
            -> Int
        {
            engine.advance(to: Self.instant(seconds))
            // The journal keeps numbers.
            let call = engine.people(of: .groups(active: active, nobody: nobody))
            guard let kept = PeersElsewhere(journalBytes: call.journalBytes) else { return -1 }
            let receipt = engine.fold(
                .peersElsewhere(kept), at: Self.instant(seconds) + Milliseconds(1))
            engine.settle()
            return receipt.accepted
        }

        /// What is wanted at an instant: circles, then regions in brackets.
        mutating func wanted(at seconds: Int64) -> [String] {
            engine.advance(to: Self.instant(seconds))
            let groups = engine.wantedPeerGroups()
            return groups.circles.map { String(decoding: $0, as: UTF8.self) }
                + groups.regions.map { "[\(String(decoding: $0, as: UTF8.self))]" }
        }

        mutating func ask(for id: String, at seconds: Int64) -> AskResult? {
            engine.advance(to: Self.instant(seconds))
            let call = AskCall.ids(Array(id.utf8), by: nil)
            let receipt = engine.fold(
                .ask(call, source: EventSource.standard), at: Self.instant(seconds))
            engine.settle()
            return receipt.ask?.result
        }

        /// What was decided about nudges since the last time, as `SECONDS WHOM what`.
        mutating func lines() -> [String] {
            engine.takeDecisions().compactMap { numbered in
                guard case .nudge(let at, let number, let report) = numbered.decision else {
                    return nil
                }
                let seconds = (at.milliseconds - Self.instant(0).milliseconds) / 1000
                let id = String(decoding: engine.roster.id(number), as: UTF8.self)
                switch report.kind {
                case .send: return "\(seconds) \(id) nudged"
                case .hold: return "\(seconds) \(id) \(report.reason?.word ?? "")"
                case .followed: return nil
                }
            }
        }
    }

    private static let due: Int64 = 4 * 3600

    @Test func `K3: a nudge waits until it is known that somebody is there in another cell`() {
        var cell = Cell()
        cell.locate("a")
        #expect(cell.wanted(at: Self.due - 1) == [])
        #expect(cell.wanted(at: Self.due) == ["home"])
        // Whoever gets no answer is asked about again ten seconds later.
        #expect(cell.wanted(at: Self.due + 1) == [])
        #expect(cell.lines() == ["14400 a pending_company"])
        #expect(cell.engine.nudgeAnswer(0).reasons == [.pendingPeers])
        #expect(cell.say(active: ["home"], at: Self.due + 2) == 1)
        #expect(cell.lines() == ["14402 a nudged"])
        #expect(cell.wanted(at: Self.due + 60) == [])
        var other = Cell()
        other.locate("a")
        for second in [0, 10, 20] as [Int64] {
            #expect(other.wanted(at: Self.due + second) == ["home"])
        }
    }

    @Test func `K3: whoever has nobody anywhere is alone, and is asked about again`() {
        var cell = Cell()
        cell.locate("a")
        #expect(cell.wanted(at: Self.due) == ["home"])
        #expect(cell.say(nobody: ["home"], at: Self.due + 1) == 1)
        #expect(cell.lines() == ["14400 a pending_company", "14401 a solo"])
        #expect(cell.wanted(at: Self.due + 300) == [])
        #expect(cell.engine.nudgeAnswer(0).reasons == [.solo])
        // Nobody tells when somebody comes: five minutes later it is asked again, and nothing new is written.
        #expect(cell.wanted(at: Self.due + 302) == ["home"])
        #expect(cell.engine.nudgeAnswer(0).reasons == [.solo])
        #expect(cell.say(nobody: ["home"], at: Self.due + 303) == 1)
        #expect(cell.wanted(at: Self.due + 604) == ["home"])
        #expect(cell.lines() == [])
        #expect(cell.say(active: ["home"], at: Self.due + 605) == 1)
        #expect(cell.lines() == ["15005 a nudged"])
    }

    @Test func `K3: one circle of several is enough, and nobody is alone before all are known`() {
        var cell = Cell()
        cell.locate("a", circles: #","circles":["home","work"]"#)
        #expect(cell.wanted(at: Self.due) == ["home", "work"])
        #expect(cell.say(nobody: ["home"], at: Self.due + 1) == 0)
        #expect(cell.say(active: ["work"], nobody: ["home"], at: Self.due + 2) == 1)
        #expect(cell.lines() == ["14400 a pending_company", "14402 a nudged"])
    }

    @Test func `K3: who has somebody in this cell asks nobody`() {
        var cell = Cell()
        cell.locate("a")
        cell.hear("b", #","circles":["home"]"#, at: 0)
        #expect(cell.wanted(at: Self.due) == [])
        #expect(cell.lines() == ["14400 a nudged"])
    }

    @Test func `K3: somebody who comes to this cell meanwhile is enough`() {
        var cell = Cell()
        cell.locate("a")
        #expect(cell.wanted(at: Self.due) == ["home"])
        cell.hear("b", #","circles":["home"]"#, at: Self.due + 3)
        #expect(cell.lines() == ["14400 a pending_company", "14403 a nudged"])
    }

    @Test func `K3: without circles it is the region, unless circles alone count`() {
        var cell = Cell()
        cell.locate("a", circles: "")
        #expect(cell.wanted(at: Self.due) == ["[harbour]"])
        var there = PeerGroups()
        there.regions = [Array("harbour".utf8)]
        #expect(cell.say(there, PeerGroups(), at: Self.due + 1) == 1)
        #expect(cell.lines() == ["14400 a pending_company", "14401 a nudged"])
        var strict = Cell { $0.peers = .circle }
        strict.locate("a", circles: "")
        #expect(strict.wanted(at: Self.due) == [])
        #expect(strict.lines() == ["14400 a solo"])
    }

    @Test func `K3: an answer holds for 30 s, and who waits for their turn is asked about again`() {
        var cell = Cell { $0.ratePerSecond = 1 }
        for id in ["a", "b"] { cell.locate(id, circles: #","circles":["\#(id)"]"#) }
        #expect(cell.ask(for: "a", at: 100) == .hold(.pendingPeers))
        #expect(cell.wanted(at: 101) == ["a"])
        #expect(cell.say(active: ["a"], at: 101) == 1)
        #expect(cell.ask(for: "a", at: 132) == .hold(.pendingPeers), "too long ago")
        #expect(cell.say(active: ["a"], at: 132) == 0, "nobody asked")
        #expect(cell.wanted(at: 133) == ["a"])
        #expect(cell.say(active: ["a"], at: 133) == 1)
        #expect(cell.ask(for: "a", at: 160) == .send)
        #expect(cell.lines() == ["160 a nudged"])
        // Two at one instant: the second waits for a second, and what was said of it holds still.
        #expect(cell.wanted(at: Self.due) == ["a", "b"])
        #expect(cell.say(active: ["a", "b"], at: Self.due + 1) == 2)
        cell.engine.advance(to: Cell.instant(Self.due + 5))
        #expect(
            cell.lines() == [
                "14400 a pending_company", "14400 b pending_company", "14401 a nudged",
                "14401 b rate", "14402 b nudged",
            ])
    }

    @Test func `K3: who waits for their turn is asked about before it comes, and not all the time`()
    {
        var cell = Cell { $0.ratePerSecond = 1 }
        let ids = (0..<400).map { "p\(1000 + $0)" }
        for id in ids { cell.locate(id, circles: #","circles":["\#(id)"]"#) }
        var asked: [Int64: [String]] = [:]
        for second in Self.due..<(Self.due + 60) {
            asked[second] = cell.wanted(at: second)
            _ = cell.say(active: asked[second] ?? [], at: second)
        }
        #expect(asked[Self.due] == ids)
        // Nobody is asked about again while what was said of them holds.
        #expect(asked[Self.due + 1] == [])
        #expect(asked[Self.due + 16]?.count == 300)
        let lines = cell.lines()
        let nudged = lines.filter { $0.hasSuffix("nudged") }
        // One a second, by their ids.
        #expect(
            nudged == ids.prefix(60).enumerated().map { "\(Self.due + Int64($0)) \($1) nudged" })
        // Each is written down once for each reason.
        #expect(lines.count { $0.hasSuffix("pending_company") } == 400)
        #expect(lines.count { $0.hasSuffix("rate") } == 399)
    }

    @Test func `K3: a watch that becomes a cell asks about those who are alone`() {
        var watch = Cell(role: .whole)
        watch.locate("a")
        #expect(watch.wanted(at: Self.due) == [])
        var policy = watch.engine.policy
        policy.role = .cell
        _ = watch.engine.fold(.policy(policy), at: Cell.instant(Self.due + 10))
        watch.engine.settle()
        #expect(watch.wanted(at: Self.due + 11) == ["home"])
        #expect(watch.say(active: ["home"], at: Self.due + 12) == 1)
        #expect(watch.lines() == ["14400 a solo", "14412 a nudged"])
        policy.role = .whole
        _ = watch.engine.fold(.policy(policy), at: Cell.instant(Self.due + 20))
        #expect(watch.wanted(at: Self.due + 21) == [])
    }

    @Test func `K3: who needs no answer any more is not asked about`() {
        var cell = Cell()
        for id in ["a", "b"] { cell.locate(id, circles: #","circles":["\#(id)"]"#) }
        #expect(cell.wanted(at: Self.due) == ["a", "b"])
        // Somebody comes to a's circle, and b is located.
        cell.hear("c", #","circles":["a"]"#, at: Self.due + 1)
        let now = RFC3339.string(Timestamp(milliseconds: Cell.instant(Self.due + 1).milliseconds))
        cell.hear("b", #","updates":[{"captured_at":"\#(now)"}]"#, at: Self.due + 1)
        #expect(cell.wanted(at: Self.due + 2) == [])
    }

    @Test
    func `K3: those who wait are taken in turns, and where nobody takes them no memory grows`() {
        var row = WantedRow()
        for number in 0..<5 { row.insert(UInt32(number)) }
        func take(_ count: Int) -> [UInt32] {
            var left = count
            return row.takeTurn { _ in
                left -= 1
                return left >= 0
            }
        }
        #expect(take(2) == [0, 1])
        row.remove(2)
        #expect(take(2) == [3, 4])
        row.remove(0)
        row.insert(0)
        #expect(take(2) == [1, 3])
        #expect(take(2) == [4, 0])
        for _ in 0..<10_000 {
            row.remove(7)
            row.insert(7)
        }
        #expect(row.entries < 200)
        #expect(take(10).sorted() == [0, 1, 3, 4, 7])
    }

    @Test func `K3: what was said of circles that somebody left does not count`() {
        var cell = Cell()
        cell.locate("a")
        #expect(cell.wanted(at: Self.due) == ["home"])
        _ = cell.lines()
        cell.hear("a", #","circles":["work"]"#, at: Self.due + 1)
        #expect(cell.wanted(at: Self.due + 1) == ["work"])
        #expect(cell.say(active: ["home"], at: Self.due + 2) == 0)
        #expect(cell.lines() == [])
        #expect(cell.say(nobody: ["work"], at: Self.due + 3) == 1)
        #expect(cell.lines() == ["14403 a solo"])
        cell.hear("a", #","circles":["home"]"#, at: Self.due + 4)
        #expect(cell.wanted(at: Self.due + 4) == ["home"])
    }

    @Test func `K3: a checkpoint holds what was said, and whoever waits is asked about again`()
        throws
    {
        var cell = Cell()
        cell.locate("a")
        cell.locate("b", circles: #","circles":["b"]"#)
        #expect(cell.wanted(at: Self.due) == ["home", "b"])
        #expect(cell.say(nobody: ["home"], at: Self.due + 1) == 1)
        _ = cell.lines()
        let checkpoint = Checkpoint(cell.engine)
        var reader = CheckpointReader()
        for index in 0..<checkpoint.sliceCount { reader.take(checkpoint.slice(index)) }
        var again = cell
        again.engine = try #require(reader.finish())
        #expect(again.engine.nudgeAnswer(0).reasons == [.solo])
        #expect(again.engine.counters.nudges == cell.engine.counters.nudges)
        #expect(again.engine.counters.nudges.held(.pendingPeers) == 2)
        // The question was lost with the memory that held it: half a minute later it is put again.
        #expect(again.wanted(at: Self.due + 30) == ["b"])
        #expect(again.say(active: ["b"], at: Self.due + 31) == 1)
        #expect(again.lines() == ["14431 b nudged"])
    }

    @Test func `K7: a watch that is no cell asks nobody`() {
        var watch = Cell(role: .whole)
        watch.locate("a")
        #expect(watch.wanted(at: Self.due) == [])
        #expect(watch.lines() == ["14400 a solo"])
        #expect(watch.say(active: ["home"], at: Self.due + 1) == 0)
        #expect(watch.lines() == [])
        let call = PeersElsewhere.people(accompanied: [0], alone: [])
        #expect(watch.engine.fold(.peersElsewhere(call), at: watch.engine.clock.now).accepted == 0)
        watch.engine.settle()
        #expect(watch.lines() == [])
    }

    @Test func `K3: those of whom nobody is known are passed over`() {
        var cell = Cell()
        cell.locate("a")
        let call = PeersElsewhere.people(accompanied: [-1, 7, .max], alone: [3])
        #expect(cell.engine.fold(.peersElsewhere(call), at: Cell.instant(1)).accepted == 0)
    }

    @Test func `K3: a cell says in which groups somebody is active`() {
        var cell = Cell()
        cell.locate("a", circles: #","circles":["home","work"]"#)
        cell.hear("b", #","circles":["away"]"#, duty: "OFF_DUTY", at: 0)
        var groups = PeerGroups()
        groups.circles = ["home", "away", "work", "nowhere", ""].map { Array($0.utf8) }
        groups.regions = ["harbour", "hills", ""].map { Array($0.utf8) }
        let active = cell.engine.active(of: groups)
        #expect(active.circles == ["home", "work"].map { Array($0.utf8) })
        #expect(active.regions == [Array("harbour".utf8)])
    }
}
