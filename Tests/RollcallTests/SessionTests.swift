import RollcallCore
import Testing

@testable import RollcallSupport

/// Sessions as values: what signs them, when they end, which cookie holds them. Source: R7.
@Suite struct SessionTests {
    private static let start = Timestamp(milliseconds: 1_790_000_000_000)
    private static let hour = Milliseconds.seconds(3600)

    private static func token(_ name: String, _ text: String) throws -> Access.Token {
        try Access.Token(name: name, scopes: [.read, .act], bytes: Array(text.utf8))
    }

    private static func read(
        _ text: String, _ tokens: [Access.Token], at now: Timestamp = start
    ) -> Session? {
        Session.read(Substring(text), signedBy: tokens, at: now)?.session
    }

    @Test func `R7 a session is its token's, under its name and no other text`() throws {
        let ops = try Self.token("ops \"ü\"", "0123456789abcdef")
        let other = try Self.token("other", "fedcba9876543210")
        let session = Session(of: ops.name, number: .max, now: Self.start)
        let text = session.text(signedBy: ops.sessionKey)
        #expect(text.utf8.allSatisfy { (0x21...0x7E) ~= $0 && !"\";,\\".utf8.contains($0) })
        #expect(Self.read(text, [other, ops]) == session)
        #expect(Self.read(text, [other]) == nil)
        #expect(Self.read(text, [try Self.token("ops \"ü\"", "0123456789abcdeg")]) == nil)
        #expect(Self.read(text, [try Self.token("other", "0123456789abcdef")]) == nil)
        #expect(Self.read(session.text(signedBy: other.sessionKey), [ops, other]) == nil)
        #expect("\(ops.sessionKey)" == "<secret>")
    }

    @Test func `R7 no byte of a session can be another`() throws {
        let ops = try Self.token("ops", "0123456789abcdef")
        let session = Session(of: "ops", number: 7, now: Self.start)
        let text = Array(session.text(signedBy: ops.sessionKey).utf8)
        for place in text.indices {
            for other in [UInt8(ascii: "0"), UInt8(ascii: "f"), UInt8(ascii: "."), 0x2B, 0xFF]
            where other != text[place] {
                var changed = text
                changed[place] = other
                #expect(Self.read(String(decoding: changed, as: UTF8.self), [ops]) == nil)
            }
            #expect(Self.read(String(decoding: text[..<place], as: UTF8.self), [ops]) == nil)
        }
    }

    @Test func `R7 a session ends twelve hours after its use, and thirty days after its beginning`()
        throws
    {
        let ops = try Self.token("ops", "0123456789abcdef")
        var session = Session(of: "ops", number: 7, now: Self.start)
        let text = session.text(signedBy: ops.sessionKey)
        let end = Self.start + Session.idleMax
        #expect(Self.read(text, [ops], at: end - Milliseconds(1)) == session)
        #expect(Self.read(text, [ops], at: end) == nil)
        // Not at each question, and then from there.
        #expect(session.prolonged(at: Self.start + Milliseconds.seconds(15 * 60 - 1)) == nil)
        var now = Self.start
        var turns = 0
        while let next = session.prolonged(at: now + Self.hour) {
            now = now + Self.hour
            session = next
            turns += 1
            #expect(session.until == min(now + Session.idleMax, Self.start + Session.wholeMax))
        }
        #expect(session.until == Self.start + Session.wholeMax)
        #expect(turns == 30 * 24 - 12)
        let last = session.text(signedBy: ops.sessionKey)
        #expect(Self.read(last, [ops], at: session.until - Milliseconds(1)) == session)
        #expect(Self.read(last, [ops], at: session.until) == nil)
    }

    @Test func `R7 an ended session stays ended, for as long as a copy could be shown`() throws {
        var signIns = SignIns()
        let session = Session(of: "ops", number: 7, now: Self.start)
        let later = try #require(session.prolonged(at: Self.start + Self.hour))
        #expect(!signIns.isOver(session, at: Self.start))
        signIns.end(session, at: Self.start + Self.hour)
        #expect(signIns.isOver(session, at: Self.start + Self.hour))
        // A copy that was prolonged meanwhile is the same sign-in.
        #expect(signIns.isOver(later, at: later.until - Milliseconds(1)))
        #expect(signIns.isOver(later, at: later.until))
        #expect(!signIns.isOver(Session(of: "ops", number: 8, now: Self.start), at: Self.start))
    }

