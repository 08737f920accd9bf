import RollcallCluster
import RollcallCore
import Testing

/// What a member does, step by step. What three of them do together the simulation shows.
@Suite struct MemberTests {
    private static let log: UInt64 = 77

    /// A member, and a log that the test tells it of.
    private struct Stage {
        var member: Member
        var now: Int64 = 0
        var head: LogHead
        var beat: Int64 = 0
        var isReleased = false

        init(silence: Int64 = 2000) {
            var settings = Member.Settings(name: Array("a".utf8), incarnation: 1)
            settings.silence = Milliseconds(silence)
            let last = LogEntry(
                .turn, at: 9, after: 1, origin: MemberTests.origin("b", reign: 3), body: [])
            head = LogHead(
                log: MemberTests.log, position: 9, hash: last.hash, reign: 3, revision: 20)
            member = Member(
                settings, at: LogPlace(behind: last, revision: 20, log: MemberTests.log), now: 0)
        }

        var view: LogView {
            LogView(head: head, beat: beat, tail: 0, notes: [], isReleased: isReleased)
        }

        /// Lets time pass in ticks; the end of the log is answered each time it is asked for.
        mutating func pass(_ milliseconds: Int64) -> [MemberEffect] {
            var effects: [MemberEffect] = []
            for _ in 0..<(milliseconds / 50) {
                now += 50
                effects += answerHeads(member.tick(now))
            }
            return effects
        }

        private mutating func answerHeads(_ effects: [MemberEffect]) -> [MemberEffect] {
            effects.flatMap {
                $0 == .readHead ? answerHeads(member.take(head: .view(view), now)) : [$0]
            }.filter { if case .note = $0 { false } else { true } }
        }

        /// Lets it lead from the next entry on.
        mutating func reign() -> [MemberEffect] {
            _ = pass(3000)
            _ = member.take(peers: [], now)
            let effects = member.propose([1], now)
            let revision = head.revision + 1
            head = head(after: effects, revision: revision)
            return member.take(append: .landed(head), now)
        }

        /// The head that the entry of an append makes.
        func head(after effects: [MemberEffect], revision: Int64) -> LogHead {
            guard case .append(let entry, _)? = effects.last else { return head }
            return LogHead(
                log: MemberTests.log, position: entry.position, hash: entry.hash,
                reign: entry.origin.reign, revision: revision)
        }
    }

    private static func origin(_ member: String, reign: Int64, serial: Int64 = 1) -> LogOrigin {
        LogOrigin(member: Array(member.utf8), incarnation: 1, reign: reign, serial: serial)
    }

    private static func appended(_ effects: [MemberEffect]) -> (entry: LogEntry, after: LogView)? {
        for case .append(let entry, let after) in effects { return (entry, after) }
        return nil
    }

    // MARK: - Standing

    @Test func `S8: a follower stands after the silence, and asks the others first`() {
        var stage = Stage()
        #expect(stage.pass(1950) == [])
        #expect(stage.pass(700) == [.askPeers])
        let effects = stage.member.take(peers: [], stage.now)
        #expect(effects == [.reign(number: 4, unobserved: Milliseconds(stage.now - 50))])
    }

    @Test func `S12: an entry in parts is read at once, also if a question was on its way`() {
        var stage = Stage()
        _ = stage.pass(1000)
        // The end is asked for at once, and then what follows.
        #expect(stage.member.take(news: .grown(revision: 26), stage.now) == [.readHead])
        // More of them meanwhile: the answer on its way may be from before.
        #expect(stage.member.take(news: .grown(revision: 27), stage.now) == [])
        let before = stage.view
        stage.head.position = 10
        stage.head.revision = 27
        #expect(stage.member.take(head: .view(before), stage.now) == [.readHead])
        let after = stage.member.take(head: .view(stage.view), stage.now)
        guard case .read(_, after: 9, limit: _) = after.first, after.count == 1 else {
            Issue.record("\(after)")
            return
        }
    }

