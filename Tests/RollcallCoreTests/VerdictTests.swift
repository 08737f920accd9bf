import RollcallCore
import Testing

/// What a silence turned out to be. Source: C2, F26.
@Suite struct VerdictTests {
    /// The verdict about somebody on duty who reported 1 at 0 s, went OFFLINE, and of whom `lines`
    /// came from 600 s on.
    private func verdict(
        _ verdict: String, at: String = "720s", before: String = "with 1",
        sourceLocation: SourceLocation = #_sourceLocation, _ lines: String
    ) throws {
        try timeline(
            """
            0s     policy on_duty 60/90/180
            0s     41 reports \(before)                   → 41 unknown, 41 online
            90s                                           → 41 degraded, 41 gap open unexplained
            180s                                          → 41 offline, 41 gap judged
            \(lines)
            """ + "\n\(at) → 41 verdict \(verdict)", gaps: true, sourceLocation: sourceLocation)
    }

    @Test func `what was captured meanwhile proves that the app ran`() throws {
        try verdict(
            "network",
            """
            600s   41 reports with 2 captured 300s        → 41 online, 41 gap closed
            660s   41 reports with 3
            719s   41 reports with 4
            """)
    }

    @Test func `nothing captured meanwhile and the sequence going on means that it stopped`() throws
    {
        try verdict(
            "app_stopped",
            """
            600s   41 reports with 2                      → 41 online, 41 gap closed
            660s   41 reports with 3
            """)
    }

    @Test func `what is captured within an expected interval of the return is the return`() throws {
        try verdict(
            "app_stopped",
            "600s   41 reports with 2 captured 540s → 41 online, 41 gap closed"
                + "\n660s 41 reports with 3")
        try verdict(
            "network",
            "600s   41 reports with 2 captured 539.999s → 41 online, 41 gap closed"
                + "\n660s 41 reports with 3")
    }

    @Test func `what was captured before the last contact is no evidence`() throws {
        try verdict(
            "app_stopped", before: "with 2",
            """
            600s   41 reports with 1 captured 0s          → 41 online, 41 gap closed
            660s   41 reports with 3
            """)
    }

    @Test func `a backlog in pieces, newest first, by several requests, is one backlog`() throws {
        try verdict(
            "network",
            """
            600s   41 reports with 9                      → 41 online, 41 gap closed
            605s   41 reports with 7,8 captured 560s
            660s   41 reports with 10
            719s   41 reports with 2,3 captured 200s
            """)
    }

    @Test func `what comes after two minutes comes too late`() throws {
        try timeline(
            """
            0s     41 reports with 1                      → 41 unknown, 41 online
            90s    → 41 degraded, 41 gap open unexplained
            180s   → 41 offline, 41 gap judged
            600s   41 reports with 9                      → 41 online, 41 gap closed
            660s   41 reports with 10
            720s   → 41 verdict app_stopped
            721s   41 reports with 2 captured 300s
            """, gaps: true)
    }

    @Test func `a cached fix is no evidence, nor is one from the future`() throws {
        try verdict(
            "app_stopped",
            """
            600s   41 reports with 2 captured 300s cached → 41 online, 41 gap closed
            660s   41 reports with 3 captured 670s
            """)
    }

    @Test func `an update without a time continues the sequence and proves no more`() throws {
        try verdict(
            "app_stopped",
            """
            600s   41 reports with 2 captured never       → 41 online, 41 gap closed
            660s   41 reports with 3 captured never
            """)
    }

    @Test func `contact without updates explains nothing`() throws {
        try verdict(
            "unexplained",
            """
            600s   41 reports                             → 41 online, 41 gap closed
            660s   41 reports
            """)
        try verdict(
            "unexplained",
            """
            600s   server says 41 offline to online       → 41 online by server, 41 gap closed
            660s   server says 41 online to online
            """)
    }

    @Test func `a first sequence continues nothing`() throws {
        try verdict(
            "unexplained", before: "",
            """
            600s   41 reports with 1                      → 41 online, 41 gap closed
            660s   41 reports
            """)
    }

    @Test func `a hole that is filled does not continue the sequence`() throws {
        try verdict(
            "unexplained", before: "with 1,9",
            """
            600s   41 reports with 5 captured 0s          → 41 online, 41 gap closed
            660s   41 reports
            """)
    }

    @Test func `a new install comes before everything else`() throws {
        try verdict(
            "reinstalled", before: "install a with 1",
            """
            600s   41 reports install b phone denied with 1 captured 300s → 41 online, \
            41 gap closed
            660s   41 reports install b with 2
            """)
    }

    @Test func `without install ids a sequence that starts again is a new install`() throws {
        try verdict(
            "reinstalled", before: "with 10",
            """
            600s   41 reports with 1                      → 41 online, 41 gap closed
            660s   41 reports with 2
            """)
    }

    @Test func `an id that comes up with the return adopts the install before`() throws {
        try verdict(
            "app_stopped",
            """
            600s   41 reports install a with 2            → 41 online, 41 gap closed
            660s   41 reports install a with 3
            """)
    }

