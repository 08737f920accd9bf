import RollcallCluster
import RollcallCore
import Testing

/// Who is a member, who leads next, what the log is trimmed by, and how a lost log goes on.
@Suite struct MemberOrderTests {
    private static func name(_ text: String) -> [UInt8] { Array(text.utf8) }

    /// A member named a, and a log of which the test tells it.
    private struct Stage {
        var member: Member
        var now: Int64 = 0
        var view: LogView

        init(position: Int64 = 9, slots: Int64 = 100, kept: Int64 = 20) {
            var settings = Member.Settings(name: MemberOrderTests.name("a"), incarnation: 1)
            settings.silence = Milliseconds(2000)
            settings.slots = slots
            settings.slotsKept = kept
            let last = LogEntry(
                .turn, at: position, after: 1,
                origin: LogOrigin(
                    member: MemberOrderTests.name("b"), incarnation: 1, reign: 3, serial: 1),
                body: [])
            let head = LogHead(log: 77, position: position, hash: last.hash, reign: 3, revision: 20)
            view = LogView(head: head, beat: 0, tail: 0, notes: [])
            member = Member(settings, at: LogPlace(behind: last, revision: 20, log: 77), now: 0)
        }

        mutating func note(_ name: String, _ position: Int64, level: Int64 = Member.level) {
            var note = MemberNote(
                member: MemberOrderTests.name(name), position: position,
                wall: Timestamp(milliseconds: 0))
            note.level = level
            view.notes.removeAll { $0.member == note.member }
            view.notes.append(note)
        }

        mutating func digest(_ name: String, _ hash: UInt64, version: Int64 = 6) {
            guard
                let place = view.notes.firstIndex(where: {
                    $0.member == MemberOrderTests.name(name)
                })
            else { return }
            view.notes[place].digest = StateDigest(turn: 5, version: version, hash: hash)
        }

        /// Lets time pass in ticks; the end of the log is answered each time it is asked for.
        mutating func pass(_ milliseconds: Int64) -> [MemberEffect] {
            var effects: [MemberEffect] = []
            for _ in 0..<(milliseconds / 50) {
                now += 50
                for effect in member.tick(now) {
                    if effect == .readHead {
                        effects += member.take(head: .view(view), now)
                    } else {
                        effects.append(effect)
                    }
                }
            }
            return effects
        }

        /// Lets it lead from the next entry on.
        mutating func reign() {
            _ = pass(3000)
            _ = member.take(peers: [], now)
            guard case .append(let entry, _)? = member.propose([1], now).last else { return }
            view.head = LogHead(
                log: 77, position: entry.position, hash: entry.hash, reign: entry.origin.reign,
                revision: view.head.revision + 1)
            _ = member.take(append: .landed(view.head), now)
            _ = pass(1000)
        }
    }

    private static func trims(_ effects: [MemberEffect]) -> [(through: Int64, isSingleCopy: Bool)] {
        effects.compactMap {
            if case .trim(let through, _, let isSingleCopy) = $0 {
                (through, isSingleCopy)
            } else {
                nil
            }
        }
    }

    /// A list that somebody has closed.
    private static func closed(_ names: String...) -> Membership {
        var engine = Engine()
        let events: [MembershipChange] =
            [.level(2)] + names.map { .added(name($0)) }
        for event in events {
            _ = engine.fold(.membership(event), at: RunningTime(milliseconds: 1))
        }
        return engine.membership
    }

    // MARK: - Members

    @Test func `S17: whom a closed list does not name never stands`() {
        var stage = Stage()
        stage.member.follow(Self.closed("b", "c"))
        #expect(!stage.pass(20_000).contains(.askPeers))
        stage.member.follow(Self.closed("a", "b"))
        #expect(stage.pass(3000).contains(.askPeers))
    }

    @Test func `S17: a leader that is taken out hands over`() {
        var stage = Stage()
        stage.reign()
        #expect(stage.member.role == .leading)
        stage.member.follow(Self.closed("b", "c"))
        let effects = stage.pass(100)
        #expect(effects.contains(.stepDown))
        #expect(effects.contains { if case .release = $0 { true } else { false } })
    }

    @Test
    func
        `S10, S17: the leader raises the level once all that are alive read it, and then names them`()
    {
        var stage = Stage()
        stage.note("a", 9)
        stage.note("b", 9, level: 1)
        stage.reign()
        #expect(stage.member.changeOwed(at: stage.now) == nil, "b reads the first level alone")
        stage.note("b", 10)
        _ = stage.pass(1000)
        #expect(stage.member.changeOwed(at: stage.now) == .level(2))
        var engine = Engine()
        _ = engine.fold(.membership(.level(2)), at: RunningTime(milliseconds: 1))
        stage.member.follow(engine.membership)
        #expect(stage.member.changeOwed(at: stage.now) == .found(Self.name("a")))
        _ = engine.fold(.membership(.found(Self.name("a"))), at: RunningTime(milliseconds: 2))
        stage.member.follow(engine.membership)
        #expect(stage.member.changeOwed(at: stage.now) == .found(Self.name("b")))
        // Who says nothing any more is not named.
        _ = stage.pass(20_000)
        #expect(stage.member.changeOwed(at: stage.now) == nil)
        stage.member.follow(Self.closed("a"))
        stage.note("b", 11)
        _ = stage.pass(1000)
        #expect(stage.member.changeOwed(at: stage.now) == nil, "the list is closed")
    }

