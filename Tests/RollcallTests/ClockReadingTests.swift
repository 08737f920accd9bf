import Glibc
import Testing

@testable import RollcallSupport

/// The machine's clocks are read at one instant (J1).
@Suite struct ClockReadingTests {
    /// A machine whose clocks stand still but for what is lost between two readings.
    private struct Machine {
        /// Nanoseconds since it was started.
        var elapsed: Int64
        /// The wall minus that, in nanoseconds.
        var offset: Int64
        /// Nanoseconds for which the thread has no processor behind a reading, by the reading's number.
        var losses: [Int: Int64] = [:]
        private(set) var readings = 0

        mutating func read(_ clock: clockid_t) -> Int64 {
            let time = clock == CLOCK_REALTIME ? elapsed + offset : elapsed
            elapsed += losses[readings] ?? 0
            readings += 1
            return time
        }
    }

    private static let elapsed: Int64 = 77_000_000_000_000
    private static let offset: Int64 = 1_795_230_000_000_000_000
    private static let lost: Int64 = 33_000_000

    /// Running time at a reading, as a process counts it that began with another one.
    private func running(_ reading: ClockReading, since origin: ClockReading) -> Int64 {
        origin.wall.milliseconds + reading.elapsed - origin.elapsed
    }

    @Test func `running time is the wall wherever a thread loses its processor while it reads`() {
        for place in 0..<4 {
            var machine = Machine(
                elapsed: Self.elapsed, offset: Self.offset, losses: [place: Self.lost])
            let origin = ClockReading(phase: 0) { machine.read($0) }
            let next = ClockReading(phase: 0) { machine.read($0) }
            #expect(running(next, since: origin) == next.wall.milliseconds, "\(place)")
            // A loss behind the last reading of a pair makes nobody try again.
            #expect(machine.readings == (place == 2 ? 6 : 9), "\(place)")
        }
    }

    @Test func `of readings that are all far apart the nearest counts`() {
        // Three readings a try; only what is lost within one matters.
        let lost: [Int64] = [9, 7, 8, 2, 6, 5, 4, 3]
        var machine = Machine(elapsed: Self.elapsed, offset: Self.offset)
        for (attempt, milliseconds) in lost.enumerated() {
            machine.losses[attempt * 3] = milliseconds * 1_000_000
        }
        let reading = ClockReading(phase: 0) { machine.read($0) }
        #expect(machine.readings == ClockReading.triesMax * 3)
        #expect(reading.wall.milliseconds - reading.elapsed == Self.offset / 1_000_000 + 2)
    }

    @Test func `running time never falls behind the wall by a part of a millisecond`() {
        for part in stride(from: Int64(0), to: 1_000_000, by: 90_909) {
            for offset in [Self.offset + part, part - 5_000_000_000] {
                var machine = Machine(elapsed: Self.elapsed + 123_456, offset: offset)
                let phase = ClockReading.phase { machine.read($0) }
                #expect((0..<1_000_000).contains(phase))
                let origin = ClockReading(phase: phase) { machine.read($0) }
                for _ in 0..<100 {
                    machine.elapsed += 77_777
                    let reading = ClockReading(phase: phase) { machine.read($0) }
                    #expect(running(reading, since: origin) == reading.wall.milliseconds)
                }
            }
        }
    }

    @Test func `the machine's clocks go on, and together`() {
        let first = ClockReading.now()
        let second = ClockReading.now()
        #expect(second.elapsed >= first.elapsed)
        #expect(second.wall.milliseconds > 1_700_000_000_000)
    }
}
