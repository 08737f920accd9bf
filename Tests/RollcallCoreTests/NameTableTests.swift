import Testing

@testable import RollcallCore

/// Names against a dictionary of them.
@Suite struct NameTableTests {
    @Test(arguments: UInt64(1)...6)
    func `names are found by number and by bytes, whatever comes and goes`(seed: UInt64) {
        var random = Seeded(seed: seed)
        var table = NameTable()
        var naive: [UInt32: [UInt8]] = [:]
        for round in 0..<40 {
            for _ in 0..<50 {
                let name = Self.name(&random)
                let number = table.number(of: name)
                if let known = naive[number] {
                    #expect(known == name)
                } else {
                    #expect(!naive.values.contains(name))
                    naive[number] = name
                    if Bool.random(using: &random) { table.use(number) }
                }
            }
            #expect(naive.allSatisfy { table[$0.key] == $0.value })
            #expect(naive.allSatisfy { table.known($0.value) == $0.key })
            if round % 4 == 3 {
                table.noteUnused(named: true)
                table.dropIdle()
                naive = naive.filter { table.users[Int($0.key)] > 0 }
                #expect(table.count == naive.count)
                #expect(naive.allSatisfy { table.known($0.value) == $0.key })
            }
            #expect(table.known(Array("never".utf8)) == nil)
        }
        #expect(naive.count > 300)
    }

    /// Some are prefixes of others, some longer than eight bytes and the same in these.
    private static func name(_ random: inout Seeded) -> [UInt8] {
        let count = Int.random(in: 1...20, using: &random)
        let last = UInt8.random(in: 0...255, using: &random)
        return [UInt8](repeating: UInt8(ascii: "n"), count: count - 1) + [last]
    }

    @Test func `the empty name has number 0 and is never dropped`() {
        var table = NameTable()
        #expect(table.number(of: []) == 0)
        table.noteUnused(named: true)
        table.dropIdle()
        #expect(table.known([]) == 0)
        #expect(table.count == 0)
    }

    @Test func `a dropped name is gone from memory, and its number is given again`() {
        var table = NameTable()
        let numbers = (0..<600).map { table.number(of: Array("c-\($0)".utf8)) }
        for number in numbers { table.use(number) }
        table.leave(300)
        #expect(table.known(Array("c-299".utf8)) == 300)
        table.dropIdle()
        #expect(table.names.map { $0 }.firstIndex(of: Array("c-299".utf8)) == nil)
        #expect(table.known(Array("c-299".utf8)) == nil)
        #expect(table.known(Array("c-300".utf8)) == 301)
        #expect(table.number(of: Array("a much longer one".utf8)) == 300)
        #expect(table[299] == Array("c-298".utf8))
        #expect(table[301] == Array("c-300".utf8))
    }

    @Test func `a page that is full keeps no room for more`() {
        var table = NameTable()
        for number in 0..<2560 { _ = table.number(of: Array("c-0000\(1000 + number)".utf8)) }
        // An allocation has some bytes more than were asked for; the last page is not full.
        #expect(table.names.room < 2560 * 10 + 11 * 32 + 64)
    }

    @Test func `beyond its limit everything has number 0`() {
        for var table in [NameTable(countMax: 2), NameTable(numbersMax: 3)] {
            #expect(table.number(of: [1]) == 1)
            #expect(table.number(of: [2]) == 2)
            #expect(table.number(of: [3]) == 0)
            #expect(table.known([3]) == nil)
            table.use(1)
            table.leave(1)
            table.dropIdle()
            #expect(table.number(of: [3]) == 1)
        }
    }

    @Test(arguments: UInt64(1)...4)
    func `bytes are compared eight at a time as one by one`(seed: UInt64) {
        var random = Seeded(seed: seed)
        for _ in 0..<5000 {
            let (a, b) = (Self.bytes(&random), Self.bytes(&random))
            let precedes = a.span.bytes.precedes(b.span.bytes)
            #expect(precedes == a.lexicographicallyPrecedes(b))
            let isSame = a.span.bytes.isSame(as: b.span.bytes)
            #expect(isSame == (a == b))
        }
    }

    /// Two different bytes, the larger one above 127: an order by sign would show.
    private static func bytes(_ random: inout Seeded) -> [UInt8] {
        let count = Int.random(in: 0...20, using: &random)
        return (0..<count).map { _ in
            Int.random(in: 0..<12, using: &random) == 0 ? 200 : 100
        }
    }
}
