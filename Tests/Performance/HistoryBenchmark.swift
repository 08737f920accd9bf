import Glibc
import RollcallBasis
import RollcallCore
import RollcallStore
import RollcallSupport
import RollcallTools

/// What a batch takes on the disk and what its history costs to read, before it is packed and after:
/// people with 12-byte ids who report once a minute, as phones do, some seconds early or late, with
/// what a phone says about itself in each batch (Q8).
struct HistoryBenchmark {
    /// What was measured, of one way in which batches arrive.
    struct Result {
        /// Batches a turn.
        let batchesATurn: Int
        let batches: Int
        /// Bytes in use for history, by the batch: everything but checkpoints.
        var plainBytes = 0.0
        var packedBytes = 0.0
        /// Nanoseconds of packing, by the batch.
        var packing = 0.0
        /// The longest piece of packing with its commit, milliseconds.
        var longestPiece = 0.0
        /// Nanoseconds of a row in an export's reading, before and after.
        var plainReading = 0.0
        var packedReading = 0.0
        /// Nanoseconds of a row in a person's walk, before and after.
        var plainWalk = 0.0
        var packedWalk = 0.0
    }

    /// One run of few batches: proves that everything runs.
    let isShort: Bool
    let folder: String

    private static let began: Int64 = 1_795_230_000_000
    private var people: Int { isShort ? 300 : 10_000 }
    private var minutes: Int { isShort ? 20 : 60 }

    /// Measures batches that arrive alone, and some that arrive together.
    func run() throws(BenchmarkError) -> [Result] {
        var results: [Result] = []
        for batchesATurn in [1, 10, 167] {
            do throws(StoreError) {
                results.append(try measure(batchesATurn))
            } catch {
                throw .answer("\(error)")
            }
        }
        return results
    }

    private func measure(_ batchesATurn: Int) throws(StoreError) -> Result {
        let path = "\(folder)/history-\(batchesATurn).db"
        defer { for ending in ["", "-wal", "-shm", ".lock"] { unlink(path + ending) } }
        var result = Result(batchesATurn: batchesATurn, batches: people * minutes)
        let store = try StateStore(path: path)
        try store.journal.connection.run("PRAGMA synchronous = OFF")
        let before = try bytes(of: store)
        let engine = try fill(store, batchesATurn)
        let count = Double(result.batches)
        result.plainBytes = Double(try bytes(of: store) - before) / count
        result.plainReading = try reading(path, count)
        result.plainWalk = try walk(path, engine)
        var writer = PackingWriter(rowsMin: 1)
        writer.consider()
        let began = Nanoseconds.now()
        var longest = Nanoseconds(count: 0)
        while writer.isBusy {
            let piece = Nanoseconds.now()
            try store.write { () throws(StoreError) in
                _ = try writer.write(to: store.journal, cutThrough: 0)
            }
            longest = max(longest, Nanoseconds.now() - piece)
            if store.journal.logBytes > 8 << 20 { _ = try store.journal.checkpointWAL(.passive) }
        }
        result.packing = Double((Nanoseconds.now() - began).count) / count
        result.longestPiece = longest.microseconds / 1000
        result.packedBytes = Double(try bytes(of: store) - before) / count
        result.packedReading = try reading(path, count)
        result.packedWalk = try walk(path, engine)
        try store.journal.close()
        return result
    }

    // MARK: - The fleet

