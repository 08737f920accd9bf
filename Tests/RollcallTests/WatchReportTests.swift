import RollcallSupport
import Testing

@testable import Rollcall

/// How the watch stands, as streams tell it: whole, then merge patches. Source: E3, RFC 7396.
struct WatchReportTests {
    private func report(_ text: String, after last: WatchReport?, now: Int64 = 0) throws
        -> WatchReport
    {
        try #require(WatchReport(Array(text.utf8), after: last, now: now))
    }

    private func change(_ report: WatchReport) throws -> String {
        let text = String(decoding: try #require(report.change), as: UTF8.self)
        #expect(text.hasPrefix("event: watch-change\ndata: "))
        #expect(text.hasSuffix("\n\n"))
        return String(text.dropFirst("event: watch-change\ndata: ".count).dropLast(2))
    }

    @Test func `E3: the first is whole, and what follows is what changed`() throws {
        let first = try report(
            #"{"as_of":"1","people":{"ONLINE":3,"OFFLINE":0},"alerts":{"firing":0}}"#, after: nil)
        #expect(first.change == nil)
        #expect(
            String(decoding: first.whole, as: UTF8.self)
                == "event: watch\ndata: "
                + #"{"as_of":"1","people":{"ONLINE":3,"OFFLINE":0},"alerts":{"firing":0}}"# + "\n\n"
        )
        let second = try report(
            #"{"as_of":"2","people":{"ONLINE":2,"OFFLINE":1},"alerts":{"firing":0}}"#, after: first)
        #expect(try change(second) == #"{"as_of":"2","people":{"ONLINE":2,"OFFLINE":1}}"#)
        let third = try report(
            #"{"as_of":"3","people":{"ONLINE":2,"OFFLINE":1},"alerts":{"firing":0}}"#, after: second
        )
        #expect(try change(third) == #"{"as_of":"3"}"#)
    }

    @Test func `what is gone is null, at any depth, and lists are told whole`() throws {
        let first = try report(
            #"{"a":{"b":1,"c":{"d":2,"e":3}},"list":[1,2],"old":true}"#, after: nil)
        let second = try report(#"{"a":{"b":1,"c":{"e":3}},"list":[1,3]}"#, after: first)
        #expect(try change(second) == #"{"a":{"c":{"d":null}},"list":[1,3],"old":null}"#)
    }

    @Test func `lists in which times alone move are told once a minute`() throws {
        func sources(_ beat: Int, isUp: Bool = true) -> String {
            #"{"sources":[{"source":"a","up":\#(isUp),"last_beat_at":"\#(beat)"}]}"#
        }
        var last = try report(sources(1), after: nil)
        last = try report(sources(2), after: last, now: 4000)
        // It was not told since anybody asked: whoever comes gets it whole.
        let quiet = try change(last)
        #expect(quiet == "{}")
        last = try report(sources(3, isUp: false), after: last, now: 8000)
        #expect(try change(last) == sources(3, isUp: false))
        last = try report(sources(4, isUp: false), after: last, now: 67_000)
        #expect(try change(last) == "{}")
        last = try report(sources(5, isUp: false), after: last, now: 68_000)
        #expect(try change(last) == sources(5, isUp: false))
        // From none to one is news.
        let never = try report(#"{"store":{"at":1,"checkpoint_at":null}}"#, after: nil)
        let now = try report(#"{"store":{"at":1,"checkpoint_at":"x"}}"#, after: never)
        #expect(try change(now) == #"{"store":{"checkpoint_at":"x"}}"#)
    }

    @Test func `an answer that cannot be read is no report`() {
        #expect(WatchReport(Array("[1]".utf8), after: nil, now: 0) == nil)
        #expect(WatchReport(Array("{".utf8), after: nil, now: 0) == nil)
    }
}
