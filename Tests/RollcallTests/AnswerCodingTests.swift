import RollcallCore
import Synchronization
import Testing

@testable import RollcallSupport

/// Answers that go out compressed. Source: V16.
@Suite struct AnswerCodingTests {
    @Test(
        arguments: [
            (nil, .plain), ("", .plain), (",;,", .plain), ("gzip", .gzip), ("GZip", .gzip),
            ("x-gzip", .gzip), ("gzip, deflate, br, zstd", .gzip), ("br;q=1.0, gzip;q=0.8", .gzip),
            ("deflate, br", .plain), ("identity", .plain), ("gzipped", .plain), ("*", .gzip),
            ("*;q=0.1", .gzip), ("*;q=0", .plain), ("gzip;q=0", .plain), ("gzip;q=0.000", .plain),
            ("gzip; Q=0", .plain), ("gzip;q=0.001", .gzip), ("gzip;q=0, *", .plain),
            ("*;q=0, gzip", .gzip), ("identity;q=0", .plain), ("identity;q=0, gzip", .gzip),
            ("identity;q=0, gzip;q=0", .plain), ("identity;q=0, *;q=0.5", .gzip),
            ("identity, gzip", .gzip), ("identity, gzip;q=0.9", .plain),
            ("identity;q=0.5, gzip;q=0.5", .gzip), ("identity, *;q=0.5", .plain),
            ("gzip;q=0.5, *", .plain), ("gzip;q=x", .gzip), ("gzip;q=2", .gzip), ("gzip;q", .gzip),
            ("gzip;level=9;q=0.3", .gzip), ("gzip\u{0},\u{7F}", .plain), ("\t gzip \t", .gzip),
        ] as [(String?, AnswerCoding)])
    func `V16: gzip goes to those who would rather have it`(
        acceptEncoding: String?, coding: AnswerCoding
    ) {
        #expect(AnswerCoding.choice(acceptEncoding, isAvailable: true) == coding)
        #expect(AnswerCoding.choice(acceptEncoding, isAvailable: false) == .plain)
    }

    @Test(arguments: [0, 1, 1000, 65_536, 1 << 20])
    func `V16: one compressor makes a whole file of each answer, one after the other`(
        count: Int
    ) throws {
        let gzip = try #require(GzipWriter())
        let reader = try #require(GzipReader.shared)
        // So mixed that it comes out longer than a piece of output.
        var state: UInt64 = 7
        let bytes = (0..<count).map { _ in
            state = state &* 6_364_136_223_846_793_005 &+ 1
            return UInt8(truncatingIfNeeded: state >> 33)
        }
        for _ in 0..<3 {
            let packed = try #require(gzip.compressed(bytes))
            #expect(try reader.expanded(packed, bytesMax: count) == bytes)
        }
        let alike = try #require(gzip.compressed([UInt8](repeating: 65, count: count)))
        #expect(alike.count <= 32 + count / 200)
    }

    @Test func `V16: what gets no shorter, or has no compressor, goes out as it is`() throws {
        let gzip = try #require(GzipWriter())
        let long = HTTPResponse(
            status: 200, headers: [("Vary", "Accept-Encoding")],
            body: [UInt8](repeating: 65, count: 1000))
        let packed = long.compressed(by: gzip)
        #expect(packed.headers.map(\.0) == ["Vary", "Content-Encoding"])
        #expect(packed.headers.last?.1 == "gzip")
        #expect(packed.body.count < 100)
        for (response, gzip) in [
            (HTTPResponse(status: 200, body: Array("short".utf8)), gzip),
            (HTTPResponse(status: 200), gzip), (long, nil),
        ] as [(HTTPResponse, GzipWriter?)] {
            let same = response.compressed(by: gzip)
            #expect(same.body == response.body)
            #expect(!same.headers.contains { $0.0 == "Content-Encoding" })
        }
    }

    @Test func `V16: jobs are done one after the other, and those before the end too`() async {
        let compressor = AnswerCompressor()
        let done = Mutex<[Int]>([])
        await withCheckedContinuation { (last: CheckedContinuation<Void, Never>) in
            for number in 0..<100 {
                compressor.take { gzip in
                    done.withLock { $0.append(gzip == nil ? -1 : number) }
                    if number == 99 { last.resume() }
                }
            }
            compressor.close()
        }
        #expect(done.withLock { $0 } == Array(0..<100))
    }
}
