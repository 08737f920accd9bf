import RollcallCore

/// A `LogOrigin` says who wrote an entry of the log, and which of theirs it is: an entry is one's
/// own if it says so, and not if its bytes are equal (S3).
package struct LogOrigin: Equatable, Hashable, Sendable {
    /// The member's name.
    package var member: [UInt8]
    /// Drawn at each start of the member's process.
    package var incarnation: UInt64
    /// The reign in which it was written, or which it begins.
    package var reign: Int64
    /// Rises with each entry of an incarnation.
    package var serial: Int64

    /// The origin of an entry.
    package init(member: [UInt8], incarnation: UInt64, reign: Int64, serial: Int64) {
        self.member = member
        self.incarnation = incarnation
        self.reign = reign
        self.serial = serial
    }
}

/// An entry of the turn log: a turn of the watch, with its place in the chain (S2).
package struct LogEntry: Equatable, Sendable {
    /// A `Kind` says what an entry is. The raw values are stored.
    package enum Kind: UInt8, Sendable, CaseIterable {
        /// The first one: fixes the watch's number (S7).
        case creation = 1
        /// A member begins to lead (S4); also a turn.
        case reign = 2
        case turn = 3
    }

    package var kind: Kind
    /// Counts from 1 without a hole.
    package var position: Int64
    /// The hash of the entry before; 0 for the first.
    package var previous: UInt64
    package var origin: LogOrigin
    package var body: [UInt8]

    /// An entry at a place of the chain.
    package init(
        _ kind: Kind, at position: Int64, after previous: UInt64, origin: LogOrigin, body: [UInt8]
    ) {
        self.kind = kind
        self.position = position
        self.previous = previous
        self.origin = origin
        self.body = body
    }

    /// Its link in the chain: says what it holds and everything before it.
    package var hash: UInt64 {
        let bytes = self.bytes
        return StableHash.of(bytes.span, bytes.indices)
    }

    // MARK: - Bytes

    private static let version: UInt64 = 1

    /// As it stands in the log.
    package var bytes: [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(body.count + origin.member.count + 64)
        Varint.append(Self.version, to: &bytes)
        Varint.append(UInt64(kind.rawValue), to: &bytes)
        Varint.append(UInt64(position), to: &bytes)
        Varint.append(previous, to: &bytes)
        Varint.append(UInt64(origin.member.count), to: &bytes)
        bytes += origin.member
        Varint.append(origin.incarnation, to: &bytes)
        Varint.append(UInt64(origin.reign), to: &bytes)
        Varint.append(UInt64(origin.serial), to: &bytes)
        Varint.append(UInt64(body.count), to: &bytes)
        bytes += body
        return bytes
    }

    /// The entry of some bytes; nil if they make no sense, to the last one.
    package init?(bytes: [UInt8]) {
        var at = 0
        func number() -> UInt64? { Varint.read(bytes.span, &at, bytes.count) }
        func count() -> Int64? { number().flatMap { Int64(exactly: $0) } }
        func string() -> [UInt8]? {
            guard let length = number().flatMap({ Int(exactly: $0) }), length <= bytes.count - at
            else { return nil }
            defer { at += length }
            return Array(bytes[at..<(at + length)])
        }
        guard number() == Self.version,
            let kind = number().flatMap({ UInt8(exactly: $0) }).flatMap({ Kind(rawValue: $0) }),
            let position = count(), position > 0, let previous = number(), let member = string(),
            let incarnation = number(), let reign = count(), let serial = count(),
            let body = string(), at == bytes.count
        else { return nil }
        self.init(
            kind, at: position, after: previous,
            origin: LogOrigin(
                member: member, incarnation: incarnation, reign: reign, serial: serial),
            body: body)
    }
}