    /// Writes the history, and two checkpoints behind it.
    private func fill(_ store: StateStore, _ batchesATurn: Int) throws(StoreError) -> Engine {
        var engine = Engine()
        var random = Dice(seed: 7)
        var phones = (0..<people).map { Phone(number: $0, &random) }
        var turn: Int64 = 0
        var pending = PendingTurn()
        var waiting = 0
        func commit(at now: RunningTime) throws(StoreError) {
            engine.advance(to: now)
            pending.take(from: &engine)
            turn += 1
            pending.close(number: turn, engine)
            try store.commit([pending])
            pending = PendingTurn()
            waiting = 0
            if store.journal.logBytes > 8 << 20 { _ = try store.journal.checkpointWAL(.passive) }
        }
        var now = RunningTime(milliseconds: Self.began)
        for minute in 0..<minutes {
            // In the order in which they arrive.
            var arrivals = phones.indices.map { index in
                (at: phones[index].next(Self.began + Int64(minute) * 60_000, &random), index: index)
            }
            arrivals.sort { ($0.at, $0.index) < ($1.at, $1.index) }
            for arrival in arrivals {
                now = max(now, RunningTime(milliseconds: arrival.at))
                let body = phones[arrival.index].batch(arrival.at, &random)
                guard let scan = try? ItemScanner.scan(body.span, kind: .batch) else {
                    preconditionFailure("a batch can be read")
                }
                _ = pending.fold(
                    .items(scan.items, source: EventSource.standard), into: &engine, at: now)
                waiting += 1
                if waiting == batchesATurn { try commit(at: now) }
            }
        }
        try commit(at: now)
        let clock = ClockReading(elapsed: now.milliseconds, wall: engine.clock.wallNow)
        for _ in 0..<2 {
            var checkpoints = CheckpointWriter(last: nil)
            try checkpoints.writeWhole(turn: turn, engine, clock, to: store.journal)
            try commit(at: now + Milliseconds(5000))
        }
        return engine
    }

    /// A phone of a fleet.
    private struct Phone {
        let id: String
        /// When in a minute it reports.
        let phase: Int64
        var sequence: Int64
        var battery = 1.0
        var network = "cellular"
        var captured: Int64 = 0

        init(number: Int, _ random: inout Dice) {
            let digits = Array("0123456789abcdef")
            id = String((0..<12).map { _ in random.pick(digits) })
            phase = random.number(0...59_999)
            sequence = random.number(1...100_000)
        }

        /// When its next report of a minute arrives: the phone wakes some time early or late, and the
        /// network takes its time.
        mutating func next(_ minute: Int64, _ random: inout Dice) -> Int64 {
            captured = max(captured + 1, minute + phase + random.number(-1500...1500))
            return captured + random.number(150...2500)
        }

        mutating func batch(_ at: Int64, _ random: inout Dice) -> [UInt8] {
            sequence += 1
            if random.chance(200) { battery = battery < 0.1 ? 1 : battery - 0.01 }
            if random.chance(20) { network = network == "wifi" ? "cellular" : "wifi" }
            let level = Int((battery * 100).rounded())
            let state = random.chance(30) ? "foreground" : "background"
            return Array(
                """
                {"responder_id":"\(id)","received_at":\(at),"duty_state":"ON_DUTY",\
                "region":"region-\(id.first ?? "0")","install_id":"install-\(id)","platform":"ios",\
                "os_version":"17.1","app_version":"4.2.0",\
                "battery_level":\(level == 100 ? "1" : "0.\(level < 10 ? "0" : "")\(level)"),\
                "telemetry":{"permission_status":"granted","power_mode":"normal",\
                "app_state":"\(state)","queue_depth":0,"network_type":"\(network)"},\
                "updates":[{"sequence":\(sequence),"captured_at":\(captured)}]}
                """.utf8)
        }
    }

    // MARK: - What is measured

    /// The bytes that hold something, without checkpoints.
    private func bytes(of store: StateStore) throws(StoreError) -> Int64 {
        _ = try store.journal.checkpointWAL(.truncate)
        let slices = try store.journal.connection.integer(
            "SELECT ifnull(sum(length(body)), 0) FROM checkpoint_slices")
        return try store.journal.usedBytes() - slices
    }

