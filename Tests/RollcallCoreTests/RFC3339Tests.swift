import RollcallCore
import Testing

@Suite struct RFC3339Tests {
    private func parse(_ text: String) -> Int64? {
        let bytes = Array(text.utf8)
        return RFC3339.parse(bytes.span, 0..<bytes.count)?.milliseconds
    }

    @Test func `dates are read as the standard says`() {
        #expect(parse("1970-01-01T00:00:00Z") == 0)
        #expect(parse("2026-11-21T03:00:05.120Z") == 1_795_230_005_120)
        #expect(parse("2026-11-21t03:00:05.1209z") == 1_795_230_005_120)
        #expect(parse("2026-11-21 04:00:05.12+01:00") == 1_795_230_005_120)
        #expect(parse("2024-02-29T23:59:60Z") == parse("2024-03-01T00:00:00Z"))
    }

    @Test(arguments: [
        "", "2026-11-21", "2026-11-21T03:00:05", "2026-13-01T00:00:00Z", "2025-02-29T00:00:00Z",
        "2026-11-21T24:00:00Z", "2026-11-21T03:00:05.Z", "2026-11-21T03:00:05+0100",
        "2026-11-21T03:00:05Zx", "1969-12-31T23:59:59Z", "-026-11-21T03:00:05Z",
    ])
    func `what is no date is refused`(text: String) {
        #expect(parse(text) == nil)
    }

    @Test func `every day of four centuries is written as it is read`() {
        for day in stride(from: Int64(0), through: 146_097, by: 1) {
            let time = Timestamp(milliseconds: day * 86_400_000 + 3_723_004)
            #expect(parse(RFC3339.string(time)) == time.milliseconds)
        }
    }
}
