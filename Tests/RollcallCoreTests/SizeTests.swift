import Testing

@testable import RollcallCore

/// What there may be a million of, or what a mass of people makes at one instant. Source: Q4.
@Suite struct SizeTests {
    @Test func `a person takes 200 bytes`() {
        #expect(MemoryLayout<Responder>.stride == 200)
    }

    @Test func `a decision is copied as a few words, whatever it tells`() {
        #expect(MemoryLayout<Decision>.stride <= 40)
        #expect(MemoryLayout<NumberedDecision>.stride <= 56)
    }

    @Test func `whoever has a queue takes 64 bytes more, and no allocation of their own`() {
        #expect(MemoryLayout<SideTable<QueueDepths>.Page.Element>.stride == 64)
    }
}
