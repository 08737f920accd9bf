/// The two kinds of dark time. Source: C4.
package enum DarkKind: UInt8, CaseIterable, Sendable {
    /// Active, and the last contact older than the degraded threshold.
    case contact = 0
    /// Active, and covered by no location: none was captured within the degraded threshold before.
    case location = 1

    /// The word in labels and JSON.
    package var word: StaticString { self == .contact ? "contact" : "location" }
}

/// Dark time of one person on one day, to be added to the store's row of that day.
package struct DarkBooking: Equatable, Sendable {
    /// The person's number.
    package var number: Int
    /// Days since 1970-01-01, UTC, in which it lies.
    package var day: Int64
    package var kind: DarkKind
    package var length: Milliseconds
    /// The person's region when it was booked, as bytes.
    package var region: [UInt8]
    /// Their platform then.
    package var platform: Platform
}

/// The place of a region, or of all of them, and a platform in the tables of dark time.
struct DarkKey: Hashable, Comparable, Sendable {
    let raw: UInt64

    /// Of a region; nil for all.
    init(region: UInt32?, platform: Platform) {
        raw = UInt64(region ?? .max) << 2 | UInt64(platform.rawValue)
    }

    init(_ person: Responder) { self.init(region: person.region, platform: person.platform) }

    /// The key of the same platform in all regions.
    var ofAll: DarkKey { DarkKey(raw: UInt64(UInt32.max) << 2 | raw & 3) }

    private init(raw: UInt64) { self.raw = raw }

    /// The key of a place in a list.
    init(place: Int) {
        raw = UInt64(UInt32(truncatingIfNeeded: place >> 2) &- 1) << 2 | UInt64(place & 3)
    }

    /// Its place in a list of all: platforms stand together, those of all regions first.
    var place: Int { Int(region &+ 1) << 2 | Int(raw & 3) }

    var region: UInt32 { UInt32(truncatingIfNeeded: raw >> 2) }

    static func < (a: DarkKey, b: DarkKey) -> Bool { a.raw < b.raw }

    /// Codes a table by its keys, in their order.
    static func code(_ table: inout [DarkKey: Int64], _ archive: inout Archive) {
        var entries = table.keys.sorted().map { ($0.raw, table[$0] ?? 0) }
        archive.code(&entries, empty: (0, 0)) { archive, entry in
            archive.code(&entry.0)
            archive.code(&entry.1)
        }
        guard archive.isReading else { return }
        table = [:]
        for (raw, value) in entries { table[DarkKey(raw: raw)] = value }
    }
}

/// Dark time that was booked, by region and platform. Source: V2.
package struct DarkTotals: Equatable, Sendable {
    /// Milliseconds.
    private(set) var contact: [DarkKey: Int64] = [:]
    /// Milliseconds.
    private(set) var location: [DarkKey: Int64] = [:]
    /// The sums that had been shown when a blind stretch was noticed later: a counter never goes
    /// back, so it stands still until the true sum has caught up.
    private(set) var shown: [DarkKey: Int64] = [:]
    /// Milliseconds that are not contact-dark by a promise alone (P5).
    private(set) var promised: [DarkKey: Int64] = [:]

    mutating func add(_ kind: DarkKind, _ key: DarkKey, _ length: Milliseconds) {
        for key in [key, key.ofAll] {
            switch kind {
            case .contact: contact[key, default: 0] += length.count
            case .location: location[key, default: 0] += length.count
            }
        }
    }

    mutating func add(promised length: Milliseconds, _ key: DarkKey) {
        for key in [key, key.ofAll] { promised[key, default: 0] += length.count }
    }

    mutating func keep(_ key: DarkKey, shown value: Int64) {
        shown[key] = max(shown[key] ?? 0, value)
    }

    /// Lets go of a region whose number may be given to another name.
    mutating func drop(_ region: UInt32) {
        for platform in Platform.allCases {
            let key = DarkKey(region: region, platform: platform)
            contact[key] = nil
            location[key] = nil
            shown[key] = nil
            promised[key] = nil
        }
    }

    mutating func code(_ archive: inout Archive) {
        DarkKey.code(&contact, &archive)
        DarkKey.code(&location, &archive)
        DarkKey.code(&shown, &archive)
    }

    mutating func codePromised(_ archive: inout Archive) { DarkKey.code(&promised, &archive) }
}

/// Active time that no location covers, as far as it may still be covered: a backlog may bring
/// locations of then (C4). Kept only of people who have some.
struct Uncovered: Equatable, Sendable {
    struct Hole: Equatable, Sendable {
        var start: ObservedTime
        var end: ObservedTime
    }

    /// Holes remembered; the oldest is booked before there is one more.
    static let holesMax = 64

    /// In the order in which they were found, apart from each other.
    private(set) var holes: [Hole] = []
    /// Up to here everything is booked or in `holes`.
    private(set) var until = ObservedTime.distantPast
    /// The instant at which the holes are booked, if no gap makes them wait for its verdict.
    var due = RunningTime.distantFuture

    /// Nothing open, and everything accounted for up to `until`.
    init(until: ObservedTime = .distantPast) { self.until = until }

    /// Adds the stretch up to `end`; returns a hole that found no more place.
    mutating func add(from start: ObservedTime, to end: ObservedTime) -> Hole? {
        until = max(until, end)
        holes.append(Hole(start: start, end: end))
        return holes.count > Self.holesMax ? holes.removeFirst() : nil
    }

    /// Nothing up to `end` is left to be found.
    mutating func account(until end: ObservedTime) { until = max(until, end) }

    /// A location covers a stretch.
    mutating func cover(from start: ObservedTime, to end: ObservedTime) {
        var rest: [Hole] = []
        for hole in holes {
            if hole.start < start {
                rest.append(Hole(start: hole.start, end: min(hole.end, start)))
            }
            if hole.end > end { rest.append(Hole(start: max(hole.start, end), end: hole.end)) }
        }
        holes = rest
    }

    /// Observed time was set back (B1).
    mutating func clampInstants(to now: ObservedTime) {
        until = min(until, now)
        for index in holes.indices {
            holes[index].start = min(holes[index].start, now)
            holes[index].end = min(holes[index].end, now)
        }
    }

    mutating func code(_ archive: inout Archive) {
        archive.code(&until)
        archive.code(&due)
        archive.code(&holes, empty: Hole(start: .distantPast, end: .distantPast)) { archive, hole in
            archive.code(&hole.start)
            archive.code(&hole.end)
        }
    }
}
