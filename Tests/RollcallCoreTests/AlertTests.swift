import Testing

/// The alerts about people and about the feed, as timelines. Source: Contract/Alerts, F27 to
/// F29.
@Suite struct AlertTests {
    // MARK: - HighOfflineRate (A2)

    @Test func `a high offline rate is pending, fires after for, and resolves`() throws {
        try timeline(
            """
            0s      1,2,3,4,5,6,7,8,9,10 report
            90s     3,4,5,6,7,8,9,10 report
            170s    3,4,5,6,7,8,9,10 report
            180s    → alert HighOfflineRate pending 0.2
            240s    → alert HighOfflineRate firing 0.2
            250s    3,4,5,6,7,8,9,10 report
            250s    1 reports  → alert HighOfflineRate resolved 0.2
            """, alerts: true)
    }

    @Test func `a rate that falls again in time never fires`() throws {
        try timeline(
            """
            0s      policy noonline off
            0s      1,2 report
            100s    2 reports
            180s    → alert HighOfflineRate pending 0.5
            181s    2 reports
            239.999s 1 reports  → alert HighOfflineRate inactive 0.5
            240s    2 reports
            """, alerts: true)
    }

    @Test func `exactly the limit is not above it`() throws {
        try timeline(
            """
            0s      policy noonline off
            1s      1,2,3,4,5,6,7,8,9,10 report
            91s     2,3,4,5,6,7,8,9,10 report
            171s    2,3,4,5,6,7,8,9,10 report
            251s    2,3,4,5,6,7,8,9,10 report
            300s
            """, alerts: true)
    }

    @Test func `no half-way ratio of an instant fires`() throws {
        try timeline(
            """
            0s      policy rate for=0s noonline off
            1s      1,2 report
            90s     2 reports
            181s    2,1 report
            """, alerts: true)
    }

    @Test func `a rate by region is one alert a region`() throws {
        try timeline(
            """
            0s      policy rate by=region,for=0s,above=0.4 noonline off
            1s      1,2 report in north
            1s      3 reports in south
            100s    1,3 report
            181s    → alert HighOfflineRate region=north firing 0.5
            190s    2 reports  → alert HighOfflineRate region=north resolved 0.5
            """, alerts: true)
    }

    @Test func `too few active or offline are no rate`() throws {
        try timeline(
            """
            0s      policy rate min_active=3,for=0s noonline off
            1s      1,2 report
            181s
            200s    3,4 report in south  → alert HighOfflineRate firing 0.5
            210s    policy rate min_active=3,min_offline=2,for=0s noonline off
            220s    policy rate min_active=3,min_offline=3,for=0s noonline off  → alert HighOfflineRate resolved 0.5
            """, alerts: true)
    }

    // MARK: - keep_firing_for, disabling (A1)

    @Test func `keep firing for outlasts a short recovery`() throws {
        try timeline(
            """
            0s      policy rate for=0s,keep=60s noonline off
            1s      1,2 report
            100s    2 reports
            181s    → alert HighOfflineRate firing 0.5
            190s    1,2 report
            240s    1 reports
            249.9s  2 reports
            250s    → alert HighOfflineRate resolved 0.5
            """, alerts: true)
    }

    @Test func `a relapse while it keeps firing is the same alert`() throws {
        try timeline(
            """
            0s      policy rate for=0s,keep=60s noonline off
            1s      1,2 report
            181s    → alert HighOfflineRate firing 1
            190s    1,2 report
            200s    1 is told off duty
            249s    2 goes off duty
            250s    → alert HighOfflineRate resolved 1
            """, alerts: true)
    }

    @Test func `a disabled alert resolves once and does not come back`() throws {
        try timeline(
            """
            0s      policy rate for=0s,keep=60s noonline off
            1s      1 reports
            181s    → alert HighOfflineRate firing 1
            190s    policy rate off noonline off  → alert HighOfflineRate resolved 1
            200s    policy rate for=60s noonline off  → alert HighOfflineRate pending 1
            260s    → alert HighOfflineRate firing 1
            """, alerts: true)
    }

    // MARK: - NoOnlineResponders (A4, F29)

    @Test func `nobody online in a region fires after for and resolves two minutes after`() throws {
        try timeline(
            """
            0s      policy rate off
            1s      1,2 report in north
            1s      3 reports in south
            91s     3 reports  → alert NoOnlineResponders region=north pending 2
            151s    3 reports  → alert NoOnlineResponders region=north firing 2
            200s    3 reports
            210s    1 reports
            240s    3 reports
            290s    1,3 report
            330s    → alert NoOnlineResponders region=north resolved 2
            """, alerts: true)
    }

    @Test func `who was never heard is missed only after the degraded threshold`() throws {
        try timeline(
            """
            0s      policy rate off
            1s      1 goes on duty in north
            91s     → alert NoOnlineResponders region=north pending 1
            151s    → alert NoOnlineResponders region=north firing 1
            160s    1 goes off duty
            280s    → alert NoOnlineResponders region=north resolved 1
            """, alerts: true)
    }

    @Test func `a covered region with nobody active is unstaffed, after the first input`() throws {
        try timeline(
            """
            0s      policy covers north rate off
            60s     turn
            100s    1 reports in south  → alert NoOnlineResponders region=north pending 0
            150s    1 reports
            160s    → alert NoOnlineResponders region=north firing 0
            170s    2 reports in north
            200s    1 reports
            250s    1,2 report
            290s    → alert NoOnlineResponders region=north resolved 0
            """, alerts: true)
    }

