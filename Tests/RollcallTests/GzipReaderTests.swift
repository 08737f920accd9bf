import RollcallCore
import Testing

@testable import RollcallSupport

/// Bodies that come compressed. Source: P8.
@Suite struct GzipReaderTests {
    private static let bytesMax = 1 << 20

    /// A member of a gzip file around what zlib makes of `bytes`. Source: RFC 1952 §2.3, RFC 1950.
    private static func member(_ bytes: [UInt8]) throws -> [UInt8] {
        let stream = try #require(ZlibLibrary.shared?.compressed(bytes))
        func little(_ value: UInt32) -> [UInt8] {
            (0..<4).map { UInt8(truncatingIfNeeded: value >> UInt32($0 * 8)) }
        }
        let head: [UInt8] = [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 3]
        return head + stream.dropFirst(2).dropLast(4) + little(check(bytes))
            + little(UInt32(truncatingIfNeeded: bytes.count))
    }

    /// CRC-32 as RFC 1952 §8 has it.
    private static func check(_ bytes: [UInt8]) -> UInt32 {
        ~bytes.reduce(UInt32.max) { check, byte in
            (0..<8).reduce(check ^ UInt32(byte)) { value, _ in
                value & 1 == 1 ? 0xEDB8_8320 ^ value >> 1 : value >> 1
            }
        }
    }

    private static func sample(_ count: Int) -> [UInt8] {
        (0..<count).map { UInt8(truncatingIfNeeded: $0 / 7 ^ $0 >> 9) }
    }

    private func expanded(_ bytes: [UInt8], _ bytesMax: Int = bytesMax) throws -> [UInt8] {
        try #require(GzipReader.shared).expanded(bytes, bytesMax: bytesMax)
    }

    @Test(arguments: [0, 1, 255, 65_535, 65_536, 65_537, 1 << 20])
    func `P8: what was compressed comes out`(count: Int) throws {
        let bytes = Self.sample(count)
        #expect(try expanded(Self.member(bytes)) == bytes)
    }

    @Test func `P8: all members of a file are taken, one behind the other`() throws {
        let parts = [5, 0, 70_000, 1].map(Self.sample)
        #expect(try expanded(parts.map(Self.member).flatMap(\.self)) == parts.flatMap(\.self))
    }

    @Test func `P8: the limit holds for what comes out, to the byte`() throws {
        let member = try Self.member(Self.sample(5000))
        #expect(try expanded(member, 5000).count == 5000)
        #expect(throws: GzipFault.tooLarge) { try expanded(member, 4999) }
        // Members add up.
        #expect(try expanded(member + member, 10_000).count == 10_000)
        #expect(throws: GzipFault.tooLarge) { try expanded(member + member, 9999) }
    }

    @Test func `P8: members that hold nothing are not without end`() throws {
        let empty = try Self.member([])
        let most = [[UInt8]](repeating: empty, count: GzipReader.membersMax).flatMap(\.self)
        #expect(try expanded(most).isEmpty)
        #expect(throws: GzipFault.tooLarge) { try expanded(most + empty) }
    }

    @Test func `P8: one that says little of what it holds is not believed`() throws {
        let bomb = try Self.member([UInt8](repeating: 0, count: 64 << 20))
        #expect(bomb.count < 1 << 19)
        #expect(throws: GzipFault.tooLarge) { try expanded(bomb) }
        #expect(throws: GzipFault.tooLarge) { try expanded(bomb.dropLast(4) + [1, 0, 0, 0]) }
    }

    @Test func `P8: one that is cut anywhere is not taken`() throws {
        let member = try Self.member(Self.sample(3000))
        for count in 0..<member.count {
            #expect(throws: GzipFault.cut) { try expanded(Array(member.prefix(count))) }
        }
    }

    @Test func `P8: nothing else may follow, and nothing else may be meant`() throws {
        let member = try Self.member(Self.sample(3000))
        let zeros = [UInt8](repeating: 0, count: 99)
        for tail: [UInt8] in [[0], [0x1F, 0x8C], Array("{}".utf8), zeros] {
            #expect(throws: (any Error).self) { try expanded(member + tail) }
        }
        #expect(throws: GzipFault.cut) { try expanded(member + [0x1F, 0x8B]) }
        // Neither zlib's own form nor a raw stream.
        let other = try #require(ZlibLibrary.shared?.compressed(Self.sample(3000)))
        #expect(throws: GzipFault.damaged) { try expanded(other) }
        let plain = Array(#"{"responder_id":"a"}"#.utf8)
        #expect(throws: GzipFault.damaged) { try expanded(plain) }
    }

    @Test func `P8: whichever byte is changed, nothing else comes out for it`() throws {
        let bytes = Self.sample(400)
        let member = try Self.member(bytes)
        for index in member.indices {
            var changed = member
            changed[index] ^= 0x55
            // A time, a system's name or a level says nothing about the content.
            #expect((try? expanded(changed)) ?? bytes == bytes)
        }
    }

    @Test func `P8: gzip and nothing else is understood, and nothing without zlib`() {
        func status(_ coding: String?, _ reader: GzipReader?) -> (Int, String?) {
            switch BodyCoding.choice(coding, reader) {
            case .plain: (0, nil)
            case .gzip: (1, nil)
            case .refused(let answer):
                (answer.status, answer.headers.first { $0.0 == "Accept-Encoding" }?.1)
            }
        }
        let shared = GzipReader.shared
        #expect(status(nil, shared) == (0, nil) && status(nil, nil) == (0, nil))
        for coding in ["gzip", "x-gzip", "GZip"] {
            #expect(status(coding, shared) == (1, nil))
            #expect(status(coding, nil) == (415, "identity"))
        }
        for coding in ["", "deflate", "br", "identity", "gzip, gzip", "gzip;q=1"] {
            #expect(status(coding, shared) == (415, "gzip"))
        }
    }
}
