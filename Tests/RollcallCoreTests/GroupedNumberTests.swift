import Testing

@testable import RollcallCore

/// Numbers as people read them. Source: V14.
@Suite struct GroupedNumberTests {
    @Test(
        arguments: [
            (0, "0"), (7, "7"), (999, "999"), (1000, "1,000"), (12_345, "12,345"),
            (100_000, "100,000"),
            (1_234_567, "1,234,567"), (-999, "-999"), (-1000, "-1,000"),
            (.max, "9,223,372,036,854,775,807"), (.min, "-9,223,372,036,854,775,808"),
        ] as [(Int64, String)])
    func `V14: a number is read in groups of three digits`(number: Int64, text: String) {
        #expect(number.grouped == text)
    }
}
