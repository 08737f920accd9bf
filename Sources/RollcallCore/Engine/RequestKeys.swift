/// The name that a client gave its request, so that sending it again does nothing again: hashes of
/// the name and of what was asked for, nothing else. Source: S19.
package struct RequestKey: Equatable, Sendable {
    /// A `Kind` says who asks under such names; each kind has room of its own.
    package enum Kind: UInt8, CaseIterable, Sendable {
        /// Those who act: silences, takes, drills, asks.
        case action = 0
        /// Those who report: wakes, transitions. There may be many a second.
        case report = 1

        /// Names of this kind that are kept at most; the oldest goes for one more.
        package var countMax: Int { self == .action ? 4096 : 16_384 }
    }

    /// A hash of who asks and of the name.
    package struct Name: Hashable, Sendable {
        package var high: UInt64
        package var low: UInt64

        /// The name with these halves of a hash.
        package init(high: UInt64, low: UInt64) {
            self.high = high
            self.low = low
        }
    }

    package var name: Name
    /// A hash of what is asked for.
    package var request: UInt64
    package var kind: Kind

    /// The name of a request.
    package init(name: Name, request: UInt64, kind: Kind) {
        self.name = name
        self.request = request
        self.kind = kind
    }
}

/// A request that was done under a name, and what came of it: what the journal keeps. Source: S19.
package struct DoneRequest: Equatable, Sendable {
    /// Numbers of a result at most.
    package static let resultMax = 16

    package var key: RequestKey
    /// The numbers that its answer is made of, in an order that whoever asks knows.
    package var result: [Int64]

    /// A request that came to `result`.
    package init(_ key: RequestKey, result: [Int64]) {
        self.key = key
        self.result = result
    }

    /// The request as the journal keeps it.
    package var journalBytes: [UInt8] {
        var copy = self
        return Archive.bytes { copy.code(&$0) }
    }

    /// The request that `journalBytes` were made of; nil if they are damaged.
    package init?(journalBytes: [UInt8]) {
        self = .empty
        guard Archive.reads(part: journalBytes, { code(&$0) }), result.count <= Self.resultMax
        else {
            return nil
        }
    }

    fileprivate static let empty = DoneRequest(
        RequestKey(name: RequestKey.Name(high: 0, low: 0), request: 0, kind: .action), result: [])

    fileprivate mutating func code(_ archive: inout Archive) {
        archive.code(&key.name.high)
        archive.code(&key.name.low)
        archive.code(&key.request)
        archive.code(&key.kind)
        archive.code(&result)
    }
}

/// The answer to a request under a name.
package enum KeyedAnswer: Equatable, Sendable {
    /// Nothing was done under the name: it is to be done.
    case new
    /// This very request was done, and came to this.
    case repeated([Int64])
    /// Something else was done under the name.
    case otherRequest
}

