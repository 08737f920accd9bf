import Testing

@testable import RollcallCore

/// What a silence is put down to. Source: C1, F25.
@Suite struct GapCauseTests {
    /// The suspicion of somebody who reported `clauses` last.
    private func suspects(
        _ cause: String, _ clauses: String, sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        try timeline(
            """
            0s     41 reports \(clauses)                  → 41 unknown, 41 online
            90s    → 41 degraded, 41 gap open \(cause)
            """, gaps: true, sourceLocation: sourceLocation)
    }

    @Test func `each cause follows from the facts, in the order of the contract`() throws {
        try suspects(
            "permission_denied", "phone denied,unlocated,none,saving,background battery 0.01")
        try suspects("location_services_off", "phone granted,unlocated,none,saving battery 0.01")
        try suspects("no_network", "phone located,none,saving,background battery 0.01")
        try suspects("battery_empty", "phone cellular,saving,background battery 0.05")
        try suspects("low_power", "phone saving,background battery 0.051")
        try suspects("app_suspended", "phone background,normal,wifi")
        try suspects("app_terminated", "phone foreground,granted")
        try suspects("unexplained", "phone granted,located,wifi,normal battery 1")
        try suspects("unexplained", "")
    }

    @Test func `an empty battery is one at 5 percent or below`() throws {
        try suspects("battery_empty", "battery 0.05")
        try suspects("battery_empty", "battery 0")
        try suspects("unexplained", "battery 0.06")
    }

    @Test func `a queue that grew over the last three batches is a lack of network`() throws {
        try timeline(
            """
            0s     41 reports phone queue0                → 41 unknown, 41 online
            10s    41 reports phone queue1
            20s    41 reports phone queue2
            110s   → 41 degraded, 41 gap open no_network
            """, gaps: true)
    }

    @Test func `one that stood still, or only two batches, is none`() throws {
        try timeline(
            """
            0s     41 reports phone queue1                → 41 unknown, 41 online
            10s    41 reports phone queue2
            20s    41 reports phone queue2
            30s    42 reports phone queue1                → 42 unknown, 42 online
            40s    42 reports phone queue2
            110s   → 41 degraded, 41 gap open unexplained
            130s   → 42 degraded, 42 gap open unexplained
            """, gaps: true)
    }

    @Test func `batches that told no depth do not count, and order is by receipt`() throws {
        try timeline(
            """
            0s     41 reports phone queue0                → 41 unknown, 41 online
            5s     41 reports phone queue0
            10s    41 reports phone queue7
            20s    41 reports phone granted
            30s    41 reports phone queue9
            31s    41 reports phone queue8 received 20s
            120s   → 41 degraded, 41 gap open no_network
            """, gaps: true)
    }

    @Test func `an empty queue among the last three ends the rise`() throws {
        try timeline(
            """
            0s     41 reports phone queue1                → 41 unknown, 41 online
            10s    41 reports phone queue2
            20s    41 reports phone queue0
            30s    41 reports phone queue3
            120s   → 41 degraded, 41 gap open unexplained
            """, gaps: true)
    }

    @Test func `what the newest telemetry does not say is unknown`() throws {
        try timeline(
            """
            0s     41 reports phone denied                → 41 unknown, 41 online
            10s    41 reports phone background
            100s   → 41 degraded, 41 gap open app_suspended
            """, gaps: true)
    }

    @Test func `news that comes before OFFLINE changes the suspicion`() throws {
        try timeline(
            """
            0s     41 reports phone background            → 41 unknown, 41 online
            90s    → 41 degraded, 41 gap open app_suspended
            100s   41 reports phone denied received 5s
            185s   → 41 offline, 41 gap judged permission_denied
            """, gaps: true)
    }

    // MARK: - Many at once

    @Test func `five who fall silent within a minute are a mass, the earlier ones too`() throws {
        try timeline(
            """
            0s     a reports in north phone background    → a unknown, a online
            10s    b reports in north                     → b unknown, b online
            20s    c reports in north phone denied        → c unknown, c online
            30s    d reports in north                     → d unknown, d online
            59.999s  e reports in north                   → e unknown, e online
            90s    → a degraded, a gap open app_suspended
            100s   → b degraded, b gap open unexplained
            110s   → c degraded, c gap open permission_denied
            120s   → d degraded, d gap open unexplained
            149.999s → e degraded, e gap open mass_gap, a gap judged mass_gap, \
            b gap judged mass_gap, d gap judged mass_gap
            180s   → a offline, a gap judged
            190s   → b offline, b gap judged
            200s   → c offline, c gap judged
            """, gaps: true)
    }

