import Testing

@testable import RollcallSupport

/// A URL names who is asked, and nobody else is. Source: A8, §9.
@Suite struct DestinationTests {
    @Test(arguments: [
        #"http://good.example\@evil.example/"#, #"http://good.example\.evil.example/"#,
        #"http://good.example/a\b"#, #"http:\\good.example/"#, #"http://good.example/?a=\"#,
        "http://good.example\t.evil/", "http://good .example/", "http://good.example/\u{202E}",
        "http://good.example:0/", "http://good.example:65536/", "http://good.example:+80/",
        "http://good.example:/", "http://good.example:80:81/", "http://good.example:8O/",
        "http://[::1/", "http://[::1]x/", "http://[::1%25eth0]/", "http:///x", "http://", "//a",
        "ftp://a/", "http://%67ood/", "http://a,b/", "http://a@/", "javascript://a/", "",
    ])
    func `what readers of URLs disagree about is refused`(url: String) {
        #expect(Destination(url: url) == nil)
    }

    @Test(arguments: [
        ("http://user@host/", "http://host"),
        ("https://user:pass@host:8443/x", "https://host:8443"),
        ("http://good.example@evil.example/", "http://evil.example"),
        ("http://a@b@evil.example/", "http://evil.example"),
        ("http://:@host/", "http://host"),
    ])
    func `a user before the host is seen, and who is asked is behind it`(url: String, text: String)
    {
        #expect(Destination(url: url)?.text == text)
        #expect(Destination(url: url)?.hasUser == true)
    }

    @Test(arguments: [
        ("https://host/path?a@b#c", "https://host"), ("HTTP://Host:080/", "http://Host:080"),
        ("http://[::1]:9093/x", "http://[::1]:9093"), ("http://host?@evil", "http://host"),
        ("http://host#@evil", "http://host"), ("https://a:65535", "https://a:65535"),
    ])
    func `a plain URL is shown without what may be secret`(url: String, text: String) {
        #expect(Destination(url: url)?.text == text)
        #expect(Destination(url: url)?.hasUser == false)
    }
}
