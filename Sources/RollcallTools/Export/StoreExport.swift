import RollcallCore
import RollcallStore

/// A store's history as the lines of a replay. Source: V7.
///
///     (checkpoint ─► state) ─► turn by turn: its events, then what it decided ─► end
///
/// It ends with the turn that was the last when it was opened. Without its `end` it is not whole.
struct StoreExport {
    /// Bytes handed over at a time, with those of one event or turn more.
    private static let chunkBytes = 1 << 20

    private enum Stage {
        case state(Engine, turn: Int64)
        case turns
        case end
        case over
    }

    private let reader: ExportReader
    private var stage: Stage
    /// The first and the last turn.
    let span: (first: Int64, last: Int64)
    private var names = PeopleNames()
    private var replay = JournalReplay()
    /// The wall minus running time.
    private var offset = Milliseconds(0)
    private var lastWall = Timestamp.distantPast
    private var turns: [Turn] = []
    private var turnsTaken = 0
    private var done: Int64
    private var rows = ExportRows()
    private var nextRow: Int64 = 1
    private var lastRow: Int64 = 0
    private var decisions: [StoredDecision] = []
    private var decisionsTaken = 0
    private var nextDecision: Int64 = 1
    /// A word about where it begins, if that is not where it was asked to.
    private(set) var note: String?

    /// An export of the store at `path` from the newest kept checkpoint not after `since`, else from
    /// the oldest history that there is, to the last turn not after `until`.
    ///
    /// While somebody is being erased, what is to go is still there: nobody may write it down, and
    /// `mindsErasures` is false in simulations only, which know nobody.
    /// - Throws: `ExportError` if the store cannot be read, nothing so old is kept, or somebody is
    ///   being erased.
    init(
        path: String, since: Timestamp? = nil, until: Timestamp? = nil, mindsErasures: Bool = true
    ) throws(ExportError) {
        reader = try ExportReader(path: path, mindsErasures: mindsErasures)
        let newest = try reader.lastTurnNumber()
        guard newest > 0, let oldest = try reader.turn(notBefore: .min) else {
            throw .nothing(path: reader.path, "empty: nothing was ever stored")
        }
        var last = newest
        if let until {
            guard let turn = try reader.lastTurn(notAfter: until, upTo: newest) else {
                throw .nothing(path: reader.path, "nothing so old is kept")
            }
            last = turn.number
        }
        let base = try Self.base(reader, since: since, oldest: oldest, last: last)
        switch base {
        case .state(_, let turn): span = (turn + 1, last)
        default: span = (oldest.number, last)
        }
        stage = base
        done = span.first - 1
        nextDecision = try reader.firstDecision(afterTurn: done)
        lastRow = try reader.turn(notBefore: last)?.lastRow ?? 0
        nextRow = try reader.turn(notBefore: span.first)?.firstRow ?? lastRow + 1
        noteBegin(since, oldest)
    }

    /// The share of it that is read, from 0 to 1.
    var progress: Double {
        let whole = Double(max(1, span.last - span.first + 1))
        return min(1, Double(done - span.first + 1) / whole)
    }

    /// Turns in it.
    var turnCount: Int64 { max(0, span.last - span.first + 1) }
    /// Turns that are read.
    var turnsDone: Int64 { done - span.first + 1 }

    /// Returns the bytes of the store's file.
    /// - Throws: `ExportError` if the store cannot be read.
    func byteCount() throws(ExportError) -> Int64 { try reader.byteCount() }

    // MARK: - Where it begins

    private static func base(
        _ reader: ExportReader, since: Timestamp?, oldest: Turn, last: Int64
    ) throws(ExportError) -> Stage {
        let kept = try reader.checkpoints().filter {
            $0.turn <= last && $0.turn + 1 >= oldest.number
        }
        if let since {
            let before = kept.filter { $0.createdMilliseconds <= since.milliseconds }
            // One that is damaged is no end: the one before it brings more history, not less.
            for checkpoint in before.reversed() {
                if let engine = try reader.engine(of: checkpoint) {
                    return .state(engine, turn: checkpoint.turn)
                }
            }
        }
        if oldest.number == 1, try isUncut(reader, oldest) { return .turns }
        for checkpoint in kept {
            if let engine = try reader.engine(of: checkpoint) {
                return .state(engine, turn: checkpoint.turn)
            }
        }
        throw .damaged(
            path: reader.path,
            "no checkpoint can be read, and what came before turn \(oldest.number) is cut")
    }

    private static func isUncut(
        _ reader: ExportReader, _ turn: Turn
    ) throws(ExportError) -> Bool {
        do throws(ExportError) {
            try reader.checkUncut(turn: turn.number, row: turn.firstRow)
            return true
        } catch .cut {
            return false
        }
    }

    private mutating func noteBegin(_ since: Timestamp?, _ oldest: Turn) {
        guard case .state(let engine, let turn) = stage else { return }
        let wall = engine.clock.wallNow
        guard wall > since ?? .distantPast else { return }
        let begin = "begins at \(RFC3339.string(wall)), behind turn \(turn)"
        if turn + 1 > oldest.number {
            // A part of a day went for its size, and with it the checkpoint it could begin with.
            let first = RFC3339.string(Timestamp(milliseconds: oldest.wallMilliseconds))
            note = "\(begin): what is kept from before, since \(first), has no checkpoint any more"
        } else if since != nil {
            note = "\(begin): nothing older is kept"
        }
    }

