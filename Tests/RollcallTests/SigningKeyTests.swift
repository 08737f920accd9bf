import RollcallCore
import Testing

@testable import RollcallBasis

@Suite struct SigningKeyTests {
    private static let sample = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="

    private static func key(_ text: String) -> SigningKey? {
        (try? Secret(Array(text.utf8))).flatMap { SigningKey($0) }
    }

    @Test func `a signature is the one that everybody else computes`() throws {
        let body = """
            {"type":"responder.offline","timestamp":"2026-11-21T03:00:00Z",\
            "data":{"responder_id":"r-1"}}
            """
        let key = try #require(Self.key(Self.sample))
        let fields = SigningKey.fields(
            id: "msg_01", now: Timestamp(milliseconds: 1_763_800_000_999),
            body: Array(body.utf8), keys: [key])
        #expect(
            fields.map { "\($0.name): \($0.value)" } == [
                "webhook-id: msg_01", "webhook-timestamp: 1763800000",
                "webhook-signature: v1,KeWGxN89DGFCVjHND63xQFopYDqRFj61qkgWKygWflc=",
            ])
    }

    @Test func `with two keys there are two signatures, without one there is none`() throws {
        let one = try #require(Self.key(Self.sample))
        let other = try #require(Self.key("whsec_" + String(repeating: "A", count: 32)))
        let both = SigningKey.fields(
            id: "msg_01", now: NotificationSamples.time, body: [], keys: [one, other])
        let parts = both[2].value.split(separator: " ")
        #expect(parts.count == 2 && parts[0] != parts[1])
        #expect(parts.allSatisfy { $0.hasPrefix("v1,") && $0.utf8.count == 47 })
        let none = SigningKey.fields(
            id: "msg_01", now: NotificationSamples.time, body: [], keys: [])
        #expect(none.map(\.name) == ["webhook-id", "webhook-timestamp"])
    }

    @Test(arguments: [(23, false), (24, true), (64, true), (65, false)])
    func `a key has 24 to 64 bytes`(count: Int, isTaken: Bool) {
        let digits = String(repeating: "A", count: (count * 8 + 5) / 6)
        let padding = String(repeating: "=", count: (4 - digits.count % 4) % 4)
        #expect((Self.key("whsec_\(digits)\(padding)") != nil) == isTaken)
    }

    @Test(arguments: ["whsec_", "whsec_****", "whsk_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="])
    func `what is no key is not taken for one`(text: String) {
        #expect(Self.key(text) == nil)
    }

    @Test func `a key is never shown`() throws {
        let key = try #require(Self.key(Self.sample))
        var address = ReceiverAddress(name: "hook", kind: .webhook)
        address.urls = ["https://user:pass@h/secret"]
        address.signingKeys = [key]
        address.bearer = try NotificationSamples.secret("secret")
        var dumped = ""
        dump(address, to: &dumped)
        dump(key, to: &dumped)
        #expect("\(key) \(address)" == "<secret> webhook hook")
        #expect(!dumped.contains("secret/") && !dumped.contains("pass") && !dumped.contains("AAEC"))
    }
}
