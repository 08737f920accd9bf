import Testing

/// Why and when somebody is not asked to open their app, and when again. Source: Contract/Nudges; the seed
/// "A dead-man's switch for mobile apps"; F31 to F34.
@Suite struct NudgeCaseTests {
    // MARK: The seed's rules

    @Test func `a swiped-away app is asked for once in six hours`() throws {
        try timeline(
            """
            0s      teen,mum report with 1 circles home
            3h59m   mum reports with 2
            4h      → teen nudged
            7h59m   mum reports with 3
            10h     → teen nudged
            11h59m  mum reports with 4
            15h     teen,mum report with 5
            19h     → mum nudged, teen nudged
            """, nudges: true)
    }

    @Test func `a paused member is never nudged`() throws {
        try timeline(
            """
            0s      teen,mum report with 1 circles home
            1h      teen is told paused
            4h      → mum held because solo
            9h      teen is told sharing                 → mum nudged
            13h     → teen nudged
            15h     → mum nudged
            """, nudges: true)
    }

    @Test func `off duty is a choice, and coming back is no old location`() throws {
        try timeline(
            """
            0s      41,42 report with 1
            1h      41 is told off duty
            4h      → 42 held because solo
            6h      41 is told on duty                   → 42 nudged
            9h59m   42 reports with 2
            10h     → 41 nudged
            """, nudges: true)
    }

    @Test func `a pause that runs out counts from its end`() throws {
        try timeline(
            """
            0s      41,42 report with 1
            3h      41 pauses until 5h
            3h30m   42 reports with 2
            7h30m   → 42 nudged
            9h      → 41 nudged
            """, nudges: true)
    }

    @Test func `who was never located is no candidate, however long they are silent`() throws {
        try timeline(
            """
            0s      41,42 report
            30h     42 reports with 1
            34h     → 42 nudged
            35h     41 reports
            """, nudges: true)
    }

    @Test func `a backlog counts from when it was captured`() throws {
        try timeline(
            """
            0s      41,42 report
            5h      41 reports with 1 captured 1h ago
            8h      → 41 nudged
            """, nudges: true)
    }

    @Test func `a push is never a sign of life: contact without a location arms nothing`() throws {
        try timeline(
            """
            0s      41 reports with 1
            0s      42 reports
            4h      → 41 nudged
            5h      41 reports
            10h     → 41 nudged
            """, nudges: true)
    }

    // MARK: The throttle

    @Test func `a newer location arms the switch, and the interval still holds`() throws {
        try timeline(
            """
            0s      41 reports with 1
            0s      42 reports
            4h      → 41 nudged
            4h30m   41 reports with 2
            8h30m   → 41 held because throttled
            10h     → 41 nudged
            16h     → 41 nudged
            """, nudges: true)
    }

    @Test func `a step forward freezes nudges for one interval of the new wall`() throws {
        try timeline(
            """
            0s      41 reports with 1
            0s      42 reports
            4h      → 41 nudged
            12h     clock steps +7h
            18h     → 41 nudged
            """, nudges: true)
    }

    @Test func `a step of a minute freezes nothing`() throws {
        try timeline(
            """
            0s      41 reports with 1
            0s      42 reports
            2h      clock steps +60s
            4h1m    → 41 nudged
            """, nudges: true)
    }

    @Test func `in a freeze who was never nudged is held, and told so once`() throws {
        try timeline(
            """
            0s      41 reports with 1
            0s      42 reports
            3h2m    clock steps +61s
            4h1m1s  → 41 held because throttled
            9h2m    → 41 nudged
            """, nudges: true)
    }

    @Test func `a step back makes the wait longer, never shorter`() throws {
        try timeline(
            """
            0s      41 reports with 1
            0s      42 reports
            4h      → 41 nudged
            3h      clock steps -2h
            10h     → 41 nudged
            """, nudges: true)
    }

    @Test func `a restored store freezes as a step does`() throws {
        try timeline(
            """
            0s      41 reports with 1
            0s      42 reports
            4h      → 41 nudged
            8h      42 reports
            8h10s   line {"kind":"start","body":{"restored":true}}
            14h10s  → 41 nudged
            """, nudges: true)
    }

    @Test func `a dry run throttles no real nudge, nor the reverse`() throws {
        try timeline(
            """
            0s      policy nudges dry_run,webhook
            0s      41 reports with 1
            0s      42 reports
            4h      → 41 nudged
            5h      policy nudges live,webhook           → 41 nudged
            6h      policy nudges dry_run,webhook
            10h     → 41 nudged
            10h30m  policy nudges live,webhook
            11h     → 41 nudged
            """, nudges: true)
    }