    // MARK: - Lines

    /// Returns the next lines, whole; none at the end.
    /// - Throws: `ExportError` if the store cannot be read, or changed meanwhile: it was cut, or
    ///   somebody is being erased.
    mutating func chunk() throws(ExportError) -> [UInt8] {
        var output: [UInt8] = []
        while output.count < Self.chunkBytes {
            switch stage {
            case .state(let engine, let turn):
                begin(engine, turn, &output)
                stage = .turns
            case .turns:
                if let turn = try nextTurn() {
                    try append(turn, &output)
                } else {
                    stage = .end
                }
            case .end:
                try reader.checkErasures()
                EventLine.appendEnd(at: lastWall, to: &output)
                stage = .over
            case .over: return output
            }
        }
        return output
    }

    private mutating func begin(_ engine: Engine, _ turn: Int64, _ output: inout [UInt8]) {
        for number in 0..<engine.roster.count {
            names.note(engine.roster.id(number), of: number)
        }
        offset = engine.clock.wallOffset
        lastWall = engine.clock.wallNow
        StateLine.append(engine, turn: turn, to: &output)
    }

    private mutating func nextTurn() throws(ExportError) -> Turn? {
        if turnsTaken == turns.count {
            guard done < span.last else { return nil }
            turns = try reader.turns(after: done, through: span.last)
            turnsTaken = 0
            guard turns.first?.number == done + 1 else {
                throw .cut(path: reader.path, turn: done + 1)
            }
        }
        defer { turnsTaken += 1 }
        return turns[turnsTaken]
    }

    private mutating func append(_ turn: Turn, _ output: inout [UInt8]) throws(ExportError) {
        let now = RunningTime(milliseconds: turn.nowMilliseconds)
        while nextRow <= turn.lastRow {
            if rows.isEmpty {
                rows = try reader.rows(from: nextRow, through: lastRow)
                try reader.checkUncut(turn: turn.number, row: nextRow)
            }
            guard let id = rows.nextID, id == nextRow else {
                throw .damaged(path: reader.path, "there is no journal row \(nextRow)")
            }
            guard take() else {
                throw .damaged(path: reader.path, "journal row \(id) makes no sense")
            }
            nextRow = id + 1
            try append(replay.takeClosed(), now, &output)
        }
        try append(replay.finish(), now, &output)
        done = turn.number
        let decided = try decided(by: turn)
        lastWall = Timestamp(milliseconds: turn.nowMilliseconds &+ offset.count)
        // The last one tells that this is an export, whatever else there was.
        guard turn.lastRow < turn.firstRow || !decided.isEmpty || turn.number == span.last else {
            return
        }
        TurnLine(number: turn.number, engineVersion: turn.engineVersion, decided: decided)
            .append(at: lastWall, to: &output)
    }

    /// Takes the next row, and the name of whom it enrols; false if it makes no sense.
    private mutating func take() -> Bool {
        var name: (id: [UInt8], number: Int)?
        let isRead = rows.takeNext { row in
            let number = Int(truncatingIfNeeded: row.responder) - 1
            if number >= 0, !names.has(number) {
                var list = ItemList()
                list.bytes = Array(row.body)
                list.ends = [list.bytes.count]
                if let item = list.item(0) {
                    name = (Array(list.bytes[item.responderID.indices]), number)
                }
            }
            return replay.take(row)
        }
        if let name { names.note(name.id, of: name.number) }
        return isRead
    }

    private mutating func append(
        _ events: [(event: Event, row: Int64)], _ now: RunningTime, _ output: inout [UInt8]
    ) throws(ExportError) {
        for (event, row) in events {
            if case .clock(let step) = event { offset.count &+= step.count }
            let at = Timestamp(milliseconds: now.milliseconds &+ offset.count)
            guard EventLine.append(event, at: at, policy: PolicyTree.text, to: &output) else {
                throw .damaged(path: reader.path, "the event of row \(row) makes no sense")
            }
        }
    }

    /// Returns the lines of what a turn decided.
    /// - Throws: `ExportError` if they cannot be read, or were cut meanwhile.
    private mutating func decided(by turn: Turn) throws(ExportError) -> [[UInt8]] {
        var lines: [[UInt8]] = []
        while true {
            if decisionsTaken == decisions.count {
                let (found, next) = try reader.decisions(from: nextDecision)
                (decisions, decisionsTaken) = (found, 0)
                if found.isEmpty { return lines }
                nextDecision = next
                try reader.checkUncut(turn: turn.number, row: turn.lastRow)
            }
            let stored = decisions[decisionsTaken]
            guard stored.turn <= turn.number else { return lines }
            decisionsTaken += 1
            guard stored.turn == turn.number else { continue }
            var line: [UInt8] = []
            DecisionLine.append(stored.decision, id: { names[$0] }, to: &line)
            if !line.isEmpty { lines.append(line.dropLast()) }
        }
    }
}
