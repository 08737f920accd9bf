import RollcallCore
import Testing

/// When gaps open, are evaluated again, and close. Source: C1, F24, F25.
@Suite struct GapTests {
    @Test func `who leaves ONLINE for lateness has a gap, evaluated again at OFFLINE`() throws {
        try timeline(
            """
            0s     41 reports phone background with 1     → 41 unknown, 41 online
            90s    → 41 degraded, 41 gap open app_suspended
            180s   → 41 offline, 41 gap judged
            600s   41 reports with 2                      → 41 online, 41 gap closed
            690s   → 41 degraded, 41 verdict app_stopped, 41 gap open
            780s   → 41 offline, 41 gap judged
            """, gaps: true)
    }

    @Test func `mere lateness gets no verdict`() throws {
        try timeline(
            """
            0s     41 reports phone background with 1     → 41 unknown, 41 online
            90s    → 41 degraded, 41 gap open app_suspended
            100s   41 reports with 2                      → 41 online, 41 gap closed
            """, gaps: true)
    }

    @Test func `whoever never reported has a gap from OFFLINE on`() throws {
        try timeline(
            """
            0s     41 goes on duty                        → 41 unknown
            180s   → 41 offline, 41 gap open never_heard
            200s   41 reports with 1                      → 41 online, 41 gap closed
            290s   → 41 degraded, 41 verdict unexplained, 41 gap open unexplained
            """, gaps: true)
    }

    @Test func `what the server declares opens a gap too`() throws {
        try timeline(
            """
            0s     41 reports                             → 41 unknown, 41 online
            10s    server says 41 online to offline       → 41 offline by server, \
            41 gap open unexplained
            20s    41 reports                             → 41 online, 41 gap closed
            """, gaps: true)
    }

    @Test func `the server's DEGRADED opens it and its OFFLINE evaluates it`() throws {
        try timeline(
            """
            0s     41 reports                             → 41 unknown, 41 online
            10s    server says 41 online to degraded      → 41 degraded by server, \
            41 gap open unexplained
            11s    server says 41 degraded to offline     → 41 offline by server, 41 gap judged
            20s    server says 41 offline to online       → 41 online by server, 41 gap closed
            """, gaps: true)
    }

    @Test func `a contact that only makes somebody DEGRADED closes nothing`() throws {
        try timeline(
            """
            0s     41 reports with 1                      → 41 unknown, 41 online
            90s    → 41 degraded, 41 gap open unexplained
            180s   → 41 offline, 41 gap judged
            200s   41 reports received 50s                → 41 degraded by contact
            230s   → 41 offline, 41 gap judged
            300s   41 reports with 2                      → 41 online, 41 gap closed
            390s   → 41 degraded, 41 verdict app_stopped, 41 gap open
            """, gaps: true)
    }

    @Test func `UNKNOWN that an old contact makes DEGRADED has no gap`() throws {
        try timeline(
            """
            0s     41 goes on duty                        → 41 unknown
            100s   41 reports received 0s                 → 41 degraded by contact
            180s   → 41 offline
            """, gaps: true)
    }

    @Test func `a policy that brings somebody back does not close the gap, contact does`() throws {
        try timeline(
            """
            0s     41 reports with 1                      → 41 unknown, 41 online
            90s    → 41 degraded, 41 gap open unexplained
            100s   policy on_duty 60/200/400              → 41 online by policy
            150s   41 reports with 2                      → 41 gap closed
            """, gaps: true)
    }

    @Test func `going off duty ends the gap at once, and that is the verdict`() throws {
        try timeline(
            """
            0s     41 reports phone saving                → 41 unknown, 41 online
            90s    → 41 degraded, 41 gap open low_power
            180s   → 41 offline, 41 gap judged
            300s   41 goes off duty                       → 41 not expected, 41 gap closed, \
            41 verdict duty_ended
            """, gaps: true)
    }

    @Test func `so does a pause, a retirement and being forgotten`() throws {
        try timeline(
            """
            0s       41,42,43 report                      → 41 unknown, 41 online, 42 unknown, \
            42 online, 43 unknown, 43 online
            90s      → 41 degraded, 41 gap open unexplained, 42 degraded, \
            42 gap open unexplained, 43 degraded, 43 gap open unexplained
            100s     41 pauses                            → 41 not expected, 41 gap closed
            180s     → 42 offline, 42 gap judged, 43 offline, 43 gap judged
            200s     roster 41 43                         → 42 not expected, 42 gap closed, \
            42 verdict duty_ended
            7d180s   → 43 not expected by deadline, 43 gap closed, 43 verdict duty_ended
            """, gaps: true)
    }

    @Test func `an erased person's gap ends without a line`() throws {
        try timeline(
            """
            0s     41 reports                             → 41 unknown, 41 online
            90s    → 41 degraded, 41 gap open unexplained
            180s   → 41 offline, 41 gap judged
            200s   41 is erased
            900s
            """, gaps: true)
    }

    @Test func `a gap survives a stretch in which we did not run`() throws {
        try timeline(
            """
            0s     41 reports with 1                      → 41 unknown, 41 online
            90s    → 41 degraded, 41 gap open unexplained
            180s   → 41 offline, 41 gap judged
            181s   stop
            300s   start                                  → blind stopped since 181s, \
            blind stopped ended since 181s
            310s   41 reports with 2                      → 41 online, 41 gap closed
            400s   → 41 degraded, 41 verdict app_stopped, 41 gap open
            """, gaps: true)
    }
}
