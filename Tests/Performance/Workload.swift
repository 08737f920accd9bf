/// A kind of load.
struct Workload {
    /// Its name in reports, such as `single-64`.
    let name: String
    /// Keep-alive connections, each with one request on its way.
    let connections: Int
    /// Batches in one request's body; with more than one it is NDJSON.
    let batchesPerRequest: Int

    /// How many batches share a commit when half of the connections wait for the next one, as
    /// they do in a closed loop: what SQLite is compared at.
    var batchesPerCommit: Int {
        batchesPerRequest == 1 ? max(1, connections / 2) : batchesPerRequest
    }

    /// What is counted.
    var unit: String { batchesPerRequest == 1 ? "requests/s" : "batches/s" }

    /// Design §10's loads. One connection shows a commit's price, 64 what sharing it buys.
    static let all = [
        Workload(name: "single-1", connections: 1, batchesPerRequest: 1),
        Workload(name: "single-16", connections: 16, batchesPerRequest: 1),
        Workload(name: "single-64", connections: 64, batchesPerRequest: 1),
        Workload(name: "bulk-4", connections: 4, batchesPerRequest: 1000),
    ]

    /// Before the first run: every responder is heard once, so that none is enrolled later.
    static let enrolment = Workload(name: "enrolment", connections: 1, batchesPerRequest: 1000)

    /// The whole request, its batches not written yet, and where each of them belongs.
    func request() -> (bytes: [UInt8], batches: [Range<Int>]) {
        let size = BatchSource.batchBytes
        let type = batchesPerRequest == 1 ? "application/json" : "application/x-ndjson"
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