    @Test func `S4: who was handed the lead does not wait for the silence`() {
        var stage = Stage()
        _ = stage.pass(1000)
        stage.beat = 25
        stage.isReleased = true
        let news = stage.member.take(news: .released(revision: 25), stage.now)
        #expect(news == [.readHead])
        _ = stage.member.take(head: .view(stage.view), stage.now)
        #expect(stage.pass(50) == [.askPeers])
        #expect(
            stage.member.take(peers: [], stage.now) == [
                .reign(number: 4, unobserved: Milliseconds(50))
            ])
    }

    @Test func `S4: a hand-over is seen also if a question was on its way`() {
        var stage = Stage()
        _ = stage.pass(1000)
        #expect(stage.member.take(news: .grown(revision: 26), stage.now) == [.readHead])
        #expect(stage.member.take(news: .released(revision: 27), stage.now) == [])
        let before = stage.view
        stage.beat = 27
        stage.isReleased = true
        #expect(stage.member.take(head: .view(before), stage.now) == [.readHead])
        #expect(stage.member.tickEvery == 100)
        _ = stage.member.take(head: .view(stage.view), stage.now)
        // Nobody watches until it stands.
        #expect(stage.member.tickEvery == 10)
        #expect(stage.pass(50) == [.askPeers])
        #expect(stage.member.tickEvery == 100)
    }

    @Test func `S4: nobody is handed the lead who has not folded what landed`() {
        var stage = Stage()
        stage.isReleased = true
        stage.head.position += 1
        stage.head.revision += 1
        #expect(!stage.pass(1000).contains(.askPeers))
    }

    @Test func `S4: who hands over sends nothing more, and stands only if nobody else does`() {
        var stage = Stage()
        _ = stage.reign()
        let head = stage.head
        #expect(stage.member.release(stage.now) == [.stepDown, .release(after: head)])
        #expect(!stage.member.mayTouch(at: stage.now) && stage.member.role == .following)
        stage.isReleased = true
        #expect(!stage.pass(9000).contains(.askPeers))
        #expect(stage.pass(2000).contains(.askPeers))
    }

    @Test func `S4: nobody hands over while a turn is on its way`() {
        var stage = Stage()
        _ = stage.reign()
        _ = stage.member.propose([2], stage.now)
        #expect(stage.member.release(stage.now) == [])
        #expect(stage.member.role == .leading)
    }

    @Test func `S12: turns that are missing here are taken from a copy`() {
        var stage = Stage()
        let entry = LogEntry(
            .turn, at: 10, after: stage.head.hash, origin: Self.origin("b", reign: 3, serial: 2),
            body: [])
        let landed = LandedEntry(entry, revision: 21)
        #expect(stage.member.take(news: .entry(landed), 1) == [.fold(landed)])
        #expect(stage.member.didNotFit() == [.join])
        #expect(stage.member.isBusy)
        stage.member.didNotJoin()
        #expect(!stage.member.isBusy)
    }

    @Test func `S8: a beat that only the end of the log tells of is one`() {
        var stage = Stage()
        for _ in 0..<10 {
            #expect(stage.pass(1000) == [])
            stage.beat = stage.head.revision + stage.now
        }
    }

    @Test func `S8: nobody stands who has not folded what landed`() {
        var stage = Stage()
        stage.head.position += 1
        stage.head.revision += 1
        let effects = stage.pass(6000)
        #expect(effects.allSatisfy { if case .read = $0 { true } else { false } })
        #expect(!effects.isEmpty && stage.member.role == .following)
    }

    @Test func `S14: who abstains does not stand again for as long as the silence`() {
        var stage = Stage()
        #expect(stage.pass(3000) == [.askPeers])
        _ = stage.member.take(peers: [], stage.now)
        stage.member.abstain(stage.now)
        #expect(stage.member.role == .following)
        #expect(stage.pass(1900) == [])
        #expect(stage.pass(1000) == [.askPeers])
    }

    @Test(arguments: [1, 2]) func `S11: nobody leads when another holds more than the log`(
        step: Int64
    ) {
        var stage = Stage()
        _ = stage.pass(3000)
        var ahead = stage.member.place
        ahead.position += step
        let peer = PeerPlace(member: Array("c".utf8), place: ahead)
        #expect(stage.member.take(peers: [peer], stage.now) == [.readHead])
        #expect(
            stage.member.take(head: .view(stage.view), stage.now) == [
                .lost(.memberAhead(member: peer.member))
            ])
    }

    @Test func `S11: who came to lead meanwhile holds more, and nothing is lost`() {
        var stage = Stage()
        _ = stage.pass(3000)
        let entry = LogEntry(
            .reign, at: 10, after: stage.head.hash, origin: Self.origin("c", reign: 4), body: [])
        let place = LogPlace(behind: entry, revision: 30, log: Self.log)
        let peer = PeerPlace(member: Array("c".utf8), place: place)
        #expect(stage.member.take(peers: [peer], stage.now) == [.readHead])
        stage.head = LogHead(
            log: Self.log, position: 10, hash: entry.hash, reign: 4, revision: 30)
        let effects = stage.member.take(head: .view(stage.view), stage.now)
        #expect(stage.member.role == .following)
        #expect(effects.contains { if case .read = $0 { true } else { false } })
    }

    // MARK: - Appending

    @Test func `S2: a turn follows what is held, by value and revision`() throws {
        var stage = Stage()
        let held = stage.member.place
        _ = stage.pass(3000)
        _ = stage.member.take(peers: [], stage.now)
        let reign = try #require(Self.appended(stage.member.propose([7], stage.now)))
        #expect(reign.entry.kind == .reign && reign.entry.position == 10)
        #expect(reign.entry.previous == held.hash && reign.entry.origin.reign == 4)
        #expect(reign.after.head.revision == 20 && reign.after.head.hash == held.hash)
        #expect(!stage.member.mayPropose && stage.member.isBusy)
    }

    @Test func `S3: an unknown outcome is settled by who stands at the position`() throws {
        var stage = Stage()
        _ = stage.reign()
        let sent = stage.member.propose([2], stage.now)
        let entry = try #require(Self.appended(sent)).entry
        let read = stage.member.take(append: .unknown("lost"), stage.now)
        #expect(read == [.read(request: 1, after: 10, limit: 1)])
        // Equal bytes of somebody else are somebody else's.
        var other = entry
        other.origin.incarnation = 2
        var seen = stage.view
        seen.head.position = 11
        seen.head.revision += 1
        for (found, isOwn) in [(entry, true), (other, false)] {
            var member = stage.member
            seen.head.hash = found.hash
            let landed = LandedEntry(found, revision: seen.head.revision)
            let effects = member.take(
                read: .entries([landed], seen), request: 1, stage.now)
            #expect(effects == (isOwn ? [.landed(landed)] : [.stepDown, .rebuild]))
            #expect(!member.mayTouch(at: stage.now), "S6: nothing is touched until another landed")
        }
    }

    @Test func `S3: where nothing stands, the same bytes are appended again`() throws {
        var stage = Stage()
        _ = stage.reign()
        let sent = stage.member.propose([2], stage.now)
        _ = stage.member.take(append: .unknown("lost"), stage.now)
        let again = stage.member.take(read: .entries([], stage.view), request: 1, stage.now)
        #expect(again == sent)
        // The first attempt came late and took the place: the second one's refusal says nothing.
        #expect(
            stage.member.take(append: .refused, stage.now)
                == [.read(request: 2, after: 10, limit: 1)])
    }

    @Test func `S5: what was refused to another's entry is withdrawn, and the engine built anew`()
        throws
    {
        var stage = Stage()
        _ = stage.reign()
        _ = stage.member.propose([2], stage.now)
        _ = stage.member.take(append: .refused, stage.now)
        let other = LogEntry(
            .reign, at: 11, after: stage.head.hash, origin: Self.origin("c", reign: 5), body: [])
        var seen = stage.view
        seen.head = LogHead(
            log: Self.log, position: 11, hash: other.hash, reign: 5, revision: 30)
        let effects = stage.member.take(
            read: .entries([LandedEntry(other, revision: 30)], seen), request: 1, stage.now)
        #expect(effects == [.stepDown, .rebuild] && stage.member.isBusy)
        #expect(stage.member.didRebuild(at: stage.member.place) == [])
        #expect(!stage.member.isBusy && stage.member.role == .following)
    }

    @Test func `S5: what landed and cannot be kept is no reason to lead on`() {
        var stage = Stage()
        _ = stage.reign()
        #expect(stage.member.didFail() == [.stepDown, .rebuild])
    }

    // MARK: - The permit

    @Test func `S6: the permit lasts half the silence from the first time that a turn was sent`() {
        var stage = Stage()
        let landed = stage.reign()
        #expect(landed.count == 1 && stage.member.role == .leading)
        #expect(stage.member.mayTouch(at: stage.now + 1000))
        #expect(!stage.member.mayTouch(at: stage.now + 1001))
        #expect(stage.member.leadsUntil == stage.now + 2000, "S15: until another may lead")
    }

    @Test func `S6: a beat that landed is a proof, and one that was refused ends the reign`() {
        var stage = Stage()
        _ = stage.reign()
        let beats = stage.pass(500)
        #expect(beats.contains(.beat(after: stage.head)))
        _ = stage.member.take(beat: .landed(stage.head), stage.now)
        // It was sent with the first tick.
        #expect(stage.member.mayTouch(at: stage.now + 550))
        #expect(!stage.member.mayTouch(at: stage.now + 551))
        _ = stage.pass(500)
        #expect(stage.member.take(beat: .refused, stage.now) == [.stepDown])
        #expect(!stage.member.mayTouch(at: stage.now))
    }

    @Test func `S15: without a read of the end within the silence nothing is confirmed`() {
        var stage = Stage()
        _ = stage.pass(500)
        #expect(stage.member.isConfirmed(at: stage.now))
        #expect(!stage.member.isConfirmed(at: stage.now + 2050))
    }

    // MARK: - Another log

    @Test func `S11: a log that is another, shorter, different or restored is noticed`() {
        let stage = Stage()
        func loss(_ change: (inout LogHead) -> Void) -> Member.Role {
            var member = stage.member
            var seen = stage.view
            change(&seen.head)
            _ = member.tick(50)
            _ = member.take(head: .view(seen), 60)
            return member.role
        }
        #expect(loss { _ in } == .following)
        #expect(loss { $0.log = 78 } == .lost(.other))
        #expect(loss { $0.position = 8 } == .lost(.shorter))
        #expect(loss { $0.hash ^= 1 } == .lost(.different))
        #expect(loss { $0.revision += 1 } == .lost(.restored))
        #expect(
            loss {
                $0.position = 12; $0.revision = 19
            } == .lost(.restored))
    }

    @Test func `S11: what was read before a turn landed does not miss it`() {
        var stage = Stage()
        stage.now = 100
        #expect(stage.member.tick(stage.now).contains(.readHead))
        let before = stage.view
        let next = LogEntry(
            .turn, at: 10, after: stage.head.hash, origin: Self.origin("b", reign: 3), body: [])
        let landed = LandedEntry(next, revision: 21)
        #expect(stage.member.take(news: .entry(landed), stage.now) == [.fold(landed)])
        _ = stage.member.didFold(landed)
        _ = stage.member.take(head: .view(before), stage.now)
        #expect(stage.member.role == .following && stage.member.place.position == 10)
    }
}