    /// Nanoseconds of a row of all that an export reads.
    private func reading(_ path: String, _ count: Double) throws(StoreError) -> Double {
        let began = Nanoseconds.now()
        do throws(ExportError) {
            let reader = try ExportReader(path: path, mindsErasures: false)
            let last = try reader.lastTurnNumber()
            let lastRow = try reader.turn(notBefore: last)?.lastRow ?? 0
            var (turn, row) = (Int64(0), Int64(1))
            var rows = ExportRows()
            while turn < last {
                let turns = try reader.turns(after: turn, through: last)
                guard let end = turns.last else { break }
                turn = end.number
                while row <= end.lastRow {
                    if rows.isEmpty { rows = try reader.rows(from: row, through: lastRow) }
                    guard rows.nextID == row else { throw ExportError.nothing(path: path, "a row") }
                    row = rows.takeNext { $0.id } + 1
                }
            }
        } catch {
            throw .damaged("\(error)")
        }
        return Double((Nanoseconds.now() - began).count) / count
    }

    /// Nanoseconds of a row of walks through all that some people ever said.
    private func walk(_ path: String, _ engine: Engine) throws(StoreError) -> Double {
        let reader = try JournalReader(path: path)
        let began = Nanoseconds.now()
        var rows = 0
        for number in stride(from: 0, to: engine.roster.count, by: max(1, people / 50)) {
            var next = engine.roster[number].lastRow
            while next > 0 {
                next = try reader.walk(from: next, of: Int64(number + 1), limit: 100) { _ in
                    rows += 1
                }
            }
        }
        precondition(rows >= 50 * minutes, "everything is found")
        return Double((Nanoseconds.now() - began).count) / Double(rows)
    }
}

extension HistoryBenchmark {
    /// The promise: a batch once packed (Q8).
    private static let bytesMax = 25.0

    /// For people.
    static func table(_ results: [Result]) -> String {
        func row(_ name: String, _ digits: Int, _ value: (Result) -> Double) -> [String] {
            [name] + results.map { decimal(value($0), digits) }
        }
        let rows = [
            ["batches a turn"] + results.map { "\($0.batchesATurn)" },
            ["batches"] + results.map { grouped(Double($0.batches)) },
            row("bytes a batch", 1) { $0.plainBytes },
            row("  packed (at most 25)", 1) { $0.packedBytes },
            row("  ratio", 3) { $0.packedBytes / $0.plainBytes },
            row("packing, µs a batch", 2) { $0.packing / 1000 },
            row("  longest piece, ms", 1) { $0.longestPiece },
            row("export's reading, µs a row", 2) { $0.plainReading / 1000 },
            row("  packed, ratio", 2) { $0.packedReading / $0.plainReading },
            row("a person's walk, µs a row", 2) { $0.plainWalk / 1000 },
            row("  packed", 2) { $0.packedWalk / 1000 },
        ]
        let isKept = results.allSatisfy { $0.packedBytes <= bytesMax }
        let verdict = "at most 25 bytes a batch once packed: \(isKept ? "kept" : "NOT kept")"
        return (aligned(rows, leading: 1) + ["", verdict]).joined(separator: "\n")
    }

    /// One JSON document.
    static func json(_ results: [Result]) -> String {
        let rows = results.map { result in
            "{\"batches_a_turn\":\(result.batchesATurn),\"batches\":\(result.batches),"
                + "\"bytes\":\(decimal(result.plainBytes, 2)),"
                + "\"packed_bytes\":\(decimal(result.packedBytes, 2)),"
                + "\"packing_ns\":\(decimal(result.packing, 0)),"
                + "\"reading_ns\":\(decimal(result.plainReading, 0)),"
                + "\"packed_reading_ns\":\(decimal(result.packedReading, 0)),"
                + "\"walk_ns\":\(decimal(result.plainWalk, 0)),"
                + "\"packed_walk_ns\":\(decimal(result.packedWalk, 0))}"
        }
        return "{\"history\":[\(rows.joined(separator: ","))]}"
    }
}
