import Testing

@testable import Rollcall
@testable import RollcallBasis
@testable import RollcallCore
@testable import RollcallStore
@testable import RollcallTools

/// Rows that change in part carry checksums, and what is not over is counted: damage in what a start
/// decides by puts the store aside, damage in what is told is said when it is to be told (D-08).
@Suite struct RowChecksumTests {
    /// A store in which each table has rows, closed.
    private struct Original {
        private let files: [String: [UInt8]]

        init(isLarge: Bool = false) throws {
            let directory = TemporaryDirectory()
            let story = try ExportStory(path: directory.store)
            try story.tell()
            try story.tellRest(isErasing: true)
            try story.close()
            if isLarge { try StoreSurgery.enlarge(directory.store) }
            files = ["rollcall.db": directory.bytes("rollcall.db")]
        }

        func copy() -> TemporaryDirectory {
            let directory = TemporaryDirectory()
            for (name, bytes) in files { directory.write(name, bytes) }
            return directory
        }
    }

    /// A flip, by hand.
    private struct Plant {
        let table: String
        let column: String
        let rows: String
        /// One that makes no two rows the same.
        let bit: Int

        var words: String { "\(table).\(column) where \(rows)" }
        var sql: String { StoreSurgery.flip(column, of: table, where: rows, bit: bit) }
    }

    private static let decides = [
        ("meta", "1"), ("meta", "key = 'push_claims'"), ("checkpoints", "1"), ("erasures", "1"),
        ("outbox", "notice = 1002"),
        ("outbox", "notice = 1003"), ("pushes", "number = 9002"), ("pushes", "number = 9003"),
    ]

    private func plants(_ tables: [(String, String)], _ path: String) throws -> [Plant] {
        try tables.flatMap { table, rows in
            try [(false, 1), (true, 1 << 5)].flatMap { isKey, bit in
                try StoreSurgery.columns(path, of: table, isKey: isKey).map {
                    Plant(table: table, column: $0, rows: rows, bit: bit)
                }
            }
        }
    }

    /// What a start that looks at a store says was lost; nil if nothing.
    private func loss(_ directory: TemporaryDirectory) throws -> StateLoss? {
        let opening = try StoreOpening(path: directory.store)
        defer { try? opening.store.journal.close() }
        return opening.loss
    }

    // MARK: - What decides

    @Test func `a flip in any column that a start decides by puts the store aside`() throws {
        let original = try Original()
        let whole = original.copy()
        #expect(try loss(whole) == nil)
        let plants = try plants(Self.decides, whole.store)
        #expect(plants.count > 60)
        for plant in plants {
            let directory = original.copy()
            try StoreSurgery.run(directory.store, plant.sql)
            let loss = try loss(directory)
            #expect(loss?.cause == .damaged, "\(plant.words)")
            #expect(loss?.kept.isEmpty == false, "\(plant.words)")
        }
    }

