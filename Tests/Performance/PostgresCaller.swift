import Glibc

/// One connection to a PostgreSQL that trusts whoever comes, for one question at a time.
///
/// Owns its socket. For one thread.
final class PostgresCaller {
    /// Whom it says it is, and the database that every PostgreSQL has.
    static let user = "rollcall"
    private static let database = "postgres"
    private static let patienceMilliseconds: Int32 = 30_000

    private let descriptor: Int32

    /// Connects. Errors: the server is not ready, or refuses.
    init(port: UInt16) throws(BenchmarkError) {
        descriptor = try connectedSocket(port: port)
        try Self.begin(descriptor)
    }

    deinit { close(descriptor) }

    /// Runs a statement; its rows.
    @discardableResult
    func ask(_ sql: String) throws(BenchmarkError) -> [[String]] {
        let question = PostgresMessage.bytes("Q", Array(sql.utf8) + [0])
        return try Self.rows(of: Self.exchange(self.descriptor, question))
    }

    /// Begins a session on a socket that is connected, and prepares the upsert if it is wanted.
    static func begin(
        _ descriptor: Int32, preparing statement: String? = nil
    ) throws(BenchmarkError) {
        let words = "user\0\(user)\0database\0\(database)\0\0"
        let body = PostgresMessage.int32(3 << 16) + Array(words.utf8)
        _ = try exchange(descriptor, PostgresMessage.int32(body.count + 4) + body)
        guard let statement else { return }
        let parse = Array("u\0\(statement)\0".utf8) + PostgresMessage.int16(0)
        _ = try exchange(
            descriptor,
            PostgresMessage.bytes("P", parse) + PostgresMessage.bytes("S", []))
    }

    /// Sends, and reads until the server is ready for the next. Errors: what it says.
    private static func exchange(
        _ descriptor: Int32, _ bytes: [UInt8]
    ) throws(BenchmarkError) -> [UInt8] {
        guard send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count else {
            throw .system(call: "send", errno: errno)
        }
        var answer: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 64 << 10)
        while true {
            let count = recv(descriptor, &buffer, buffer.count, 0)
            if count < 0 && errno == EAGAIN {
                var polled = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
                guard poll(&polled, 1, patienceMilliseconds) != 0 else {
                    throw .answer("PostgreSQL: none for \(patienceMilliseconds) ms")
                }
                continue
            }
            guard count > 0 else { throw .answer("PostgreSQL closed the connection") }
            answer += buffer[..<count]
            var isReady = false
            try messages(of: answer) { (type, body) throws(BenchmarkError) in
                isReady = type == UInt8(ascii: "Z")
                guard type != UInt8(ascii: "E") else {
                    throw .answer("PostgreSQL: " + String(decoding: body, as: UTF8.self))
                }
            }
            if isReady { return answer }
        }
    }

    private static func rows(of answer: [UInt8]) throws(BenchmarkError) -> [[String]] {
        var rows: [[String]] = []
        try messages(of: answer) { (type, body) throws(BenchmarkError) in
            guard type == UInt8(ascii: "D") else { return }
            var rest = body.dropFirst(2)
            var row: [String] = []
            while rest.count >= 4 {
                let length = Int(Int32(truncatingIfNeeded: number(rest.prefix(4))))
                rest = rest.dropFirst(4)
                row.append(String(decoding: rest.prefix(max(0, length)), as: UTF8.self))
                rest = rest.dropFirst(max(0, length))
            }
            rows.append(row)
        }
        return rows
    }

    /// Hands over each message that is there whole.
    private static func messages(
        of answer: [UInt8],
        _ body: (UInt8, ArraySlice<UInt8>) throws(BenchmarkError) -> Void
    ) throws(BenchmarkError) {
        var place = 0
        while place + 5 <= answer.count {
            let end = place + 1 + number(answer[(place + 1)..<(place + 5)])
            guard end > place, end <= answer.count else { return }
            try body(answer[place], answer[(place + 5)..<end])
            place = end
        }
    }

    private static func number(_ bytes: ArraySlice<UInt8>) -> Int {
        bytes.reduce(0) { $0 << 8 | Int($1) }
    }
}
