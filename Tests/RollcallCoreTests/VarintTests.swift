import Testing

@testable import RollcallCore

/// Numbers of seven bits a byte, which rows and checkpoints are made of.
@Suite struct VarintTests {
    /// Those around which the length changes.
    private static var values: [UInt64] {
        var values: [UInt64] = [0, 1, .max]
        for bits in stride(from: UInt64(7), through: 63, by: 7) {
            let value = UInt64(1) << bits
            values += [value - 1, value]
        }
        return values
    }

    @Test(arguments: [0, 1, 7, 8, 20])
    func `what is written is read, whatever stands behind it`(behind: Int) {
        for value in Self.values {
            var bytes: [UInt8] = [0xFF]
            Varint.append(value, to: &bytes)
            let end = bytes.count
            bytes += [UInt8](repeating: 0xFF, count: behind)
            var at = 1
            #expect(Varint.read(bytes.span, &at, end) == value)
            #expect(at == end)
            at = 1
            #expect(Varint.read(bytes.span, &at, bytes.count) == value)
            #expect(at == end)
        }
    }

    @Test func `one that does not end before the end is none`() {
        for count in 0...9 {
            let bytes = [UInt8](repeating: 0x80, count: count) + [1]
            var at = 0
            #expect(Varint.read(bytes.span, &at, count) == nil)
        }
        var at = 0
        #expect(Varint.read([UInt8](repeating: 0x80, count: 20).span, &at, 20) == nil)
    }

    @Test func `a set of one circle is told from all others`() {
        #expect(isOne([Array("c-9".utf8)]))
        #expect(isOne([[UInt8](repeating: 65, count: 300)]))
        #expect(!isOne([[65], [66]]))
        #expect(!isOne([]))
    }

    private func isOne(_ names: [[UInt8]]) -> Bool {
        CircleNames.isOne(CircleNames.pack(names).span)
    }
}
