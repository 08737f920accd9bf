import RollcallCore

/// What a fleet without Rollcall pushes to a Pushgateway: one group for each responder, with when
/// they were last seen, since only one group of its own can be replaced alone.
enum GroupPush {
    /// The metric that the rule of `PrometheusPeer` looks at.
    static let lastSeen = "rollcall_peer_last_seen_seconds"

    /// `#` the responder, `%` when they were last seen, seconds since 1970.
    static let request: [UInt8] = {
        let body = """
            \(lastSeen) %%%%%%%%%%%%%%
            rollcall_peer_battery_level 0.62

            """
        return Array(
            """
            PUT /metrics/job/rollcall/responder/r-##### HTTP/1.1\r\nHost: 127.0.0.1\r\n\
            Content-Length: \(body.utf8.count)\r\n\r\n\(body)
            """.utf8)
    }()

    private static let responder = field("#", 5)
    private static let seconds = field("%", 14)

    /// Makes `bytes`, which is `request`, the push of a responder.
    static func write(
        _ number: Int, lastSeen: Timestamp, to bytes: UnsafeMutableRawBufferPointer
    ) {
        write(number, to: bytes, at: responder)
        write(Int(lastSeen.milliseconds / 1000), to: bytes, at: seconds.dropLast(4))
        bytes[seconds.upperBound - 4] = UInt8(ascii: ".")
        write(Int(lastSeen.milliseconds % 1000), to: bytes, at: seconds.suffix(3))
    }

    /// The name of a responder in the metrics.
    static func name(_ number: Int) -> String {
        var bytes = [UInt8](repeating: 0, count: 5)
        bytes.withUnsafeMutableBytes { write(number, to: $0, at: 0..<5) }
        return "r-" + String(decoding: bytes, as: UTF8.self)
    }

    private static func write(
        _ value: Int, to bytes: UnsafeMutableRawBufferPointer, at field: Range<Int>
    ) {
        var rest = value
        for index in field.reversed() {
            bytes[index] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10)
            rest /= 10
        }
    }

    private static func field(_ mark: Unicode.Scalar, _ count: Int) -> Range<Int> {
        let mark = UInt8(ascii: mark)
        guard let start = request.firstIndex(of: mark), let end = request.lastIndex(of: mark),
            end + 1 - start == count
        else { preconditionFailure("the request has one field of each mark") }
        return start..<(end + 1)
    }
}
