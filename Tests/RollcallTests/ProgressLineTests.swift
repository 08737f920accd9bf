import Testing

@testable import RollcallCore
@testable import RollcallTools

@Suite struct ProgressLineTests {
    /// What was written, and the time, which the test moves.
    private final class Screen {
        var now = RunningTime(milliseconds: 1_000_000)
        var text = ""
        func after(_ milliseconds: Int64) { now.milliseconds += milliseconds }

        func line(total: Int64?, isTerminal: Bool, columns: Int = 80) -> ProgressLine {
            ProgressLine(
                total: total, unit: "batches", isTerminal: isTerminal, columns: columns,
                clock: { self.now }, write: { self.text += $0 })
        }
    }

    /// The codes that begin the line anew.
    private static let anew = "\r\u{1B}[K"

    @Test func `a terminal's line is drawn five times a second and taken away`() {
        let screen = Screen()
        var line = screen.line(total: 400, isTerminal: true)
        screen.after(199)
        line.update(done: 50)
        #expect(screen.text == "")
        screen.after(1)
        line.update(done: 100)
        screen.after(199)
        line.update(done: 120)
        screen.after(1601)
        line.update(done: 200, note: "2 settings")
        line.finish()
        #expect(
            screen.text == Self.anew + "25 %, 100 of 400 batches" + Self.anew
                + "50 %, 200 of 400 batches, 100 batches/s, 2s left, 2 settings" + Self.anew)
    }

    @Test func `elsewhere there is a line every ten seconds and one at the end`() {
        let screen = Screen()
        var line = screen.line(total: nil, isTerminal: false)
        screen.after(9_999)
        line.update(done: 10)
        #expect(screen.text == "")
        screen.after(1)
        line.update(done: 20_000_000)
        screen.after(1)
        line.update(done: 20_000_010)
        line.finish()
        line.finish()
        #expect(
            screen.text == """
                20.0 million batches, 2000000 batches/s
                20.0 million batches, 1999801 batches/s

                """)
    }

    @Test func `a short job says nothing`() {
        let screen = Screen()
        var line = screen.line(total: 3, isTerminal: false)
        line.update(done: 3)
        line.finish()
        #expect(screen.text == "")
    }

    @Test func `a narrow terminal gets what fits`() {
        let screen = Screen()
        var line = screen.line(total: 400, isTerminal: true, columns: 12)
        screen.after(200)
        line.update(done: 100)
        #expect(screen.text == Self.anew + "25 %, 100 …")
    }

    @Test func `bytes are shown in the units that people read`() {
        func text(_ done: Int64, _ total: Int64?, _ span: Int64) -> String {
            ProgressLine.text(
                done: done, total: total, unit: "bytes", note: "", after: Milliseconds(span))
        }
        #expect(
            text(1_250_000_000, 2_500_000_000, 5000) == "50 %, 1.2 of 2.5 GB, 250.0 MB/s, 5s left")
        #expect(text(1_250_000, nil, 500) == "1.2 MB")
        #expect(text(500, 0, 5000) == "0.5 kB, 0.1 kB/s")
        #expect(text(5_000_000, 2_500_000, 5000) == "100 %, 5.0 of 2.5 MB, 1.0 MB/s")
    }
}