    @Test func `R7 nobody's sign-in comes back because others sign out`() {
        var many = SignIns()
        let stolen = Session(of: "ops", number: 1, now: Self.start)
        many.end(stolen, at: Self.start)
        for number in 2...UInt64(2 * SignIns.endedMax) {
            let now = Self.start + Milliseconds(Int64(number))
            many.end(Session(of: "eye", number: number, now: now), at: now)
        }
        #expect(many.isOver(stolen, at: Self.start + Self.hour))
        // Of one token so many are remembered singly, and whoever signed in before those is out.
        for number in 2...UInt64(2 * SignIns.endedMax) {
            let now = Self.start + Milliseconds(Int64(number))
            many.end(Session(of: "ops", number: number, now: now), at: now)
        }
        #expect(many.isOver(stolen, at: Self.start + Self.hour))
        let later = Session(of: "ops", number: 99_999, now: Self.start + Self.hour)
        #expect(!many.isOver(later, at: Self.start + Self.hour))
    }

    @Test func `R7 after twenty attempts in vain one a second is looked at`() {
        var signIns = SignIns()
        /// Takes attempts at an instant until one is refused, and returns how many were not.
        func taken(at elapsed: Int64) -> Int {
            for count in 0..<1000 where !signIns.takeAttempt(at: elapsed) { return count }
            return 1000
        }
        #expect(taken(at: 1000) == SignIns.attemptsMax)
        #expect(taken(at: 1999) == 0)
        #expect(taken(at: 2000) == 1)
        #expect(taken(at: 2999) == 0)
        // Rest fills it up and no further, also after a hundred years.
        #expect(taken(at: 3_155_760_000_000) == SignIns.attemptsMax)
    }

    @Test(arguments: [
        ("https://a.example", "__Host-rollcall_session", "/", true),
        ("https://a.example/", "__Host-rollcall_session", "/", true),
        ("https://a.example:8443/b/c/", "__Secure-rollcall_session", "/b/c", true),
        ("https://a.example/b;c", "__Host-rollcall_session", "/", true),
        ("http://a.example/b", "rollcall_session", "/b", false),
    ])
    func `R7 the cookie is kept to where people reach us`(
        url: String, name: String, path: String, isSecure: Bool
    ) throws {
        let outside = try #require(ExternalURL(url))
        let rules = AccessPolicy.Rules(externalURL: outside)
        let session = Session(of: "ops", number: 7, now: Self.start)
        var request = HTTPRequest(method: "POST", path: HTTPRequest.sessionPath)
        request.origin = outside.origin
        let field = SessionCookie.of(request, rules).field("x.y", of: session, at: Self.start)
        #expect(field.0 == "Set-Cookie")
        #expect(
            field.1 == "\(name)=x.y; Max-Age=43200; Path=\(path); HttpOnly; SameSite=Strict"
                + (isSecure ? "; Secure" : ""))
        // Asked about, it stays the cookie that it is, whatever Host the proxy passes on.
        var again = HTTPRequest(method: "GET", path: HTTPRequest.sessionPath)
        again.cookie = "\(name)=x.y"
        again.host = isSecure ? "127.0.0.1:10112" : outside.host
        #expect(SessionCookie.of(again, rules) == SessionCookie.of(request, rules))
        request.origin = "http://127.0.0.1:10112"
        let near = SessionCookie.of(request, rules).field("x.y", of: session, at: Self.start)
        #expect(near.1 == "rollcall_session=x.y; Max-Age=43200; Path=/; HttpOnly; SameSite=Strict")
    }

    @Test func `R7 our cookies are found among others, and too many are none`() {
        var request = HTTPRequest(method: "GET", path: "/")
        let rules = AccessPolicy.Rules()
        for (field, values) in [
            ("rollcall_session=a", ["a"]), ("x=1; rollcall_session=a; y", ["a"]),
            ("rollcall_session=a;rollcall_session=b=", ["a", "b="]), ("Rollcall_session=a", []),
            ("xrollcall_session=a", []), ("rollcall_session", []), ("", []), (";;=;", []),
            ("__Host-rollcall_session=a", ["a"]),
            (String(repeating: "rollcall_session=a; ", count: 5), []),
        ] {
            request.cookie = field
            #expect(SessionCookie.values(in: request, rules).map(String.init) == values, "\(field)")
        }
        request.cookie = "secret=1; rollcall_session=a; other=2"
        #expect(SessionCookie.ours(in: request) == "rollcall_session=a")
        request.cookie = "secret=1"
        #expect(SessionCookie.ours(in: request) == nil)
    }

    @Test func `an id in the URL of a person stands behind the host`() {
        for url in ["https://a.example/{id}", "http://a:1/?p={id}", "https://[::1]/#{id}"] {
            #expect(ExternalURL.isOfPerson(url), "\(url)")
        }
        let long = "https://a/{id}" + String(repeating: "x", count: 2048)
        for url in [
            "", "{id}", "https://a.example/", "https://{id}/", "https://a.example{id}/x",
            "https://a@b/{id}", "https://a/\"{id}", "https://a/ {id}", "https://ä/{id}",
            "javascript://a/%0a{id}", "data:,{id}", long,
        ] {
            #expect(!ExternalURL.isOfPerson(url), "\(url)")
        }
    }
}
