import Testing

@testable import RollcallCore

/// Who is counted by ResponderOffline, as timelines. Source: R1.
@Suite struct ResponderOfflineTests {
    @Test func `R1: nobody alerts by being OFFLINE unless it is switched on`() throws {
        try timeline(
            """
            0s      policy rate off noonline off
            1s      1 reports in north
            181s
            400s    1 reports
            """, alerts: true)
    }

    @Test func `R1: one alert a region from the first who is OFFLINE until nobody is`() throws {
        try timeline(
            """
            0s      policy rate off noonline off offline on
            1s      1,2 report in north
            2s      3 reports in south
            100s    2 reports
            181s    → alert ResponderOffline region=north firing 1
            182s    → alert ResponderOffline region=south firing 1
            280s
            300s    1 reports
            310s    2 reports  → alert ResponderOffline region=north resolved 1
            320s    3 reports  → alert ResponderOffline region=south resolved 1
            """, alerts: true)
    }

    @Test func `R1: each person counts once they have been OFFLINE for so long`() throws {
        try timeline(
            """
            0s      policy rate off flapping off noonline off offline on,for=60s
            1s      1,2 report in north
            150s    2 reports
            230s    1 reports
            330s
            389s    2 reports
            420s
            470s    → alert ResponderOffline region=north firing 1
            600s
            690s    1 reports
            700s    2 reports  → alert ResponderOffline region=north resolved 1
            """, alerts: true)
    }

    @Test func `R1: for runs in observed time, and who is counted stays so`() throws {
        try timeline(
            """
            0s      policy rate off noonline off offline on,for=60s
            1s      1 reports in north
            181s
            200s    store fails
            300s    store recovers
            341s    → alert ResponderOffline region=north firing 1
            350s    policy rate off noonline off offline on,for=600s
            400s    1 reports  → alert ResponderOffline region=north resolved 1
            """, alerts: true)
    }

    @Test func `R1: it is kept firing as any other is`() throws {
        try timeline(
            """
            0s      policy rate off noonline off offline on,keep=60s
            1s      1 reports in north
            181s    → alert ResponderOffline region=north firing 1
            200s    1 reports
            260s    → alert ResponderOffline region=north resolved 1
            """, alerts: true)
    }

    @Test func `R1: a reload turns it on and off while somebody is OFFLINE`() throws {
        try timeline(
            """
            0s      policy rate off noonline off
            1s      1 reports in north
            300s    policy rate off noonline off offline on  → alert ResponderOffline region=north firing 1
            400s    policy rate off noonline off  → alert ResponderOffline region=north resolved 1
            500s    policy rate off noonline off offline on,for=600s
            781s    → alert ResponderOffline region=north firing 1
            """, alerts: true)
    }

    @Test func `R1: only the duty states and the regions that are named`() throws {
        try timeline(
            """
            0s      policy rate off noonline off offline on,duty=ON_MISSION,regions=north+west
            1s      1 goes on duty in north
            2s      2 goes on mission in north
            3s      3 goes on mission in south
            62s     → alert ResponderOffline region=north firing 1
            200s
            210s    2 goes on duty  → alert ResponderOffline region=north resolved 1
            400s    3 is told in west  → alert ResponderOffline region=west firing 1
            410s    3 is told in south  → alert ResponderOffline region=west resolved 1
            420s    policy rate off noonline off offline on  → alert ResponderOffline region=north firing 2, alert ResponderOffline region=south firing 1
            """, alerts: true)
    }

    @Test func `R1: who is erased, retired or off duty is missed no more`() throws {
        try timeline(
            """
            0s      policy rate off noonline off offline on
            1s      1,2,3 report in north
            181s    → alert ResponderOffline region=north firing 3
            200s    1 is erased
            210s    2 goes off duty
            220s    3 is erased  → alert ResponderOffline region=north resolved 1
            """, alerts: true)
    }

    @Test func `R1, B4: while blind nobody begins to be missed and nothing ends`() throws {
        try timeline(
            """
            0s      policy rate off noonline off offline on
            0s      source a beats every 400s
            1s      1 reports in north
            181s    → alert ResponderOffline region=north firing 1
            190s    source a beats every 2s
            195s    → alert TelemetryFeedDown firing 1, alert TelemetryFeedDown source=a firing 1
            300s    1 reports
            500s    source a beats every 3600s  → alert ResponderOffline region=north resolved 1, alert TelemetryFeedDown resolved 1, alert TelemetryFeedDown source=a resolved 1
            """, alerts: true)
    }
}
