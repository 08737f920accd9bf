import Testing

@testable import RollcallCore

/// Another member of a cluster leads: a short blindness that makes nobody OFFLINE. Source: S9.
@Suite struct ReignTests {
    @Test func `S9: a reign is blindness since the last beat, and not since the last turn`() throws
    {
        try timeline(
            """
            0s       41 reports                       → 41 unknown, 41 online
            4s       turn
            9s       reign 2s                         → blind stopped since 7s, \
            blind stopped ended since 7s
            92s                                       → 41 degraded
            182s                                      → 41 offline
            """)
    }

    @Test func `S9: deadlines of the first 5 s of a reign wait until these are over`() throws {
        try timeline(
            """
            0s       41 reports                       → 41 unknown, 41 online
            85s      42 reports                       → 42 unknown, 42 online
            92s      reign 3s                         → blind stopped since 89s, \
            blind stopped ended since 89s
            96.999s
            97s                                       → 41 degraded
            """)
    }

    @Test func `S9: what a phone sends again in time keeps it ONLINE`() throws {
        try timeline(
            """
            0s       41 reports                       → 41 unknown, 41 online
            85s      42 reports                       → 42 unknown, 42 online
            92s      reign 3s                         → blind stopped since 89s, \
            blind stopped ended since 89s
            96s      41 reports
            100s
            """)
    }

    @Test func `S9: a fourth reign within 5 min lets deadlines pass`() throws {
        try timeline(
            """
            0s       41 reports                       → 41 unknown, 41 online
            55s      42 reports                       → 42 unknown, 42 online
            60s      reign 0s
            70s      reign 0s
            80s      reign 0s
            89s      reign 0s
            90s                                       → 41 degraded
            """)
    }

    /// B1.
    @Test func `deadlines wait no longer when observed time is set back`() {
        let clock = ObservationClock()
        var reigns = Reigns()
        reigns.begin(Reign(number: 1, member: [], unobserved: Milliseconds(0)), clock)
        #expect(reigns.waitsUntil == clock.observedNow + Reigns.wait)
        let before = clock.observedNow - .seconds(3)
        reigns.clampInstants(to: before)
        #expect(reigns.waitsUntil == before + Reigns.wait)
    }

    @Test func `S9: deadlines wait for the third reign within 5 min`() throws {
        try timeline(
            """
            0s       41 reports                       → 41 unknown, 41 online
            55s      42 reports                       → 42 unknown, 42 online
            60s      reign 0s
            70s      reign 0s
            79s      turn
            89s      reign 0s
            93.999s
            94s                                       → 41 degraded
            """)
    }

    @Test func `S9: a reign of 5 min ago is none of these`() throws {
        try timeline(
            """
            0s       41 reports                       → 41 unknown, 41 online
            55s      41 reports
            60s      reign 0s
            70s      reign 0s
            80s      reign 0s
            85s      41 reports
            170s     41 reports
            255s     41 reports
            271s     41 reports
            352s     42 reports                       → 42 unknown, 42 online
            360s     reign 0s
            364.999s
            365s                                      → 41 degraded
            """)
    }

    @Test func `S9: after 15 s there is the grace of any other blindness`() throws {
        try timeline(
            """
            0s       41 reports                       → 41 unknown, 41 online
            85s      42 reports                       → 42 unknown, 42 online
            104s     reign 15s                        → blind stopped since 89s, \
            blind stopped ended since 89s
            193.999s
            194s                                      → 41 degraded, 42 degraded
            """)
    }

    @Test func `B1: beats without turns are no watch`() throws {
        try timeline(
            """
            0s       41 reports                       → 41 unknown, 41 online
            60s      reign 2s                         → blind stopped since 0s, \
            blind stopped ended since 0s
            149.999s
            150s                                      → 41 degraded
            """)
    }

    @Test func `S4: nothing before the last turn was unobserved, whatever a reign says`() throws {
        try timeline(
            """
            0s       41 reports                       → 41 unknown, 41 online
            50s      42 reports                       → 42 unknown, 42 online
            52s      reign 10s                        → blind stopped since 50s, \
            blind stopped ended since 50s
            """)
    }
}
