import RollcallCore

/// What a fleet without Rollcall pushes to a Pushgateway: one group for each responder, with when
/// they were last seen, since only one group of its own can be replaced alone.
enum GroupPush {
    /// The metric that the rule of `PrometheusPeer` looks at.
    static let lastSeen = "rollcall_peer_last_seen_seconds"

    /// `#` the responder, `~` the region, `%` when they were last seen, seconds since 1970.
    static let request: [UInt8] = {
        let body = """
            \(lastSeen){region="region-~"} %%%%%%%%%%%%%%
            rollcall_peer_battery_level 0.62

            """
        return Array(
            """
            PUT /metrics/job/rollcall/responder/r-##### HTTP/1.1\r\nHost: 127.0.0.1\r\n\
            Content-Length: \(body.utf8.count)\r\n\r\n\(body)
            """.utf8)
    }()

    private static let responder = TemplateField("#", 5, in: request)
    private static let region = TemplateField("~", 1, in: request)
    private static let seconds = TemplateField("%", 14, in: request)

    /// Makes `bytes`, which is `request`, the push of a responder.
    static func write(
        _ number: Int, region: Int, lastSeen: Timestamp, to bytes: UnsafeMutableRawBufferPointer
    ) {
        responder.write(number, to: bytes)
        Self.region.write(region, to: bytes)
        let range = seconds.range
        TemplateField(range.dropLast(4)).write(Int(lastSeen.milliseconds / 1000), to: bytes)
        bytes[range.upperBound - 4] = UInt8(ascii: ".")
        TemplateField(range.suffix(3)).write(Int(lastSeen.milliseconds % 1000), to: bytes)
    }

    /// The name of a responder in the metrics.
    static func name(_ number: Int) -> String {
        var bytes = [UInt8](repeating: 0, count: 5)
        bytes.withUnsafeMutableBytes { TemplateField(0..<5).write(number, to: $0) }
        return "r-" + String(decoding: bytes, as: UTF8.self)
    }
}
