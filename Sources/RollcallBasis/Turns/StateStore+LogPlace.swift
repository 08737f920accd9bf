import RollcallCluster
import RollcallCore
import RollcallStore

/// The store of a member of a watch on several machines: with every turn it keeps where that stands
/// in the log (S11). A store that never was a member's holds nothing of it (S16).
extension StateStore {
    /// The key of `meta` under which the place stands. An older Rollcall does not look for it.
    private static let placeKey = "log_place"

    /// Returns the place of the last entry of the log that the store holds; the beginning if it holds
    /// none.
    /// - Throws: `StoreError` if it cannot be read, or makes no sense.
    package func logPlace() throws(StoreError) -> LogPlace {
        guard let bytes = try journal.bytes(forKey: Self.placeKey) else { return LogPlace() }
        guard let place = LogPlace(storedBytes: bytes) else {
            throw .damaged("meta \(Self.placeKey) makes no sense")
        }
        return place
    }

    /// Commits a turn that has landed at `place` of the log, and in the same transaction whatever
    /// `also` writes (S1).
    /// - Throws: `StoreError` if it cannot be written; then neither the turn nor the place is.
    package func commit(
        _ pending: PendingTurn, at place: LogPlace, also: () throws(StoreError) -> Void = {}
    ) throws(StoreError) {
        try commit([pending]) { () throws(StoreError) in
            try journal.set(place.storedBytes, forKey: Self.placeKey)
            try also()
        }
    }

    /// Makes an empty store one of the watch whose log begins at `place` (S7), and returns true;
    /// false if it holds turns of another watch, and stays as it is.
    /// - Throws: `StoreError` if it cannot be read or written.
    package mutating func join(watch: UInt64, at place: LogPlace) throws(StoreError) -> Bool {
        let isEmpty = try journal.lastTurn() == nil
        guard isEmpty || watch == number else { return false }
        try write { () throws(StoreError) in
            try journal.set(storeNumber: watch)
            try journal.set(place.storedBytes, forKey: Self.placeKey)
        }
        number = watch
        return true
    }

    /// The store is another watch's from now on, by the number that stands in it.
    package mutating func belong(to watch: UInt64) { number = watch }
}

extension LogPlace {
    private static let version: UInt64 = 1

    /// As a store keeps it.
    var storedBytes: [UInt8] {
        var bytes: [UInt8] = []
        for number in [
            Self.version, log, UInt64(position), hash, UInt64(reign), UInt64(revision),
        ] {
            Varint.append(number, to: &bytes)
        }
        return bytes
    }

    /// The place of bytes that a store keeps; nil if they make no sense, to the last one.
    init?(storedBytes bytes: [UInt8]) {
        var at = 0
        func number() -> UInt64? { Varint.read(bytes.span, &at, bytes.count) }
        func count() -> Int64? { number().flatMap { Int64(exactly: $0) } }
        guard number() == Self.version, let log = number(), let position = count(),
            let hash = number(), let reign = count(), let revision = count(), at == bytes.count
        else { return nil }
        self.init()
        self.log = log
        self.position = position
        self.hash = hash
        self.reign = reign
        self.revision = revision
    }
}
