/// A kind of load.
struct Workload {
    /// Its name in reports, such as `single-64`.
    let name: String
    /// Keep-alive connections, each with one request on its way.
    let connections: Int
    /// Batches in one request.
    let batchesPerRequest: Int
    /// How they are written.
    let form: Form

    /// What a request carries.
    enum Form {
        /// One batch as a JSON object.
        case object
        /// Batches as NDJSON.
        case lines
        /// What a Pushgateway takes instead of a batch: a group of its own for each responder.
        case push
        /// What PostgreSQL takes instead: the row of a responder.
        case row
    }

    /// How many batches share a commit when half of the connections wait for the next one, as
    /// they do in a closed loop: what SQLite is compared at.
    var batchesPerCommit: Int { max(1, connections / 2) * batchesPerRequest }

    /// True if it is measured with four threads at the connections, too.
    var isOfManyThreads: Bool { name == "single-64" }

    /// What is counted.
    var unit: String { form == .lines ? "batches/s" : "requests/s" }

    /// Single batches over so many connections: one shows a commit's price, 64 what sharing it
    /// buys.
    static func single(_ connections: Int, name: String? = nil) -> Workload {
        Workload(
            name: name ?? "single-\(connections)", connections: connections, batchesPerRequest: 1,
            form: .object)
    }

    /// So many batches in a request, as a backend sends that gathers for a while.
    static func bulk(_ batches: Int, connections: Int = 4, name: String? = nil) -> Workload {
        Workload(
            name: name ?? "bulk-\(batches)", connections: connections,
            batchesPerRequest: batches, form: .lines)
    }

    /// The loads of a server that nobody asks anything meanwhile.
    static let all =
        [1, 16, 64, 256].map { single($0) } + [1, 10, 100, 1000].map { bulk($0) }

    /// Before the first run: every responder is heard once, so that none is enrolled later.
    static let enrolment = bulk(1000, connections: 1, name: "enrolment")

    /// The whole request, its batches not written yet, and where each of them belongs.
    func request() -> (bytes: [UInt8], batches: [Range<Int>]) {
        if form == .push { return (GroupPush.request, [0..<GroupPush.request.count]) }
        if form == .row { return (RowUpsert.request, [0..<RowUpsert.request.count]) }
        let size = BatchSource.batchBytes
        let type = form == .object ? "application/json" : "application/x-ndjson"
        let bodyBytes = batchesPerRequest * (size + 1) - 1
        var bytes = Array(
            """
            POST /v1/batches HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: \(type)\r\n\
            Content-Length: \(bodyBytes)\r\n\r\n
            """.utf8)
        var batches: [Range<Int>] = []
        for index in 0..<batchesPerRequest {
            if index > 0 { bytes.append(UInt8(ascii: "\n")) }
            batches.append(bytes.count..<(bytes.count + size))
            bytes += [UInt8](repeating: 0, count: size)
        }
        bytes.withUnsafeMutableBytes { bytes in
            for batch in batches {
                BatchSource.prepare(UnsafeMutableRawBufferPointer(rebasing: bytes[batch]))
            }
        }
        return (bytes, batches)
    }
}