    @Test func `a region without coverage that empties is nobody's concern`() throws {
        try timeline(
            """
            0s      policy rate off
            1s      1 reports in north
            50s     1 goes off duty
            200s
            """, alerts: true)
    }

    // MARK: - ResponderFlapping (A3, F28)

    @Test func `four changes within fifteen minutes flap, and below two they do not`() throws {
        try timeline(
            """
            0s      policy rate off noonline off
            0s      1 reports in north
            180s
            181s    1 reports
            361s
            362s    1 reports  → alert ResponderFlapping region=north firing 1
            400s    1 reports
            480s    1 reports
            560s    1 reports
            640s    1 reports
            720s    1 reports
            800s    1 reports
            880s    1 reports
            960s    1 reports
            1040s   1 reports
            1120s   1 reports
            1200s   1 reports
            1261s   → alert ResponderFlapping region=north resolved 1
            """, alerts: true)
    }

    @Test func `what the server says is no change, and contact after it is one`() throws {
        try timeline(
            """
            0s      policy rate off noonline off flapping changes=2
            0s      1 reports in north
            10s     server says 1 online to offline
            20s     1 reports
            30s     server says 1 online to offline
            40s     1 reports  → alert ResponderFlapping region=north firing 1
            50s     server says 1 online to offline
            100s    server says 1 offline to online
            150s    server says 1 online to offline
            919s
            920s    → alert ResponderFlapping region=north resolved 1
            """, alerts: true)
    }

    @Test func `from UNKNOWN to OFFLINE is no change`() throws {
        try timeline(
            """
            0s      policy rate off noonline off flapping changes=2
            0s      1 goes on duty in north
            180s
            190s    1 reports
            370s    → alert ResponderFlapping region=north firing 1
            1000s
            1090s   → alert ResponderFlapping region=north resolved 1
            """, alerts: true)
    }

    @Test func `going off duty clears flapping`() throws {
        try timeline(
            """
            0s      policy rate off noonline off flapping changes=2
            0s      1 reports in north
            200s    1 reports  → alert ResponderFlapping region=north firing 1
            210s    1 goes off duty  → alert ResponderFlapping region=north resolved 1
            220s    1 goes on duty
            230s    1 reports
            """, alerts: true)
    }

    // MARK: - TelemetryFeedDown (A5, F11)

    @Test func `a missing source warns, all of them are an alert of their own`() throws {
        try timeline(
            """
            0s      source a beats every 10s
            0s      source b beats every 10s
            20s     source b beats every 10s
            25s     → alert TelemetryFeedDown source=a firing 1
            40s     source a beats every 10s → alert TelemetryFeedDown source=a resolved 1
            45s     → alert TelemetryFeedDown source=b firing 1
            65s     → alert TelemetryFeedDown firing 2, alert TelemetryFeedDown source=a firing 2
            70s     source b beats every 10s  → alert TelemetryFeedDown resolved 2, alert TelemetryFeedDown source=b resolved 2
            80s     source b beats every 10s
            """, alerts: true)
    }

    @Test func `a source that is disarmed is missed no more`() throws {
        try timeline(
            """
            0s      source a beats every 3600s
            0s      source b beats every 1s
            2.5s    → alert TelemetryFeedDown source=b firing 1
            902.5s  → alert TelemetryFeedDown source=b resolved 1
            """, alerts: true)
    }

    @Test func `a suspected feed fires until the next batch`() throws {
        try timeline(
            """
            0s      policy min_active 2 rate off noonline off
            0s      1,2 report
            180s    → alert TelemetryFeedDown suspected=true firing 0
            200s    1 reports  → alert TelemetryFeedDown suspected=true resolved 0
            """, alerts: true)
    }

    // MARK: - Blindness (B4, B5)

    @Test func `while blind nothing fires and nothing resolves`() throws {
        try timeline(
            """
            0s      policy rate off
            0s      source a beats every 40s
            1s      1 reports in north
            60s     source a beats every 18s
            91s     → alert NoOnlineResponders region=north pending 1
            105s    → alert TelemetryFeedDown firing 1, alert TelemetryFeedDown source=a firing 1
            300s    1 reports
            500s    source a beats every 3600s  → alert NoOnlineResponders region=north inactive 1, alert TelemetryFeedDown resolved 1, alert TelemetryFeedDown source=a resolved 1
            """, alerts: true)
    }

    @Test func `after a long blindness pending timers start anew`() throws {
        try timeline(
            """
            0s      policy rate off
            1s      1 reports in north
            91s     → alert NoOnlineResponders region=north pending 1
            100s    store fails
            200s    store recovers
            260s    → alert NoOnlineResponders region=north firing 1
            """, alerts: true)
    }

    @Test func `a crash in between neither fires nor resolves`() throws {
        try timeline(
            """
            0s      policy rate off
            1s      1 reports in north
            91s     → alert NoOnlineResponders region=north pending 1
            151s    → alert NoOnlineResponders region=north firing 1
            160s    1 is told ios
            400s    start
            420s    1 reports
            500s    1 reports
            540s    → alert NoOnlineResponders region=north resolved 1
            """, alerts: true)
    }
}
