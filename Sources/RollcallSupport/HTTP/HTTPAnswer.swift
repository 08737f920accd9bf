import CMicroHTTPD
import Glibc
import Synchronization

/// The answer that went out last, kept as libmicrohttpd's own: nearly all writes are answered with
/// the very same bytes, and making one anew takes a dozen allocations.
final class HTTPLastAnswer: Sendable {
    /// `@unchecked Sendable` is true because it stays in a lock.
    private struct Kept: @unchecked Sendable {
        let response: HTTPResponse
        let handle: OpaquePointer
    }

    private let last = Mutex<Kept?>(nil)

    /// Nothing went out yet.
    init() {}

    // Those who are being answered with it hold references of their own.
    deinit { last.withLock { if let kept = $0 { MHD_destroy_response(kept.handle) } } }

    /// Queues an answer on a connection; `.NO` when libmicrohttpd is out of memory or the connection
    /// is past being answered, both of which end in its close.
    func queue(_ response: HTTPResponse, on connection: OpaquePointer) -> MHD_Result {
        let status = UInt32(clamping: response.status)
        guard response.isShort else {
            guard let handle = response.create() else { return .NO }
            defer { MHD_destroy_response(handle) }
            return MHD_queue_response(connection, status, handle)
        }
        return last.withLock { last in
            if last.map({ response.isSame($0.response) }) != true {
                // The last one stays where there is no memory for another.
                guard let handle = response.create() else { return .NO }
                if let last { MHD_destroy_response(last.handle) }
                last = Kept(response: response, handle: handle)
            }
            guard let handle = last?.handle else { return .NO }
            // microhttpd.h: a response can "be used any number of times".
            return MHD_queue_response(connection, status, handle)
        }
    }
}

extension HTTPResponse {
    /// True if it is worth keeping: a long one is not likely to come again.
    fileprivate var isShort: Bool { body.count <= 4096 }

    /// True if every byte of the other is the same.
    fileprivate func isSame(_ other: HTTPResponse) -> Bool {
        status == other.status && body == other.body
            && headers.elementsEqual(other.headers) { $0.0 == $1.0 && $0.1 == $1.1 }
    }

    /// The answer as libmicrohttpd's own, which the caller has to destroy; nil without memory.
    fileprivate func create() -> OpaquePointer? {
        let created = body.withUnsafeBytes {
            MHD_create_response_from_buffer(
                $0.count, UnsafeMutableRawPointer(mutating: $0.baseAddress), .RESPMEM_MUST_COPY)
        }
        guard let created else { return nil }
        for (name, value) in fields { add(name, value, to: created) }
        return created
    }

    /// All its fields: what always stands, unless the answer says something else there.
    private var fields: [(String, String)] {
        let standing = standingFields.filter { field in !headers.contains { $0.0 == field.0 } }
        return standing + headers
    }

    /// The head of an answer without an end, which the close of the connection ends.
    var rawStreamHead: [UInt8] {
        var text = "HTTP/1.1 \(status) \(reason(of: status))\r\n"
        text += "Date: \(currentDate())\r\nConnection: close\r\n"
        for (name, value) in fields where name != "Connection" { text += "\(name): \(value)\r\n" }
        return Array((text + "\r\n").utf8)
    }

    /// The answer as it goes over the wire, for where libmicrohttpd cannot send one. It says that
    /// the connection will be closed, which the caller has to bring about.
    func rawBytes(isHead: Bool) -> [UInt8] {
        var text = "HTTP/1.1 \(status) \(reason(of: status))\r\n"
        text += "Date: \(currentDate())\r\nConnection: close\r\n"
        text += "Content-Length: \(body.count)\r\n"
        for (name, value) in fields where name != "Connection" {
            text += "\(name): \(value)\r\n"
        }
        text += "\r\n"
        return Array(text.utf8) + (isHead ? [] : body)
    }
}

/// `withCString` lends a string's own storage; passing a string to a C parameter copies it, for
/// each field of each answer.
private func add(_ name: String, _ value: String, to response: OpaquePointer) {
    name.withCString { name in
        value.withCString { value in _ = MHD_add_response_header(response, name, value) }
    }
}

/// A browser must not guess types, and nothing here may come from a cache but what says so.
private let standingFields = [
    ("X-Content-Type-Options", "nosniff"), ("Cache-Control", "no-store"),
]

private func reason(of status: Int) -> String {
    guard let text = MHD_get_reason_phrase_for(UInt32(clamping: status)) else { return "" }
    return String(cString: text)
}

/// RFC 9110 §6.6.1: an answer of a server with a clock has `Date`.
private func currentDate() -> String {
    var now = time(nil)
    var parts = tm()
    gmtime_r(&now, &parts)
    let text = withUnsafeTemporaryAllocation(of: CChar.self, capacity: 32) { buffer in
        let count = strftime(buffer.baseAddress, buffer.count, "%a, %d %b %Y %H:%M:%S GMT", &parts)
        return String(
            decoding: UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(buffer)[..<count]),
            as: UTF8.self)
    }
    return text
}
