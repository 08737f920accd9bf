import Testing

@testable import Rollcall

/// A cell that did not answer lately is asked, or not. Source: K5.
@Suite struct CellStandingTests {
    private func late(_ count: Int) -> CellStanding {
        var standing = CellStanding()
        for number in 0..<count {
            _ = standing.note("late", isLate: true, at: Int64(number))
        }
        return standing
    }

    @Test func `one that was late three times in a row gets nothing until it is there again`() {
        var twice = late(CellStanding.lateMax - 1)
        #expect(twice.leave(at: 10) == .granted)
        var standing = late(CellStanding.lateMax)
        #expect(standing.leave(at: 10) == .refusedAndDue)
        // It is asked once at a time, and for a while not again.
        #expect(standing.leave(at: 5000) == .refused)
        standing.noteAsked(isThere: false, at: 5000)
        #expect(standing.leave(at: 5000 + CellStanding.askedEvery - 1) == .refused)
        #expect(standing.leave(at: 5000 + CellStanding.askedEvery) == .refusedAndDue)
        standing.noteAsked(isThere: true, at: 6000)
        #expect(standing.leave(at: 6000) == .granted)
    }

    @Test func `an answer to a request that was out already is as good`() {
        var standing = late(CellStanding.lateMax)
        #expect(standing.leave(at: 10) == .refusedAndDue)
        _ = standing.note(nil, isLate: false, at: 11)
        #expect(standing.leave(at: 12) == .granted)
    }

    @Test func `one that refuses the connection keeps nobody waiting, so all may ask`() {
        var standing = late(CellStanding.lateMax - 1)
        _ = standing.note("refused", isLate: false, at: 10)
        _ = standing.note("late", isLate: true, at: 11)
        #expect(standing.leave(at: 12) == .granted)
    }

    @Test func `the log is told of another trouble now and then, and of its end once`() {
        var standing = CellStanding()
        #expect(standing.note(nil, isLate: false, at: 0) == nil)
        #expect(standing.note("a", isLate: false, at: 1) == .trouble("a"))
        #expect(standing.note("a", isLate: false, at: 2) == nil)
        #expect(standing.note("b", isLate: true, at: 3) == nil)
        #expect(standing.note("b", isLate: true, at: 1 + CellStanding.loggedEvery) == .trouble("b"))
        #expect(standing.note(nil, isLate: false, at: 20_000) == .isOver)
        #expect(standing.note(nil, isLate: false, at: 20_001) == nil)
    }
}