/// The names of requests that were done of late. Source: S19.
///
/// They are kept for 24 h of running time, which goes on while we are blind or down, and which no
/// step of the wall moves. Of too many the oldest goes: whoever sends again does it within minutes.
package struct RequestKeys: Sendable {
    /// A name is kept for so long after its request was done.
    package static let keptFor = Milliseconds.seconds(24 * 3600)

    /// An `Entry` holds what is kept of one request.
    private struct Entry: Equatable, Sendable {
        var done: DoneRequest
        var at: RunningTime
    }

    /// The names of one kind, the oldest first.
    private struct Shelf: Sendable {
        var entries: [Entry] = []
        /// The place of the oldest that counts: those before it have gone.
        var first = 0
        /// Entries that were ever removed from the front of `entries`.
        var removed = 0
        /// The places of names, counted with what was removed.
        var places: [RequestKey.Name: Int] = [:]

        var count: Int { entries.count - first }

        mutating func removeFirst() {
            places[entries[first].done.key.name] = nil
            entries[first].done.result = []
            first += 1
            // What has gone is given back once it is the greater part.
            guard first > 64, first * 2 > entries.count else { return }
            entries.removeFirst(first)
            removed += first
            first = 0
        }

        mutating func append(_ entry: Entry) {
            places[entry.done.key.name] = removed + entries.count
            entries.append(entry)
        }

        func entry(_ name: RequestKey.Name) -> Entry? {
            places[name].map { entries[$0 - removed] }
        }
    }

    private var shelves = [Shelf](repeating: Shelf(), count: RequestKey.Kind.allCases.count)

    /// No names.
    package init() {}

    /// True if none is kept.
    package var isEmpty: Bool { shelves.allSatisfy { $0.count == 0 } }

    /// Names of a kind that are kept.
    package func count(_ kind: RequestKey.Kind) -> Int { shelves[Int(kind.rawValue)].count }

    /// Returns what is to become of a request that arrives at `now`.
    package func answer(to key: RequestKey, at now: RunningTime) -> KeyedAnswer {
        guard let entry = shelves.lazy.compactMap({ $0.entry(key.name) }).first,
            now - entry.at < Self.keptFor
        else { return .new }
        let isSame = entry.done.key == key
        return isSame ? .repeated(entry.done.result) : .otherRequest
    }

    /// Keeps a name whose request was done at `now`; returns how many had to go before their time.
    mutating func keep(_ done: DoneRequest, at now: RunningTime) -> Int {
        for place in shelves.indices {
            while shelves[place].count > 0,
                now - shelves[place].entries[shelves[place].first].at >= Self.keptFor
            {
                shelves[place].removeFirst()
            }
        }
        // The state writer asked before; of a damaged journal the first one counts.
        guard answer(to: done.key, at: now) == .new else { return 0 }
        let place = Int(done.key.kind.rawValue)
        let isFull = shelves[place].count >= done.key.kind.countMax
        if isFull { shelves[place].removeFirst() }
        shelves[place].append(Entry(done: done, at: now))
        return isFull ? 1 : 0
    }

    mutating func code(_ archive: inout Archive) {
        for kind in RequestKey.Kind.allCases {
            let place = Int(kind.rawValue)
            var entries = Array(shelves[place].entries.dropFirst(shelves[place].first))
            let empty = Entry(done: .empty, at: .distantPast)
            archive.code(&entries, empty: empty) { archive, entry in
                entry.done.code(&archive)
                archive.code(&entry.at)
                if entry.done.result.count > DoneRequest.resultMax { archive.refuse() }
            }
            guard archive.isReading else { continue }
            shelves[place] = Shelf()
            for entry in entries.suffix(kind.countMax) { shelves[place].append(entry) }
            if shelves[place].places.count != shelves[place].count { archive.refuse() }
        }
    }
}

extension Receipt {
    /// Returns the numbers that a repeat of `event` is answered by. Source: S19.
    package func result(of event: Event) -> [Int64] {
        switch event {
        case .silence: return [silence ?? 0]
        case .take: return [taken ?? 0]
        case .drill: return [drill ?? 0]
        case .ask: return [ask?.push ?? 0, ask?.result == .dryRun ? 1 : 0]
        case .wake:
            let reasons = WakeReason.allCases.map { reason in wakes.count { $0.reason == reason } }
            return ([wakes.count { $0.reason == nil }, wakesBeyond] + reasons).map { Int64($0) }
        default: return []
        }
    }
}

extension Event {
    /// The source that a write is a sign of life of; nil if it is none's.
    package var source: [UInt8]? {
        switch self {
        case .items(_, let source), .roster(_, let source, _), .erase(_, let source),
            .heartbeat(let source, _), .skew(let source, _), .wake(_, let source):
            source
        case .ask(let call, let source): call.isOperators ? nil : source
        default: nil
        }
    }
}

extension Engine {
    /// Returns what is to become of a request under a name that arrives at `instant`. Source: S19.
    package func answer(to key: RequestKey, at instant: RunningTime) -> KeyedAnswer {
        requestKeys.answer(to: key, at: instant)
    }
}
