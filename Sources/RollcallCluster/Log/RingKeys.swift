import RollcallCore

/// The keys of a turn log in a key-value store.
///
///     <prefix>/head            the end: log, position, hash, reign (S2)
///     <prefix>/tail            the last position that is trimmed
///     <prefix>/beat            changed by the leader's beats (S8): the head's position, below 0 if it
///                              leads no more
///     <prefix>/slot/<n>        the entry of each position that is n modulo the slots
///     <prefix>/part/<position>/<origin>/<i>   parts of entries too large for one request
///     <prefix>/note/<member>   what members say of themselves
///
/// Numbers stand in the keys with leading zeros, so that their order is that of the bytes.
struct RingKeys: Sendable {
    let prefix: [UInt8]
    let slots: Int64

    var head: [UInt8] { prefix + Array("/head".utf8) }
    var tail: [UInt8] { prefix + Array("/tail".utf8) }
    var beat: [UInt8] { prefix + Array("/beat".utf8) }
    var notes: [UInt8] { prefix + Array("/note/".utf8) }
    var slotPrefix: [UInt8] { prefix + Array("/slot/".utf8) }

    /// The key of the slot of a position.
    func slot(_ position: Int64) -> [UInt8] { slotPrefix + Self.digits(position % slots) }

    /// The key behind the slot of a position, where a range ends.
    func behindSlot(_ position: Int64) -> [UInt8] { slot(position) + [0] }

    /// The key of a part of an entry. It names who wrote it, so that nobody's part is overwritten by
    /// another's (S12).
    func part(_ position: Int64, _ origin: LogOrigin, _ index: Int) -> [UInt8] {
        parts(of: position) + Array("\(origin.incarnation)-\(origin.serial)/".utf8)
            + Self.digits(Int64(index))
    }

    /// The beginning of the keys of all parts of a position.
    func parts(of position: Int64) -> [UInt8] {
        prefix + Array("/part/".utf8) + Self.digits(position) + [UInt8(ascii: "/")]
    }

    /// The key of a member's note.
    func note(_ member: [UInt8]) -> [UInt8] { notes + member }

    private static func digits(_ number: Int64) -> [UInt8] {
        let text = "\(number)"
        return Array((String(repeating: "0", count: max(0, 19 - text.utf8.count)) + text).utf8)
    }
}

/// The values of a turn log's keys: plain text, since people read them with the engine's own tools.
enum RingValue {
    /// The value of the head's key.
    static func head(_ head: LogHead) -> [UInt8] {
        let log = String(head.log, radix: 16)
        let hash = String(head.hash, radix: 16)
        return Array("1 \(log) \(head.position) \(hash) \(head.reign)".utf8)
    }

    /// The head of a row; nil if it makes no sense.
    static func head(_ row: KeyValueRow) -> LogHead? {
        let words = String(decoding: row.value, as: UTF8.self).split(separator: " ")
        guard words.count == 5, words[0] == "1", let log = UInt64(words[1], radix: 16),
            let position = Int64(words[2]), position > 0, let hash = UInt64(words[3], radix: 16),
            let reign = Int64(words[4])
        else { return nil }
        return LogHead(
            log: log, position: position, hash: hash, reign: reign, revision: row.revision)
    }

    /// A number as a value.
    static func number(_ number: Int64) -> [UInt8] { Array("\(number)".utf8) }

    /// The number of a value; nil if it is none.
    static func number(_ value: [UInt8]) -> Int64? { Int64(String(decoding: value, as: UTF8.self)) }

    /// The value of a member's note.
    static func note(_ note: MemberNote) -> [UInt8] {
        Array("\(note.position) \(note.wall.milliseconds) \(note.address)".utf8)
    }

    /// The note of a row; nil if it makes no sense.
    static func note(_ row: KeyValueRow, prefix: [UInt8]) -> MemberNote? {
        let words = String(decoding: row.value, as: UTF8.self).split(separator: " ")
        guard (2...3).contains(words.count), let position = Int64(words[0]),
            let wall = Int64(words[1])
        else {
            return nil
        }
        return MemberNote(
            member: Array(row.key.dropFirst(prefix.count)), position: position,
            wall: Timestamp(milliseconds: wall),
            address: words.count == 3 ? String(words[2]) : "")
    }
}
