import RollcallCore
import Testing

@testable import Rollcall
@testable import RollcallSupport

/// Bodies of `POST /v1/silences`, and conditions as text. Source: A7.
@Suite struct SilenceRequestTests {
    private static let now = GapsCommandTests.now

    private func read(_ members: String) throws -> Silence {
        let body = try JSONTree(reading: Array("{\(members)}".utf8))
        return try SilenceRequest(body, now: Self.now).silence
    }

    private func fault(_ members: String) -> String {
        do {
            _ = try read(members)
            return "no fault"
        } catch let fault as SilenceRequest.Fault {
            return fault.text
        } catch {
            return "\(error)"
        }
    }

    private static let rest = #""author":"kim","comment":"exercise","duration":"2h""#

    private static let same: [String] = [
        #""matchers":["alertname=HighOfflineRate","region!=south|west"]"#,
        #""matchers":["alertname=\"HighOfflineRate\"","region!=south|west"]"#,
        """
        "matchers":[{"name":"alertname","value":"HighOfflineRate","isRegex":false,"isEqual":true},
        {"name":"region","value":"south|west","isRegex":true,"isEqual":false}]
        """,
    ]

    @Test(arguments: Self.same)
    func `conditions are texts, or objects as Alertmanager has them`(matchers: String) throws {
        let silence = try read(matchers + "," + Self.rest)
        #expect(
            silence.matchers.map(MatcherText.text) == [
                "alertname=HighOfflineRate", "region!=south|west",
            ])
        #expect(silence.endsAt == Self.now + .seconds(7200))
        #expect(silence.author == Array("kim".utf8) && silence.comment == Array("exercise".utf8))
    }

    @Test func `conditions may be an object, and the names Alertmanager's`() throws {
        let silence = try read(
            """
            "matchers":{"alertname":"Watchdog","region":"a|b"},"createdBy":"kim","comment":"c",
            "startsAt":"2026-11-21T06:00:59Z","endsAt":"2026-11-21T07:00:00Z","id":""
            """)
        #expect(
            silence.matchers.map(MatcherText.text) == ["alertname=Watchdog", "region=a|b"])
        #expect(silence.endsAt == Self.now + .seconds(3600))
    }

    /// What is wrong with members, which `rest` completes if they end with a comma or are none.
    private static let wrong: [(members: String, message: String)] = [
        ("", "/matchers: 1 to 32 expected, such as alertname=HighOfflineRate"),
        (
            #""matchers":[],"#,
            "/matchers: 1 to 32 expected, such as alertname=HighOfflineRate"
        ),
        (
            #""matchers":["a"],"#,
            "/matchers/0: must be like name=value, name!=value or name=a|b"
        ),
        (
            #""matchers":["a=b","c=~d"],"#,
            "/matchers/1: regular expressions are not understood: name=a|b is any of them"
        ),
        (
            #""matchers":["region!=x"],"#,
            "/matchers: one must name a value that an alert must have"
        ),
        (
            #""matchers":[{"name":"a","value":"b.*","isRegex":true}],"#,
            "/matchers/0: of regular expressions only a|b is understood"
        ),
        (
            #""matchers":[{"name":"a","value":"b|c"}],"#,
            "/matchers/0: a | needs isRegex: it stands between values"
        ),
        (
            #""matchers":[7],"#,
            "/matchers/0: a text, or an object with name and value expected"
        ),
        (
            #""matchers":["region=north|52.5200%2C13.4050"],"#,
            "/matchers: looks like coordinates, which are never taken"
        ),
        (
            #""matchers":["a=b"],"author":"kim","comment":"c""#,
            "/ends_at: or duration must be given"
        ),
        (
            #""matchers":["a=b"],"author":"kim","comment":"c","ends_at":"2026-11-21T06:00:00Z""#,
            "/ends_at: has passed already"
        ),
        (
            #""matchers":["a=b"],"author":"kim","comment":"c","ends_at":"soon""#,
            "/ends_at: RFC 3339 expected, at most 366d from now"
        ),
        (
            #""matchers":["a=b"],"ends_at":"2026-11-22T06:00:00Z","#,
            "/duration: and ends_at must not both be given"
        ),
        (
            #""matchers":["a=b"],"author":"kim","comment":"c","duration":"2""#,
            "/duration: a span such as 90m or 2h expected, at most 366d"
        ),
        (
            #""matchers":["a=b"],"starts_at":"2026-11-21T06:01:01Z","#,
            "/starts_at: lies in the future: a silence begins at once"
        ),
        (
            #""matchers":["a=b"],"comment":"c","duration":"2h""#,
            "/author: 1 to 128 bytes without control characters expected"
        ),
        (
            #""matchers":["a=b"],"author":"kim","comment":"","duration":"2h""#,
            "/comment: 1 to 1024 bytes without control characters expected"
        ),
        (
            #""matchers":["a=b"],"id":"7","#,
            "/id: a name of your own expected: a silence cannot be changed, end it and begin another"
        ),
        (
            #""matchers":["a=b"],"id":7,"#,
            "/id: a name of your own expected: a silence cannot be changed, end it and begin another"
        ),
    ]

    @Test func `the same body has the same fingerprint at any time, another has another`() throws {
        func read(_ members: String, later: Int64 = 0) throws -> Silence {
            let body = try JSONTree(reading: Array("{\(members)}".utf8))
            return try SilenceRequest(body, now: Self.now + .seconds(later)).silence
        }
        let body = #""id":"k-1","matchers":["a=b"],"author":"kim","comment":"c","duration":"2h""#
        let first = try read(body)
        #expect(first.requestID == Array("k-1".utf8))
        #expect(try read(body, later: 60).fingerprint == first.fingerprint)
        for (old, new) in [
            ("a=b", "a=c"), ("a=b", "a!=b\",\"c=d"), ("kim", "kai"), (#""c""#, #""d""#),
            ("2h", "3h"),
            (#""comment":"c""#, #""comment":"kim""#),
        ] {
            #expect(try read(body.replacing(old, with: new)).fingerprint != first.fingerprint)
        }
        #expect(try read(body.replacing("k-1", with: "")).fingerprint == 0)
        // What is asked for again may be over by now.
        let ended =
            #""id":"k","matchers":["a=b"],"author":"k","comment":"c","ends_at":"2020-01-01T00:00:00Z""#
        #expect(try read(ended).endsAt.milliseconds == 1_577_836_800_000)
    }

    @Test(arguments: Self.wrong)
    func `what is wrong is told by its place`(members: String, message: String) {
        let isPart = members.isEmpty || members.hasSuffix(",")
        #expect(fault(isPart ? members + Self.rest : members) == message)
    }

    @Test func `a silence has 32 conditions, 366 days and 1024 bytes of comment at most`() throws {
        func body(_ conditions: Int, _ span: String, _ bytes: Int) -> String {
            let list = (0..<conditions).map { "\"a\($0)=b\"" }.joined(separator: ",")
            let comment = String(repeating: "c", count: bytes)
            return "\"matchers\":[\(list)],\"author\":\"k\",\"comment\":\"\(comment)\","
                + "\"duration\":\"\(span)\""
        }
        _ = try read(body(32, "366d", 1024))
        for wrong in [body(33, "1s", 1), body(1, "367d", 1), body(1, "1s", 1025)] {
            #expect(fault(wrong).hasPrefix("/"))
        }
    }

    @Test(arguments: ["a=b", "a!=b|c", "a=", "_x9=a=b", "a=!=b"])
    func `a condition is written as it was read`(text: String) throws {
        #expect(MatcherText.text(try MatcherText.matcher(text)) == text)
    }

    @Test(arguments: ["", "=b", "9a=b", "a b=c", "a!!=b", "a=~b", "a!~b", "é=b"])
    func `what is no condition is refused`(text: String) {
        #expect(throws: MatcherText.Fault.self) { try MatcherText.matcher(text) }
    }
}
