import CSQLite
import Glibc
import Testing

@testable import RollcallStore

/// SQLite's own system layer, whose writes and syncs return what a test wants.
enum FaultyDisk {
    nonisolated(unsafe) static var writesLeft = Int.max
    nonisolated(unsafe) static var sync = SQLITE_OK
    nonisolated(unsafe) private static let real =
        UnsafeMutablePointer<sqlite3_io_methods>.allocate(capacity: 1)
    nonisolated(unsafe) private static let layer =
        UnsafeMutablePointer<sqlite3_vfs>.allocate(capacity: 1)
    private static let registered: Int32 = register()

    /// Makes the layer known to SQLite and returns its name.
    static func install() -> String {
        #expect(registered == SQLITE_OK)
        return "faulty"
    }

    private static func register() -> Int32 {
        guard let system = sqlite3_vfs_find("unix") else { return SQLITE_ERROR }
        layer.initialize(to: system.pointee)
        layer.pointee.zName = UnsafePointer(strdup("faulty"))
        layer.pointee.xOpen = { layer, name, file, flags, flagsOut in
            let code = sqlite3_vfs_find("unix").pointee.xOpen(layer, name, file, flags, flagsOut)
            guard code == SQLITE_OK, let methods = file?.pointee.pMethods else { return code }
            file?.pointee.pMethods = FaultyDisk.faulty(methods.pointee)
            return code
        }
        return sqlite3_vfs_register(layer, 0)
    }

    /// A table per file, never freed: the database's has locks, the log's has none.
    private static func faulty(_ methods: sqlite3_io_methods) -> UnsafePointer<sqlite3_io_methods> {
        real.initialize(to: methods)
        let table = UnsafeMutablePointer<sqlite3_io_methods>.allocate(capacity: 1)
        table.initialize(to: methods)
        table.pointee.xWrite = { file, bytes, count, offset in
            guard FaultyDisk.writesLeft > 0 else { return SQLITE_FULL }
            FaultyDisk.writesLeft -= 1
            return FaultyDisk.real.pointee.xWrite(file, bytes, count, offset)
        }
        table.pointee.xSync = { file, flags in
            guard FaultyDisk.sync == SQLITE_OK else { return FaultyDisk.sync }
            return FaultyDisk.real.pointee.xSync(file, flags)
        }
        return UnsafePointer(table)
    }
}

func thrown<Result>(_ body: () throws -> Result) throws -> StoreError {
    try #require(throws: StoreError.self) { _ = try body() }
}

extension Turn {
    static func of(_ number: Int64, _ rows: ClosedRange<Int64>?) -> Turn {
        Turn(
            number: number, nowMilliseconds: number, wallMilliseconds: number,
            firstRow: rows?.lowerBound ?? 1, lastRow: rows?.upperBound ?? 0, engineVersion: 8)
    }
}

extension Journal {
    func append(
        id: Int64, kind: UInt8 = 1, responder: Int64 = 0, previous: Int64 = 0, text: String
    ) throws {
        try Array(text.utf8).withUnsafeBytes {
            try append(id: id, kind: kind, responder: responder, previous: previous, body: $0)
        }
    }

    func decide(
        id: Int64, turn: Int64, responder: Int64, previous: Int64, at: Int64, text: String
    ) throws {
        try Array(text.utf8).withUnsafeBytes {
            try appendDecision(
                id: id, turn: turn, kind: 1, responder: responder, previous: previous,
                atMilliseconds: at, body: $0)
        }
    }

    func turn(_ number: Int64, rows: [(id: Int64, text: String)]) throws {
        try begin()
        for row in rows { try append(id: row.id, text: row.text) }
        let range = rows.first.map { $0.id...(rows.last?.id ?? $0.id) }
        try write(turn: .of(number, range))
        try commit()
    }

    func slice(of turn: Int64, _ index: Int64, _ text: String) throws {
        try Array(text.utf8).withUnsafeBytes {
            try appendSlice(turn: turn, index: index, body: $0)
        }
    }

    func checkpoint(_ turn: Int64, wall: Int64, slices: [String]) throws {
        try begin()
        try beginCheckpoint(turn: turn, engineVersion: 8, wallMilliseconds: wall)
        for (index, text) in slices.enumerated() { try slice(of: turn, Int64(index), text) }
        try completeCheckpoint(turn: turn, slices: Int64(slices.count))
        try commit()
    }

    @discardableResult
    func slices(of checkpoint: EngineCheckpoint) throws -> [String] {
        var texts: [String] = []
        try readSlices(of: checkpoint) { texts.append(String(decoding: $0, as: UTF8.self)) }
        return texts
    }

    func tail(after turn: Int64) throws -> [String] {
        var lines: [String] = []
        try replayTail(
            afterTurn: turn,
            row: { row in
                let text = String(decoding: row.body, as: UTF8.self)
                lines.append("\(row.id)/\(row.kind)/\(row.responder)/\(row.previous) \(text)")
            },
            turn: { lines.append("turn \($0.number)") })
        return lines
    }

    func decisionsAfter(turn: Int64) throws -> [String] {
        var lines: [String] = []
        try replayDecisions(afterTurn: turn) { row, _ in
            let text = String(decoding: row.body, as: UTF8.self)
            let numbers = "\(row.responder)/\(row.previous)/\(row.atMilliseconds)"
            lines.append("\(row.id)@\(row.turn)/\(numbers) \(text)")
        }
        return lines
    }
}

extension JournalReader {
    @discardableResult
    func rows(from id: Int64, limit: Int) throws -> ([String], Int64) {
        var texts: [String] = []
        let next = try walk(from: id, of: 0, limit: limit) {
            texts.append(String(decoding: $0.body, as: UTF8.self))
        }
        return (texts, next)
    }
}
