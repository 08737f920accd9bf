import Testing

@testable import Rollcall
@testable import RollcallStore

/// The slices of an older checkpoint that an erasure looks at (I11).
@Suite struct SliceWalkTests {
    /// A head, two slices of names, and fifty of ten people.
    private static let checkpoint = EngineCheckpoint(
        turn: 9, engineVersion: 8, slices: 53, createdMilliseconds: 0)

    private func visited(_ people: [Int64], first: (Int64) -> Int?) -> (
        slices: [Int64], isKept: Bool
    ) {
        var walk = SliceWalk(Self.checkpoint, of: people)
        var visited: [Int64] = []
        while !walk.isOver {
            visited.append(walk.next)
            guard walk.pass(first(walk.next)) else { return (visited, false) }
        }
        return (visited, true)
    }

    @Test func `head and names are looked at, and of the people those in which somebody stands`() {
        func first(_ slice: Int64) -> Int? { slice < 3 ? nil : Int(slice - 3) * 10 }
        let start: [Int64] = [0, 1, 2, 3, 4]
        #expect(visited([], first: first).slices == start)
        #expect(visited([0, 9, 10], first: first).slices == start)
        #expect(visited([499, 120, 25, 129], first: first).slices == start + [5, 15, 52])
        // Somebody who came later is in none.
        #expect(visited([500, 7000], first: first).slices == start)
    }

    @Test func `one in which people stand elsewhere is not walked through`() {
        let odd = visited([120]) { $0 < 3 ? nil : $0 < 10 ? Int($0 - 3) * 10 : Int($0) * 10 }
        #expect(odd.slices == [0, 1, 2, 3, 4, 15])
        #expect(!odd.isKept)
        #expect(!visited([0]) { $0 < 3 ? nil : 5 }.isKept)
        #expect(!visited([0]) { $0 < 3 ? nil : 0 }.isKept)
        // Nor one that has something else where people should be.
        #expect(!visited([120]) { $0 < 3 || $0 == 15 ? nil : Int($0 - 3) * 10 }.isKept)
    }
}
