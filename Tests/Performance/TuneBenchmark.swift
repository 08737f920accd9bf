import Glibc
import RollcallBasis
import RollcallCore
import RollcallTools

/// How long `rollcall tune` takes for a day of a fleet, beside the parts it is made of.
struct TuneBenchmark {
    /// What was measured.
    struct Report {
        let machine: Machine
        let people: Int
        let lines: Int
        let bytes: Int
        let settings: Int
        /// Reading the lines, and nothing else.
        let reading: Nanoseconds
        /// Reading and folding them once.
        let replay: Nanoseconds
        /// All settings.
        let sweep: Nanoseconds
        /// Memory at the end, bytes.
        let resident: Int
        /// The share of the machine that others used meanwhile.
        var othersShare = 0.0
    }

    let people: Int
    let minutes: Int
    let folder: String

    /// A day of 10 000 people; `isShort` only proves that everything runs.
    init(isShort: Bool, folder: String) {
        people = isShort ? 500 : 10_000
        minutes = isShort ? 30 : 1440
        self.folder = folder
    }

    /// Measures.
    func run() throws(BenchmarkError) -> Report {
        let before = MachineTime()
        let machine = Machine(storage: folder)
        let path = "\(folder)/day.ndjson"
        var day = TuneDay(people: people, minutes: minutes)
        let bytes = try day.write(to: path)
        defer { unlink(path) }
        tell("\(grouped(Double(day.lines))) lines, \(megabytes(bytes)) MB")
        let reading = try measure { () throws(BenchmarkError) in try Self.read(path) { _ in } }
        tell("read in \(decimal(reading.seconds, 1)) s")
        var run = ReplayRun(policy: Policy())
        let replay = try measure { () throws(BenchmarkError) in
            try Self.read(path) { run.take($0) { _, _ in } }
        }
        tell("folded once in \(decimal(replay.seconds, 1)) s")
        var settings = 0
        let sweep = try measure { () throws(BenchmarkError) in
            do throws(TuneError) {
                let result = try TuneJob(.init(path: path)).run()
                settings = result.sweep.candidates.count
                let folded = result.outcomes[0].counts.all.offline
                if folded == 0, minutes > 60 { throw TuneError.usage("nobody fell silent") }
            } catch {
                throw .answer("\(error)")
            }
        }
        var report = Report(
            machine: machine, people: people, lines: day.lines, bytes: bytes, settings: settings,
            reading: reading, replay: replay, sweep: sweep, resident: residentBytes)
        report.othersShare = MachineTime().shareOfOthers(since: before)
        return report
    }

    private func measure(
        _ body: () throws(BenchmarkError) -> Void
    ) throws(BenchmarkError) -> Nanoseconds {
        let start = Nanoseconds.now()
        try body()
        return Nanoseconds.now() - start
    }

    private static func read(
        _ path: String, _ take: (ReplayStep) -> Void
    ) throws(BenchmarkError) {
        var input: ReplayInput
        do throws(InputFileError) { input = try ReplayInput(path: path) } catch {
            throw .answer("\(error)")
        }
        var reader = ReplayReader()
        while true {
            do {
                guard let line = try input.next() else { return }
                if let step = try reader.read(line) { take(step) }
            } catch {
                throw .answer("\(error)")
            }
        }
    }

    /// The most memory that this process ever had.
    private var residentBytes: Int {
        var usage = rusage()
        getrusage(RUSAGE_SELF.rawValue, &usage)
        return Int(usage.ru_maxrss) * 1024
    }
}

extension TuneBenchmark.Report {
    private var isWhole: Bool { people >= 10_000 }
    /// The promise: a day of 10 000 people in under two minutes.
    private var isKept: Bool { sweep.seconds < 120 }

    /// For people.
    var table: String {
        func row(_ name: String, _ span: Nanoseconds) -> [String] {
            [
                name, decimal(span.seconds, 1), decimal(span.microseconds / Double(self.lines), 2),
                reading.count > 0 ? decimal(span.seconds / reading.seconds, 1) : "–",
                decimal(span.seconds / replay.seconds, 1),
            ]
        }
        let rows = [
            ["", "seconds", "µs a line", "× reading", "× one setting"],
            row("reading only", reading), row("one setting", replay),
            row("\(settings) settings", sweep),
        ]
        var lines = machine.lines(othersShare: othersShare)
        lines.append(
            "\(grouped(Double(people))) people, \(grouped(Double(self.lines))) lines, "
                + "\(megabytes(bytes)) MB; most memory \(megabytes(resident)) MB")
        lines += [""] + aligned(rows, leading: 1)
        if isWhole {
            lines += [
                "",
                "a day of 10 000 people, \(settings) settings < 2 min: "
                    + "\(decimal(sweep.seconds, 0)) s: \(isKept ? "kept" : "NOT kept")",
            ]
        }
        return lines.joined(separator: "\n")
    }

    /// For machines.
    var json: JSONText {
        .object([
            ("machine", machine.json(othersShare: othersShare)),
            ("people", .number(Double(people))), ("lines", .number(Double(lines))),
            ("bytes", .number(Double(bytes))), ("settings", .number(Double(settings))),
            ("reading_s", .number(reading.seconds)), ("one_setting_s", .number(replay.seconds)),
            ("all_settings_s", .number(sweep.seconds)),
            ("resident_bytes", .number(Double(resident))),
        ])
    }
}