    /// The control: most of it makes sense, and would be decided by.
    @Test func `without checksums most of that is silent`() throws {
        let original = try Original()
        let whole = original.copy()
        let plants = try plants(Self.decides, whole.store)
        var silent: [String] = []
        for plant in plants where plant.column != "checksum" {
            let directory = original.copy()
            try StoreSurgery.run(directory.store, "UPDATE \(plant.table) SET checksum = NULL")
            try StoreSurgery.run(directory.store, plant.sql)
            if try loss(directory) == nil { silent.append("\(plant.table).\(plant.column)") }
        }
        #expect(
            Set(silent).isSuperset(of: [
                "meta.value", "checkpoints.created_ms", "erasures.finished_ms", "outbox.attempts",
                "outbox.next_ms", "pushes.until_ms", "pushes.responder", "pushes.kind",
            ]))
    }

    /// What a start reads is found by these.
    private static let indexes = [
        (index: "outbox_alive", table: "outbox", row: "notice = 1003", over: 4, alive: 0),
        (index: "pushes_alive", table: "pushes", row: "number = 9003", over: 3, alive: 0),
    ]

    @Test(arguments: [false, true])
    func `what waits is not lost to a state that is damaged, nor to its index`(
        isLarge: Bool
    ) throws {
        let original = try Original(isLarge: isLarge)
        #expect(try loss(original.copy()) == nil)
        for (index, table, row, over, alive) in Self.indexes {
            let end = "UPDATE \(table) SET state = \(over) WHERE \(row)"
            let back = "UPDATE \(table) SET state = \(alive) WHERE \(row)"
            // Both say that it is over.
            var directory = original.copy()
            try StoreSurgery.run(directory.store, end)
            #expect(try loss(directory)?.cause == .damaged, "\(table)")
            // The table says so.
            directory = original.copy()
            try StoreSurgery.run(directory.store, hiding: index, end)
            #expect(try loss(directory)?.cause == .damaged, "\(table)")
            // The index does.
            directory = original.copy()
            try StoreSurgery.run(directory.store, end)
            try StoreSurgery.run(directory.store, hiding: index, back)
            #expect(
                try StoreSurgery.run(
                    directory.store, "SELECT state FROM \(table) NOT INDEXED WHERE \(row)")
                    == ["\(alive)"])
            #expect(try loss(directory)?.cause == .damaged, "\(index)")
        }
    }

    /// A page that counts one row less has room that SQLite does not mind.
    @Test func `a row that its page hides is missed, however large the store`() throws {
        let original = try Original(isLarge: true)
        let names = [
            "meta", "checkpoints", "erasures", "outbox_alive", "pushes_alive",
        ]
        for name in names {
            let directory = original.copy()
            let root = try StoreSurgery.run(
                directory.store, "SELECT rootpage FROM sqlite_schema WHERE name = '\(name)'")
            let page = try #require(root.first.flatMap { Int($0) })
            try StoreSurgery.run(directory.store, "PRAGMA wal_checkpoint(TRUNCATE)")
            var bytes = directory.bytes("rollcall.db")
            // "The two-byte integer at offset 3 gives the number of cells on the page."
            let place = (page - 1) * 4096 + 4
            try #require(bytes[place] > 0)
            bytes[place] -= 1
            directory.write("rollcall.db", bytes)
            #expect(try loss(directory)?.cause == .damaged, "\(name)")
        }
    }

    @Test func `an update does not make a row whole that was damaged`() throws {
        let directory = try Original().copy()
        var journal = try Journal(path: directory.store)
        var messages = OutboxChanges()
        messages.changed = try journal.messages()
        var pushes = PushChanges()
        pushes.changed = try journal.pushes()
        try journal.close()
        for isDamaged in [false, true] {
            if isDamaged {
                try StoreSurgery.run(directory.store, "UPDATE outbox SET since_ms = since_ms + 1")
                try StoreSurgery.run(directory.store, "UPDATE pushes SET since_ms = since_ms + 1")
            }
            journal = try Journal(path: directory.store)
            try journal.begin()
            try journal.write(messages)
            try journal.write(pushes)
            try journal.commit()
            if isDamaged {
                #expect(try thrown { try journal.messages() }.disposition == .fatal(.corrupt))
                #expect(try thrown { try journal.pushes() }.disposition == .fatal(.corrupt))
            } else {
                #expect(try journal.messages() == messages.changed)
                #expect(try journal.pushes() == pushes.changed)
            }
            try journal.close()
        }
    }

    // MARK: - What is not over

    @Test func `what is not over is counted with the transaction, and not without it`() throws {
        let directory = try Original().copy()
        let journal = try Journal(path: directory.store)
        let before = AliveCounts(messages: 2, pushes: 2)
        #expect(try journal.storedAlive() == before)
        var box = PushBox(store: 1, messages: try journal.pushes())
        _ = box.settle(
            now: RunningTime(milliseconds: .max / 2), wall: Timestamp(milliseconds: 1))
        let changes = box.takeChanges()
        #expect(changes.changed.allSatisfy { $0.row.state == .over })
        let over = Int64(changes.changed.count)
        #expect(over > 0)
        for isKept in [false, true] {
            try journal.begin()
            try journal.write(changes)
            #expect(journal.alive.pushes == 2 - over)
            if isKept { try journal.commit() } else { try journal.rollback() }
            #expect(journal.alive == (isKept ? AliveCounts(messages: 2, pushes: 2 - over) : before))
        }
        // What is over does not end twice.
        try journal.begin()
        try journal.write(changes)
        try journal.commit()
        #expect(try journal.storedAlive().pushes == 2 - over)
        #expect(try journal.pushes().count == 2 - Int(over))
        try journal.close()
    }

    @Test func `pushes that wait are not missed once their person is erased`() throws {
        let directory = try Original().copy()
        let journal = try Journal(path: directory.store)
        for message in try journal.pushes() {
            try journal.begin()
            #expect(
                try !journal.removePushes(of: Int64(message.person + 1), limit: 10))
            try journal.commit()
        }
        #expect(try journal.storedAlive() == AliveCounts(messages: 2, pushes: 0))
        try journal.close()
        #expect(try loss(directory) == nil)
    }

    // MARK: - What is told

    private static let told = [
        ("attempts", "1"), ("gaps", "1"), ("dark", "1"), ("samples", "1"), ("region_samples", "1"),
        ("sampled_regions", "1"),
        ("outbox", "notice = 1001"), ("pushes", "number = 9001"),
    ]

    @Test func `a flip in what is only told is said when it is to be told, and is in no backup`()
        throws
    {
        let original = try Original()
        let whole = original.copy()
        #expect(try tell(whole) > 20)
        // A push that is over and waits again is decided by.
        for plant in try plants(Self.told, whole.store) where plant.words != Self.revived {
            let directory = original.copy()
            try StoreSurgery.run(directory.store, plant.sql)
            let opening = try StoreOpening(path: directory.store)
            #expect(opening.loss == nil, "\(plant.words)")
            try opening.store.journal.close()
            // Nobody looks for an attempt at another notice's place.
            if plant.table != "attempts" || plant.column != "notice" {
                let error = try thrown { try tell(directory) }
                #expect(error.disposition == .fatal(.corrupt), "\(plant.words)")
                #expect(error.finding.contains("not as it was written"), "\(plant.words)")
            }
            #expect(throws: BackupError.self, "\(plant.words)") {
                try BackupCheck.run(directory.store, of: "it")
            }
        }
        #expect(try BackupCheck.run(whole.store, of: "it").number > 100)
    }

    private static let revived = "pushes.state where number = 9001"

    /// Reads whatever history tells of these tables; how many rows that was.
    private func tell(_ directory: TemporaryDirectory) throws -> Int {
        let reader = try HistoryReader(path: directory.store)
        var rows = 0
        var place = GapPlace(until: nil)
        _ = try reader.gaps(behind: &place, since: .min, openOnly: false) { _ in
            rows += 1
            return true
        }
        var number: Int64 = 0
        _ = try reader.scanGaps(after: &number) { _ in
            rows += 1
            return true
        }
        let days = try StoreSurgery.run(directory.store, "SELECT DISTINCT day FROM dark")
        for day in days.compactMap({ Int64($0) }) {
            var responder: Int64 = 0
            _ = try reader.dark(day: day, after: &responder) { _ in
                rows += 1
                return true
            }
        }
        try reader.samples.samples(
            since: Timestamp(milliseconds: 0), until: Timestamp(milliseconds: 1 << 50)
        ) { _ in
            rows += 1
            return true
        }
        rows += try reader.regions.regions(since: Timestamp(milliseconds: 0), limit: 1000).count
        try reader.regions.samples(
            since: Timestamp(milliseconds: 0), until: Timestamp(milliseconds: 1 << 50)
        ) { _ in
            rows += 1
            return true
        }
        for notice in try StoreSurgery.run(directory.store, "SELECT notice FROM outbox") {
            let deliveryStatus = try reader.notices.deliveryStatus(of: try #require(Int64(notice)))
            rows += deliveryStatus?.targets.first?.attempts.count ?? 0
        }
        for push in try StoreSurgery.run(directory.store, "SELECT number FROM pushes") {
            if try reader.pushes.deliveryStatus(of: try #require(Int64(push))) != nil { rows += 1 }
        }
        return rows
    }
}
