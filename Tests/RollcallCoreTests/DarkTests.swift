import RollcallCore
import Testing

/// How long somebody could not be reached, or not be located. Source: C4.
@Suite struct DarkTests {
    /// Contact-dark and location-dark seconds of the default region after a timeline.
    private func dark(
        _ text: String, sourceLocation: SourceLocation = #_sourceLocation
    ) throws -> [Double] {
        let engine = try timeline(text, sourceLocation: sourceLocation)
        return DarkKind.allCases.map { kind in
            let sums = Platform.allCases.map { engine.dark(kind, region: nil, $0) }
            return Double(sums.reduce(0, +)) / 1000
        }
    }

    @Test func `contact is dark from the degraded threshold to the return`() throws {
        #expect(
            try dark(
                """
                0s     41 reports with 1              → 41 unknown, 41 online
                90s    → 41 degraded
                180s   → 41 offline
                600s   41 reports with 2              → 41 online
                620s
                """) == [510, 0])
    }

    @Test func `it is counted while it lasts`() throws {
        #expect(
            try dark(
                """
                0s     41 reports with 1              → 41 unknown, 41 online
                90s    → 41 degraded
                180s   → 41 offline
                20000s
                """)[0] == 19_910)
    }

    @Test func `whoever never reported is dark from the degraded threshold on`() throws {
        #expect(
            try dark(
                """
                0s     41 goes on duty                → 41 unknown
                180s   → 41 offline
                300s
                """)[0] == 210)
    }

    @Test func `nobody is dark who is not expected`() throws {
        #expect(
            try dark(
                """
                0s     41 reports with 1              → 41 unknown, 41 online
                90s    → 41 degraded
                100s   41 goes off duty               → 41 not expected
                500s
                """) == [10, 10])
    }

    @Test func `a backlog makes the past located, not reachable`() throws {
        #expect(
            try dark(
                """
                0s     41 reports with 1              → 41 unknown, 41 online
                90s    → 41 degraded
                180s   → 41 offline
                600s   41 reports with 2 captured 300s → 41 online
                610s   41 reports with 3 captured 600s
                690s   41 reports with 4
                730s
                """)
                == [510, 420])
    }

    @Test func `how the backlog comes in pieces changes nothing`() throws {
        let pieces = ["2 captured 200s", "3 captured 250s", "4 captured 400s", "5 captured 590s"]
        for order in [[0, 1, 2, 3], [3, 2, 1, 0], [2, 0, 3, 1]] {
            let lines = order.enumerated().map { place, piece in
                "\(600 + place)s 41 reports with \(pieces[piece])"
                    + (place == 0 ? " → 41 online" : "")
            }
            // Covered: up to 90, 200–340, 400–490, 590–680: 110 + 60 + 100 are not.
            #expect(
                try dark(
                    """
                    0s     41 reports with 1          → 41 unknown, 41 online
                    90s    → 41 degraded
                    180s   → 41 offline
                    \(lines.joined(separator: "\n"))
                    660s   41 reports with 6
                    740s
                    """) == [510, 270])
        }
    }

    @Test func `contact without locations is dark by location`() throws {
        let reports = (1...10).map { "\($0 * 60)s 41 reports" }.joined(separator: "\n")
        #expect(
            try dark(
                """
                0s     41 reports with 1              → 41 unknown, 41 online
                \(reports)
                620s   41 reports with 2
                680s   41 reports
                740s   41 reports
                """) == [0, 530])
    }

    @Test func `blind time is nobody's`() throws {
        #expect(
            try dark(
                """
                0s     41 reports with 1              → 41 unknown, 41 online
                90s    → 41 degraded
                100s   store fails
                101s                                  → blind store since 100s
                400s   store recovers                 → blind store ended since 100s
                500s   41 reports with 2              → 41 online
                520s
                """)[0] == 110)
    }

    @Test func `a stricter policy counts from the change on`() throws {
        #expect(
            try dark(
                """
                0s     41 reports with 1              → 41 unknown, 41 online
                80s    policy on_duty 15/30/60
                90s    → 41 degraded
                100s   41 reports with 2              → 41 online
                """)[0] == 20)
    }

    @Test func `what an erased person was dark stays in the sum`() throws {
        #expect(
            try dark(
                """
                0s     41 reports with 1              → 41 unknown, 41 online
                90s    → 41 degraded
                150s   41 is erased
                200s
                """)[0] == 60)
    }
}
