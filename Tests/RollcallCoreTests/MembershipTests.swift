import RollcallCore
import Testing

/// The members of a watch on several machines, as its log names them.
@Suite struct MembershipTests {
    private static func name(_ text: String) -> [UInt8] { Array(text.utf8) }

    /// Folds changes one after the other; the faults that they met.
    private static func fold(
        _ engine: inout Engine, _ changes: MembershipChange...
    ) -> [MembershipFault?] {
        changes.map { change in
            let now = engine.clock.now + Milliseconds(1)
            return engine.fold(.membership(change), at: max(now, RunningTime(milliseconds: 1)))
                .membershipFault
        }
    }

    @Test func `S17: the list is open until somebody names or removes one`() {
        var engine = Engine()
        let (a, b, c) = (Self.name("a"), Self.name("b"), Self.name("c"))
        #expect(Self.fold(&engine, .found(a)) == [.early], "not before all read it")
        #expect(Self.fold(&engine, .level(2), .level(2), .level(1)) == [nil, .known, .known])
        #expect(Self.fold(&engine, .found(b), .found(a), .found(a)) == [nil, nil, .known])
        #expect(engine.membership.names == [a, b] && !engine.membership.isClosed)
        #expect(engine.membership.mayLead(c))
        #expect(engine.membership.counted(noted: [c, a]) == [a, b, c])
        #expect(
            Self.fold(&engine, .added(a)) == [nil], "to name one that is listed closes the list")
        #expect(engine.membership.isClosed && !engine.membership.mayLead(c))
        #expect(engine.membership.counted(noted: [c, a]) == [a, b])
        #expect(
            Self.fold(&engine, .found(c), .added(a), .removed(c), .removed(b), .removed(a))
                == [.known, .known, .unknown, nil, .last])
        #expect(engine.membership.names == [a])
    }

    @Test func `S17: there is room for sixteen, and for no more`() {
        var engine = Engine()
        _ = Self.fold(&engine, .level(2))
        for number in 0..<Membership.membersMax {
            #expect(Self.fold(&engine, .added(Self.name("m\(number)"))) == [nil])
        }
        #expect(Self.fold(&engine, .added(Self.name("one-more"))) == [.full])
    }

    @Test func `S17: a change is the same after its journal and a checkpoint`() throws {
        let changes: [MembershipChange] = [
            .level(2), .found(Self.name("a")), .added(Self.name("b")), .removed(Self.name("a")),
        ]
        var engine = Engine()
        let reign = Reign(number: 1, member: Self.name("a"), unobserved: Milliseconds(0))
        _ = engine.fold(.reign(reign), at: RunningTime(milliseconds: 1))
        for change in changes {
            #expect(MembershipChange(journalBytes: change.journalBytes) == change)
            #expect(MembershipChange(journalBytes: change.journalBytes + [0]) == nil)
            #expect(change.isCredible)
            #expect(Self.fold(&engine, change) == [nil])
        }
        let checkpoint = Checkpoint(engine)
        var reader = CheckpointReader()
        for index in 0..<checkpoint.sliceCount { reader.take(checkpoint.slice(index)) }
        #expect(try #require(reader.finish()).membership == engine.membership)
        #expect(engine.membership.names == [Self.name("b")] && engine.membership.level == 2)
    }

    @Test(arguments: ["", "a/b", "a b", "\u{E9}", String(repeating: "x", count: 65)])
    func `S17: what is no name is none in the journal either`(text: String) {
        #expect(!MembershipChange.added(Self.name(text)).isCredible)
    }
}