    @Test func `S17: who was drained takes the lead only if nobody else does`() {
        var stage = Stage()
        stage.reign()
        let head = stage.view.head
        #expect(stage.member.drain(stage.now) == [.stepDown, .release(after: head)])
        stage.view.isReleased = true
        #expect(!stage.pass(9000).contains(.askPeers))
        #expect(stage.pass(2000).contains(.askPeers))
        #expect(stage.member.isDrained(at: stage.now))
        // The others come first, whether the last one handed over or died.
        var next = Stage()
        _ = next.pass(1000)
        _ = next.member.drain(next.now)
        next.view.isReleased = true
        next.view.beat = 25
        #expect(!next.pass(250).contains(.askPeers))
        #expect(next.pass(500).contains(.askPeers))
        var last = Stage()
        _ = last.member.drain(0)
        #expect(!last.pass(3900).contains(.askPeers))
        #expect(last.pass(500).contains(.askPeers))
        #expect(!stage.member.isDrained(at: stage.now + Member.drainedFor))
    }

    @Test func `S17: of members that were all drained the one before takes the lead at once`() {
        var stage = Stage()
        stage.reign()
        _ = stage.member.drain(stage.now)
        stage.view.isReleased = true
        #expect(!stage.pass(1000).contains(.askPeers), "it handed over itself")
        // Another one has led since, and hands over.
        let head = stage.view.head
        let origin = LogOrigin(
            member: Self.name("b"), incarnation: 1, reign: head.reign + 1, serial: 1)
        let entry = LogEntry(
            .turn, at: head.position + 1, after: head.hash, origin: origin, body: [])
        let landed = LandedEntry(entry, revision: head.revision + 2)
        #expect(stage.member.take(news: .entry(landed), stage.now) == [.fold(landed)])
        _ = stage.member.didFold(landed)
        stage.view = LogView(
            head: LogHead(
                log: head.log, position: entry.position, hash: entry.hash,
                reign: origin.reign, revision: landed.revision),
            beat: landed.revision + 1, tail: 0, notes: [], isReleased: true)
        // It asks for the end each half second here.
        #expect(stage.pass(1000).contains(.askPeers))
    }

    // MARK: - Trimming

    @Test func `S12: the log keeps what a listed member lacks that has said nothing`() {
        var stage = Stage(position: 60)
        stage.note("a", 61)
        stage.note("b", 61)
        stage.member.follow(Self.closed("a", "b", "c"))
        stage.reign()
        #expect(Self.trims(stage.pass(3000)).isEmpty)
        stage.member.follow(Self.closed("a", "b"))
        let trims = Self.trims(stage.pass(3000))
        #expect(trims.first?.through == 41 && trims.first?.isSingleCopy == false)
    }

    @Test func `S12: what only one holds goes at last, and that is told`() {
        var stage = Stage(position: 97)
        stage.note("a", 97)
        stage.note("b", 3)
        stage.reign()
        let trims = Self.trims(stage.pass(3000))
        #expect(trims.first?.isSingleCopy == true)
        // Who has taken all others out is told, too.
        var alone = Stage(position: 60)
        alone.note("a", 61)
        alone.member.follow(Self.closed("a"))
        alone.reign()
        #expect(Self.trims(alone.pass(3000)).first?.isSingleCopy == true)
    }

    @Test func `S13: an erasure is let go of as soon as nobody lacks it, and not before`() {
        var stage = Stage(position: 10)
        stage.note("a", 11)
        stage.note("b", 5)
        stage.reign()
        #expect(Self.trims(stage.pass(3000)).isEmpty)
        stage.member.erasuresThrough = 8
        #expect(Self.trims(stage.pass(3000)).map(\.through) == [5, 5, 5])
        stage.note("b", 11)
        #expect(Self.trims(stage.pass(2000)).last?.through == 8)
        // The log never ends with what is trimmed.
        stage.member.erasuresThrough = 11
        #expect(Self.trims(stage.pass(2000)).last?.through == 10)
    }

    @Test func `K6: what a new cell may lack is kept while the log has room`() {
        var stage = Stage(position: 60)
        stage.note("a", 61)
        stage.note("b", 61)
        stage.view.tail = 30
        stage.member.lackedThrough = 50
        stage.member.erasuresThrough = 55
        stage.reign()
        #expect(Self.trims(stage.pass(3000)).isEmpty)
        stage.member.lackedThrough = 0
        #expect(Self.trims(stage.pass(1000)).map(\.through) == [55])
        // What the log has let go of already nobody finds there.
        stage.member.lackedThrough = 30
        #expect(Self.trims(stage.pass(1000)).map(\.through) == [55])
        var full = Stage(position: 85)
        full.note("a", 86)
        full.note("b", 86)
        full.member.lackedThrough = 50
        full.reign()
        full.note("b", 87)
        #expect(Self.trims(full.pass(3000)).first?.through == 66)
    }