    @Test func `a minute apart they are none`() throws {
        try timeline(
            """
            0s     a reports                              → a unknown, a online
            10s    b,c,d report                           → b unknown, b online, c unknown, \
            c online, d unknown, d online
            60s    e reports                              → e unknown, e online
            90s    → a degraded, a gap open unexplained
            100s   → b degraded, b gap open unexplained, c degraded, c gap open unexplained, \
            d degraded, d gap open unexplained
            150s   → e degraded, e gap open unexplained
            """, gaps: true)
    }

    @Test func `they must be 30 percent of the region's active`() throws {
        let others = (1...12).map { "n\($0)" }
        let all = others.map { "\($0) unknown, \($0) online" }.joined(separator: ", ")
        // Five of seventeen are 29.4 percent.
        try timeline(
            """
            0s     a,b,c,d,e report in north              → a unknown, a online, b unknown, \
            b online, c unknown, c online, d unknown, d online, e unknown, e online
            50s    \(others.joined(separator: ",")) report in north → \(all)
            90s    → a degraded, a gap open unexplained, b degraded, b gap open unexplained, \
            c degraded, c gap open unexplained, d degraded, d gap open unexplained, e degraded, \
            e gap open unexplained
            """, gaps: true)
        // Five of sixteen are 31.
        let fewer = others.dropLast()
        let some = fewer.map { "\($0) unknown, \($0) online" }.joined(separator: ", ")
        try timeline(
            """
            0s     a,b,c,d,e report in north              → a unknown, a online, b unknown, \
            b online, c unknown, c online, d unknown, d online, e unknown, e online
            50s    \(fewer.joined(separator: ",")) report in north → \(some)
            90s    → a degraded, a gap open unexplained, b degraded, b gap open unexplained, \
            c degraded, c gap open unexplained, d degraded, d gap open unexplained, e degraded, \
            e gap open mass_gap, a gap judged mass_gap, b gap judged mass_gap, \
            c gap judged mass_gap, d gap judged mass_gap
            """, gaps: true)
    }

    @Test func `other regions do not count`() throws {
        try timeline(
            """
            0s     a,b,c,d report in north                → a unknown, a online, b unknown, \
            b online, c unknown, c online, d unknown, d online
            0s     e reports in south                     → e unknown, e online
            90s    → a degraded, a gap open unexplained, b degraded, b gap open unexplained, \
            c degraded, c gap open unexplained, d degraded, d gap open unexplained, e degraded, \
            e gap open unexplained
            """, gaps: true)
    }

    @Test func `who fell silent again elsewhere is evaluated there`() throws {
        try timeline(
            """
            0s     policy on_duty 1/2/200
            0s     x,a,b,c report in north                → x unknown, x online, a unknown, \
            a online, b unknown, b online, c unknown, c online
            2s     → a degraded, a gap open unexplained, b degraded, b gap open unexplained, \
            c degraded, c gap open unexplained, x degraded, x gap open unexplained
            3s     x reports in south                     → x online, x gap closed
            5s     → x degraded, x gap open unexplained
            10s    d reports in north                     → d unknown, d online
            12s    → d degraded, d gap open mass_gap, a gap judged mass_gap, \
            b gap judged mass_gap, c gap judged mass_gap
            """, gaps: true)
    }

    @Test func `an erased person fell silent nowhere`() throws {
        try timeline(
            """
            0s     a,b,c,d report                         → a unknown, a online, b unknown, \
            b online, c unknown, c online, d unknown, d online
            10s    e reports                              → e unknown, e online
            90s    → a degraded, a gap open unexplained, b degraded, b gap open unexplained, \
            c degraded, c gap open unexplained, d degraded, d gap open unexplained
            91s    a is erased
            100s   → e degraded, e gap open unexplained
            """, gaps: true)
    }

