import RollcallCore
import Testing

@testable import RollcallBasis

/// What a reload tells of the ways to receivers: that they are others, never what they are.
@Suite struct ReceiverBookTests {
    private static let key = Array("oncall".utf8)

    private func secret(_ text: String) throws -> Secret { try Secret(Array(text.utf8)) }

    /// What changes from a receiver with two addresses, and a sink, to others.
    private func changes(
        _ change: (inout ReceiverAddress) throws -> Void,
        _ changeSink: (inout PushSink) throws -> Void = { _ in }
    ) throws -> EndpointChanges {
        var address = ReceiverAddress(name: "oncall", kind: .webhook)
        address.urls = ["https://a.example.org/hook", "https://b.example.org/hook"]
        address.bearer = try secret("before")
        var sink = PushSink(.webhook, url: "https://push.example.org")
        sink.bearer = try secret("before")
        var settings = Configuration()
        settings.receivers = [address]
        settings.pushSink = sink
        let book = ReceiverBook(settings)
        try change(&address)
        try changeSink(&sink)
        settings.receivers = [address]
        settings.pushSink = sink
        let changes = book.follow(settings)
        // From then on they are as they are.
        #expect(book.follow(settings).queues.values.allSatisfy { $0 == .same })
        return changes
    }

    private func targets(_ changes: EndpointChanges) -> [EndpointChange?] {
        (0..<3).map { changes.queues[QueueKey(receiver: Self.key, target: $0)] }
    }

    @Test func `the same is the same`() throws {
        let same = try changes { _ in }
        #expect(targets(same) == [.same, .same, nil])
        #expect(same.sink == .same)
    }

    @Test func `a secret counts for each address, a URL for its own`() throws {
        var found = try changes { $0.bearer = try secret("after") }
        #expect(targets(found) == [.secret, .secret, nil])
        found = try changes { $0.routingKey = try secret("key") }
        #expect(targets(found) == [.secret, .secret, nil])
        let signing = try secret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
        found = try changes { $0.signingKeys = [try #require(SigningKey(signing))] }
        #expect(targets(found) == [.secret, .secret, nil])
        found = try changes { $0.urls[1] = "https://b.example.org/other" }
        #expect(targets(found) == [.same, .place, nil])
        found = try changes { $0.urls.insert("https://c.example.org", at: 0) }
        #expect(targets(found) == [.place, .place, .place])
        found = try changes { $0.authorities = Authorities(extra: "/etc/own.pem") }
        #expect(targets(found) == [.place, .place, nil])
        found = try changes { $0.name = "another" }
        #expect(targets(found) == [nil, nil, nil])
        #expect(found.queues.count == 2)
    }

    @Test func `of a sink what it says is no way to it`() throws {
        #expect(try changes({ _ in }, { $0.bearer = try secret("after") }).sink == .secret)
        #expect(try changes({ _ in }, { $0.url += "/other" }).sink == .place)
        #expect(try changes({ _ in }, { $0.kind = .expo }).sink == .place)
        #expect(try changes({ _ in }, { $0.texts = NudgeTexts() }).sink == .same)
    }
}