    // MARK: - Digests

    @Test
    func `S10: a follower that differs from the leader is wrong, unless another agrees with it`() {
        var stage = Stage()
        for name in ["a", "b", "c"] { stage.note(name, 9) }
        let own = StateDigest(turn: 5, version: 6, hash: 1)
        let leader = Self.name("b")
        _ = stage.pass(1000)
        #expect(!stage.member.isWrong(own, leader: leader), "nobody has said anything")
        stage.digest("b", 2)
        _ = stage.pass(1000)
        #expect(stage.member.isWrong(own, leader: leader))
        #expect(!stage.member.isWrong(own, leader: Self.name("c")))
        stage.digest("c", 1)
        _ = stage.pass(1000)
        #expect(!stage.member.isWrong(own, leader: leader), "it is the leader's turn to go")
        stage.digest("b", 2, version: 5)
        stage.digest("c", 3)
        _ = stage.pass(1000)
        #expect(!stage.member.isWrong(own, leader: leader), "another version holds it otherwise")
    }

    @Test func `S10: a leader that two others agree against steps down, and takes a copy`() {
        var stage = Stage()
        for name in ["a", "b", "c"] { stage.note(name, 9) }
        stage.reign()
        let own = StateDigest(turn: 5, version: 6, hash: 1)
        let leader = Self.name("a")
        stage.digest("b", 2)
        stage.digest("c", 3)
        _ = stage.pass(1000)
        #expect(!stage.member.isWrong(own, leader: leader), "they do not agree")
        stage.digest("c", 2)
        _ = stage.pass(1000)
        #expect(stage.member.isWrong(own, leader: leader))
        let effects = stage.member.diverge(stage.now) + stage.pass(100)
        #expect(effects.contains(.stepDown) && effects.contains(.join))
        stage.member.didNotJoin()
        #expect(!stage.pass(30_000).contains(.askPeers), "it never leads")
    }

    // MARK: - A lost log

    @Test func `S11: a log that was adopted is gone over to by copy, and by whoever began it`() {
        var stage = Stage()
        _ = stage.pass(1000)
        stage.view.head = LogHead(log: 88, position: 1, hash: 5, reign: 3, revision: 90)
        #expect(stage.pass(1000).contains(.lost(.other)))
        stage.view.adoption = LogAdoption(log: 88, of: 66)
        #expect(!stage.pass(1000).contains(.rejoin), "it is another watch's")
        stage.view.adoption = LogAdoption(log: 88, of: 77)
        #expect(stage.pass(1000).filter { $0 == .rejoin }.count == 1)
        stage.member.didNotJoin()
        #expect(stage.pass(1000).contains(.rejoin))
        stage.member.didNotJoin()
        stage.member.willAdopt(88)
        let place = stage.pass(500).compactMap { effect -> LogPlace? in
            if case .adopted(let place) = effect { place } else { nil }
        }
        #expect(place.first?.log == 88 && place.first?.position == 1)
        if let first = place.first { #expect(stage.member.didAdopt(at: first, stage.now) == []) }
        #expect(stage.member.role == .following)
        #expect(stage.pass(3000).contains(.askPeers), "it leads in time")
    }

    @Test func `S11: a state that was wrong is built anew from the store that is adopted`() {
        var stage = Stage()
        _ = stage.pass(1000)
        stage.view.head = LogHead(log: 88, position: 1, hash: 5, reign: 3, revision: 90)
        #expect(stage.pass(1000).contains(.lost(.other)))
        _ = stage.member.diverge(stage.now)
        stage.view.adoption = LogAdoption(log: 88, of: 77)
        stage.member.willAdopt(88)
        let adopted = stage.pass(1000).compactMap { effect -> LogPlace? in
            if case .adopted(let place) = effect { place } else { nil }
        }
        guard let place = adopted.first else {
            Issue.record("it is not noticed")
            return
        }
        #expect(stage.member.didAdopt(at: place, stage.now) == [.rebuild])
        #expect(!stage.pass(3000).contains(.askPeers), "it waits for its state")
        _ = stage.member.didRebuild(at: place)
        #expect(stage.pass(3000).contains(.askPeers), "it leads in time")
    }

    @Test func `S11: without any log one may be begun, and a copy may be asked for by hand`() {
        var stage = Stage()
        _ = stage.pass(1000)
        var effects: [MemberEffect] = []
        for _ in 0..<20 {
            stage.now += 50
            for effect in stage.member.tick(stage.now) {
                effects +=
                    effect == .readHead ? stage.member.take(head: .none, stage.now) : [effect]
            }
        }
        #expect(effects.contains(.lost(.shorter)) && stage.member.foreign == nil)
        #expect(stage.member.rejoin() == [.rejoin])
        #expect(stage.member.rejoin() == [], "it is under way")
    }
}