    @Test func `a mass changes no suspicion but to mass_gap`() throws {
        // e's permission was known to be denied only after the gap had opened.
        try timeline(
            """
            0s     e reports phone background             → e unknown, e online
            10s    a,b,c,d report                         → a unknown, a online, b unknown, \
            b online, c unknown, c online, d unknown, d online
            90s    → e degraded, e gap open app_suspended
            95s    e reports phone denied received 1s
            100s   → a degraded, a gap open unexplained, b degraded, b gap open unexplained, \
            c degraded, c gap open unexplained, d degraded, d gap open mass_gap, \
            a gap judged mass_gap, b gap judged mass_gap, c gap judged mass_gap
            181s   → e offline, e gap judged permission_denied
            """, gaps: true)
    }

    @Test func `the members of a group are those who fell silent, each once`() throws {
        let lines = ["a", "b", "c", "d", "e", "f"].enumerated().map { place, id in
            let body = #"{"responder_id":"\#(id)","from":"ONLINE","to":"DEGRADED"}"#
            let at = Script.zero + Int64(place + 1) * 1000
            return #"{"at":\#(at),"kind":"transition","body":\#(body)}"#
        }
        var replay = Replay(policy: Policy())
        var output: [UInt8] = []
        let ids = ["a", "b", "c", "d", "e", "f", "g", "h"].map { #"{"responder_id":"\#($0)"}"# }
        let batch = "[\(ids.joined(separator: ","))]"
        let first = #"{"at":\#(Script.zero),"kind":"batch","body":\#(batch)}"#
        for line in [first] + lines { try replay.fold(Array(line.utf8), to: &output) }
        replay.finish(to: &output)
        let text = String(decoding: output, as: UTF8.self)
        let members = text.matches(of: /"members":([0-9]+),"active":([0-9]+)/).map {
            "\($0.1) of \($0.2)"
        }
        // e opens the mass, a to d are evaluated again, f joins.
        #expect(members == ["5 of 8", "5 of 8", "5 of 8", "5 of 8", "5 of 8", "6 of 8"])
    }

    @Test func `a region's number is not another region's company`() throws {
        try timeline(
            """
            0s     a,b,c,d,x report in N                  → a unknown, a online, b unknown, \
            b online, c unknown, c online, d unknown, d online, x unknown, x online
            1s     server says a online to degraded       → a degraded by server, \
            a gap open unexplained
            1s     server says b online to degraded       → b degraded by server, \
            b gap open unexplained
            1s     server says c online to degraded       → c degraded by server, \
            c gap open unexplained
            1s     server says d online to degraded       → d degraded by server, \
            d gap open unexplained
            3s     a,b,c,d are told in S
            4s     x is erased
            5s     q reports in Medway                    → q unknown, q online
            6s     server says q online to degraded       → q degraded by server, \
            q gap open unexplained
            """, gaps: true)
    }

    @Test func `whom observed time moved to one instant several times is kept once`() {
        func code(_ people: RecentPeople) -> [UInt8] {
            var people = people
            return Archive.bytes { people.code(&$0) }
        }
        var often = RecentPeople()
        for (number, second) in [(1, 10), (2, 11), (1, 12)] {
            often.add(number, now: ObservedTime(milliseconds: Int64(second) * 1000))
        }
        // A checkpoint lets go of what is void.
        var once = RecentPeople()
        var archive = Archive(reading: code(often))
        once.code(&archive)
        for second in [5, 4] {
            often.clampInstants(to: ObservedTime(milliseconds: Int64(second) * 1000))
            once.clampInstants(to: ObservedTime(milliseconds: Int64(second) * 1000))
            #expect(code(often) == code(once))
        }
        #expect(often.count == 2)
    }

    @Test func `a region that all have left is still the same one for a minute`() throws {
        try timeline(
            """
            0s     a,b,c,d report in S                    → a unknown, a online, b unknown, \
            b online, c unknown, c online, d unknown, d online
            90s    → a degraded, a gap open unexplained, b degraded, b gap open unexplained, \
            c degraded, c gap open unexplained, d degraded, d gap open unexplained
            100s   a,b,c,d are told in N
            101s   x is told in S
            102s   x is erased
            103s   e reports in S on mission              → e unknown, e online
            133s   → e degraded, e gap open mass_gap, a gap judged mass_gap, \
            b gap judged mass_gap, c gap judged mass_gap, d gap judged mass_gap
            """, gaps: true)
    }
}
