import RollcallCore
import Testing

/// A feed that seems to stand still, where nobody declared a source. Source: B3,
/// F11, F25.
@Suite struct StallTests {
    @Test func `gaps that are evaluated while the feed is suspected are put down to it`() throws {
        // Twelve mean spacings of three people are 240 s, more than on_duty.offline_after.
        try timeline(
            """
            0s     policy min_active 3
            0s     a,b,c report                 → a unknown, a online, b unknown, b online, \
            c unknown, c online
            90s    → a degraded, a gap open unexplained, b degraded, b gap open unexplained, \
            c degraded, c gap open unexplained
            180s   → a gap judged mass_gap, b gap judged mass_gap, c gap judged mass_gap, \
            a offline, a gap judged, b offline, b gap judged, c offline, c gap judged
            """, gaps: true)
    }

    @Test func `two who were ONLINE are too few for a suspicion of three`() throws {
        try timeline(
            """
            0s     policy min_active 3
            0s     a,b report                   → a unknown, a online, b unknown, b online
            90s    → a degraded, a gap open unexplained, b degraded, b gap open unexplained
            180s   → a offline, a gap judged, b offline, b gap judged
            """, gaps: true)
    }

    @Test func `any batch ends the suspicion, a duplicate too`() throws {
        try timeline(
            """
            0s     policy min_active 2
            0s     a reports with 1             → a unknown, a online
            0s     b reports with 1             → b unknown, b online
            50s    a reports with 1 received 0s
            90s    → a degraded, a gap open unexplained, b degraded, b gap open unexplained
            180s   → a offline, a gap judged, b offline, b gap judged
            """, gaps: true)
    }

    @Test func `a declared source makes it known, not suspected`() throws {
        try timeline(
            """
            0s     policy min_active 2
            0s     source beats every 300s
            0s     a,b report                   → a unknown, a online, b unknown, b online
            90s    → a degraded, a gap open unexplained, b degraded, b gap open unexplained
            180s   → a offline, a gap judged, b offline, b gap judged
            """, gaps: true)
    }

    @Test func `its clock stands still while we do not run`() throws {
        try timeline(
            """
            0s     policy min_active 2 on_mission 15/30/60
            0s     a,b report on mission        → a unknown, a online, b unknown, b online
            10s    stop
            1000s  start → blind stopped since 10s, blind stopped ended since 10s
            1030s  → a degraded, a gap open unexplained, b degraded, b gap open unexplained
            1060s  → a offline, a gap judged, b offline, b gap judged
            """, gaps: true)
    }

    @Test func `D6: a feed is not suspected for what a failing store refused`() throws {
        try timeline(
            """
            0s     policy min_active 3
            0s     a,b,c report                 → a unknown, a online, b unknown, b online, \
            c unknown, c online
            20s    store fails
            21s                                 → blind store since 20s
            200s   store recovers               → blind store ended since 20s
            290s   → a degraded, a gap open unexplained, b degraded, b gap open unexplained, \
            c degraded, c gap open unexplained
            380s   → a gap judged mass_gap, b gap judged mass_gap, c gap judged mass_gap, \
            a offline, a gap judged, b offline, b gap judged, c offline, c gap judged
            """, gaps: true)
    }

    @Test func `what opened before the last batch is not the feed's`() throws {
        try timeline(
            """
            0s     policy min_active 2
            0s     a,b,c report                 → a unknown, a online, b unknown, b online, \
            c unknown, c online
            90s    → a degraded, a gap open unexplained, b degraded, b gap open unexplained, \
            c degraded, c gap open unexplained
            100s   b,c report                   → b online, b gap closed, c online, c gap closed
            180s   → a offline, a gap judged
            190s   → b degraded, b gap open unexplained, c degraded, c gap open unexplained
            280s   → b gap judged mass_gap, c gap judged mass_gap, b offline, b gap judged, \
            c offline, c gap judged
            """, gaps: true)
    }

    @Test func `what opened at the instant of the last batch, before it, is not the feed's`() throws
    {
        try timeline(
            """
            0s     policy min_active 2
            0s     a,b,c report                 → a unknown, a online, b unknown, b online, \
            c unknown, c online
            10s    server says a online to degraded → a degraded by server, \
            a gap open unexplained
            10s    b,c report
            100s   → b degraded, b gap open unexplained, c degraded, c gap open unexplained
            180s   → a offline, a gap judged
            190s   → b gap judged mass_gap, c gap judged mass_gap, b offline, b gap judged, \
            c offline, c gap judged
            """, gaps: true)
    }
}