    @Test func `disabled decides nothing`() throws {
        try timeline(
            """
            0s      policy nudges disabled,webhook
            0s      41,42 report with 1
            9h      policy nudges webhook                → 41 nudged, 42 nudged
            9h1s    policy nudges disabled,webhook
            20h     42 reports with 2
            """, nudges: true)
    }

    // MARK: Company

    @Test func `without circles the region is the circle, unless settings say circle`() throws {
        try timeline(
            """
            0s      41 reports with 1 in north
            0s      42 reports in north circles work
            0s      43 reports with 1 in south
            4h      → 41 nudged, 43 held because solo
            5h      policy nudges company=circle
            """, nudges: true)
    }

    @Test func `who is left alone is held once they are due, and nudged when joined`() throws {
        try timeline(
            """
            0s      policy nudges company=circle
            0s      41 reports with 1 circles home
            0s      42,43 report circles home
            3h      42,43 are told off duty
            4h      → 41 held because solo
            5h      42 is told on duty                   → 41 nudged
            5h      43 is told on duty
            """, nudges: true)
    }

    @Test func `one common circle is enough`() throws {
        try timeline(
            """
            0s      41 reports with 1 circles a,b,c
            0s      42 reports with 1 circles c,d
            0s      43 reports with 1 circles e
            4h      → 41 nudged, 42 nudged, 43 held because solo
            4h1s    43 is told circles d,e               → 43 nudged
            """, nudges: true)
    }

    @Test func `an erased person is no company`() throws {
        try timeline(
            """
            0s      41 reports with 1 circles home
            0s      42 reports circles home
            3h      42 is erased
            4h      → 41 held because solo
            """, nudges: true)
    }

    // MARK: Blindness

    @Test func `blind time makes no location older, and phones get time to come back`() throws {
        try timeline(
            """
            0s      41 reports with 1
            0s      42 reports
            3h59m   stop
            5h      start
            5h1m    → 41 held because blind
            5h3m    → 41 nudged
            """, nudges: true)
    }

    @Test func `a first location that is too old already is held while blind`() throws {
        try timeline(
            """
            0s      policy nudges webhook,stale=1m
            0s      41,42 report
            1m      41 reports
            2m      41 reports
            2m10s   line {"kind":"store","body":{"state":"failing"}}
            2m20s   41 reports with 1 captured 90s ago   → 41 held because blind
            """, nudges: true)
    }

    @Test func `after a short episode nobody waits`() throws {
        try timeline(
            """
            0s      41 reports with 1
            0s      42 reports
            3h      stop
            3h14s   start
            4h14s   → 41 nudged
            """, nudges: true)
    }

    @Test func `what the wall alone lets go is held while blind, and decided when we see`() throws {
        try timeline(
            """
            0s      41 reports with 1
            0s      42 reports
            4h      → 41 nudged
            9h59m   store fails
            10h     → 41 held because blind
            10h1m   store recovers
            10h4m   → 41 nudged
            """, nudges: true)
    }

    @Test func `who comes back in that time is not nudged`() throws {
        try timeline(
            """
            0s      41 reports with 1
            0s      42 reports
            3h59m   stop
            5h      start
            5h1m    → 41 held because blind
            5h2m    41 reports with 2
            9h2m    → 41 nudged
            """, nudges: true)
    }

    // MARK: Staleness and settings

    @Test func `the smallest staleness that applies holds`() throws {
        try timeline(
            """
            0s      policy nudges stale=4h,on_mission=1h,ios=2h,android=6h
            0s      41 reports with 1 on mission
            0s      42 reports with 1 ios
            0s      43 reports with 1 android
            1h      → 41 nudged
            2h      → 42 nudged
            3h      43 is told on mission                → 43 nudged
            """, nudges: true)
    }

    @Test func `forgotten people are left in peace`() throws {
        try timeline(
            """
            0s      policy forget 9h
            0s      41 reports with 1
            0s      42 reports
            4h      → 41 nudged
            30h     42 reports
            """, nudges: true)
    }

    @Test func `with Expo nobody is nudged whose token is not known`() throws {
        try timeline(
            """
            0s      policy nudges expo
            0s      41 reports with 1
            0s      42 reports
            4h      → 41 held because no_token
            5h      41 is told token T                   → 41 nudged
            """, nudges: true)
    }
}