    @Test func `what the returning phone says of its permission counts`() throws {
        try verdict(
            "permission_denied",
            """
            600s   41 reports phone denied,unlocated with 2 captured 300s \
            → 41 online, 41 gap closed
            660s   41 reports phone granted with 3
            """)
        try verdict(
            "location_services_off",
            """
            600s   41 reports with 2 captured 300s        → 41 online, 41 gap closed
            660s   41 reports phone granted,unlocated with 3
            """)
    }

    @Test func `what it said before does not`() throws {
        try timeline(
            """
            0s     41 reports phone denied with 1         → 41 unknown, 41 online
            90s    → 41 degraded, 41 gap open permission_denied
            180s   → 41 offline, 41 gap judged
            600s   41 reports with 2                      → 41 online, 41 gap closed
            660s   41 reports with 3
            720s   → 41 verdict app_stopped
            """, gaps: true)
    }

    @Test func `a forwarder's retry tells nothing`() throws {
        try verdict(
            "unexplained",
            """
            600s   41 reports                             → 41 online, 41 gap closed
            601s   41 reports received 0s phone denied with 1
            660s   41 reports
            """)
    }

    @Test func `a second gap delivers the first one's verdict at once`() throws {
        try timeline(
            """
            0s     41 reports with 1                      → 41 unknown, 41 online
            90s    → 41 degraded, 41 gap open unexplained
            180s   → 41 offline, 41 gap judged
            200s   41 reports with 2                      → 41 online, 41 gap closed
            201s   server says 41 online to degraded      → 41 degraded by server, \
            41 verdict app_stopped, 41 gap open
            210s   41 reports with 3                      → 41 online, 41 gap closed
            """, gaps: true)
    }

    @Test func `going off duty after the return changes nothing`() throws {
        try verdict(
            "network",
            """
            600s   41 reports with 2 captured 300s        → 41 online, 41 gap closed
            610s   41 goes off duty                       → 41 not expected
            """)
    }

    @Test func `a verdict that falls due while blind waits for the end of blindness`() throws {
        try timeline(
            """
            0s     41 reports with 1                      → 41 unknown, 41 online
            90s    → 41 degraded, 41 gap open unexplained
            180s   → 41 offline, 41 gap judged
            600s   41 reports with 2                      → 41 online, 41 gap closed
            610s   store fails
            611s                                          → blind store since 610s
            700s   41 reports with 3 captured 300s
            900s   store recovers                         → blind store ended since 610s, \
            41 verdict network
            """, gaps: true)
    }

    @Test func `so does one that falls due while we do not run`() throws {
        try timeline(
            """
            0s     41 reports with 1                      → 41 unknown, 41 online
            90s    → 41 degraded, 41 gap open unexplained
            180s   → 41 offline, 41 gap judged
            600s   41 reports with 2                      → 41 online, 41 gap closed
            610s   stop
            900s   start → blind stopped since 610s, blind stopped ended since 610s, \
            41 verdict app_stopped
            """, gaps: true)
    }

    @Test func `when several fall due they go by responder`() throws {
        try timeline(
            """
            0s     b,a report with 1                      → b unknown, b online, a unknown, \
            a online
            90s    → a degraded, a gap open unexplained, b degraded, b gap open unexplained
            180s   → a offline, a gap judged, b offline, b gap judged
            600s   b,a report with 2                      → b online, b gap closed, a online, \
            a gap closed
            660s   a,b report with 3
            720s   → a verdict app_stopped, b verdict app_stopped
            """, gaps: true)
    }

    @Test func `an anonymous update continues the install that it belongs to`() throws {
        // 86 was captured before the newer install's first update: it is of the one before (F14).
        try timeline(
            """
            0s     41 reports with 4849                   → 41 unknown, 41 online
            10s    41 reports with 5 captured 10s
            100s   → 41 degraded, 41 gap open unexplained
            190s   → 41 offline, 41 gap judged
            600s   41 reports with 86 captured 5s         → 41 online, 41 gap closed
            660s   41 reports
            720s   → 41 verdict unexplained
            """, gaps: true)
    }

    @Test func `a return that is found to be in a blind stretch moves what is inside the gap`()
        throws
    {
        // All beats are missing from 600 s on, noticed at 675 s: the return counts as at 600 s.
        try timeline(
            """
            0s     source beats every 30s
            0s     policy on_duty 60/90/180
            30s    41 reports with 1                      → 41 unknown, 41 online
            60s    source beats every 300s
            120s   → 41 degraded, 41 gap open unexplained
            210s   → 41 offline, 41 gap judged
            600s   source beats every 30s
            650s   41 reports through b with 2            → 41 online, 41 gap closed
            675s   → blind heartbeat since 600s
            690s   41 reports through b with 3 captured 580s
            700s   source beats every 30s                 → blind heartbeat ended since 600s
            760s   source beats every 30s
            770s   → 41 verdict app_stopped
            """, gaps: true)
    }
}
