import RollcallSupport

/// The topic of ntfy that a URL names, `https://host/topic`, and the server that takes messages for it.
struct NtfyTopic {
    /// The server's own URL, up to the slash before the topic: there messages are posted as JSON.
    let server: String
    /// 1 to 64 letters, digits, `-` and `_`.
    let name: String

    /// Nil if the last part of the URL's path is no topic. Source: ntfy's server/server.go.
    init?(url: String) {
        guard let scheme = url.firstRange(of: "://") else { return nil }
        let rest = url[scheme.upperBound...]
        guard let slash = rest.lastIndex(of: "/"), slash > rest.startIndex else { return nil }
        let topic = rest[rest.index(after: slash)...]
        guard (1...64).contains(topic.utf8.count),
            topic.utf8.allSatisfy({ byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"):
                    true
                default: false
                }
            })
        else { return nil }
        name = String(topic)
        server = String(url[...slash])
        // A question mark or a fragment before it would swallow it.
        if server.contains("?") || server.contains("#") { return nil }
    }
}
