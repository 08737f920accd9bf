import RollcallCluster
import RollcallCore
import Testing

/// S2: each entry says who wrote it, where it stands and what came before.
struct LogEntryTests {
    private static let origin = LogOrigin(
        member: Array("a".utf8), incarnation: .max, reign: 3, serial: 70_000)

    private static func entry(_ body: [UInt8] = [1, 2, 3]) -> LogEntry {
        LogEntry(.turn, at: 12, after: 0xFFFF_0000_1234_5678, origin: origin, body: body)
    }

    @Test(arguments: [0, 1, 100_000])
    func `S2: an entry is read as it was written`(count: Int) {
        let entry = Self.entry(Array(repeating: 7, count: count))
        #expect(LogEntry(bytes: entry.bytes) == entry)
    }

    @Test func `S2: what is cut, longer or of another version is no entry`() {
        let bytes = Self.entry().bytes
        for count in bytes.indices { #expect(LogEntry(bytes: Array(bytes[..<count])) == nil) }
        #expect(LogEntry(bytes: bytes + [0]) == nil)
        #expect(LogEntry(bytes: [2] + bytes.dropFirst()) == nil)
    }

    @Test func `S2: the hash sees the body, the origin and what came before`() {
        let entry = Self.entry()
        var others = [entry, entry, entry, entry, entry]
        others[0].body[0] ^= 1
        others[1].previous ^= 1
        others[2].position += 1
        others[3].origin.incarnation -= 1
        others[4].origin.serial += 1
        for other in others { #expect(other.hash != entry.hash) }
    }
}
