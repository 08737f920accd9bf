import RollcallCore

/// The keys of a turn log in a key-value store.
///
///     <prefix>/head            the end: log, position, hash, reign (S2)
///     <prefix>/tail            the last position that is trimmed
///     <prefix>/emptied         the last position whose slot was emptied since it was trimmed (S13)
///     <prefix>/adopted         the log that was begun in the place of one that was lost, and that one (S11)
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
    var emptied: [UInt8] { prefix + Array("/emptied".utf8) }
    var adopted: [UInt8] { prefix + Array("/adopted".utf8) }
    var notes: [UInt8] { prefix + Array("/note/".utf8) }
    var slotPrefix: [UInt8] { prefix + Array("/slot/".utf8) }

    /// The key of the slot of a position.
    func slot(_ position: Int64) -> [UInt8] { slotPrefix + Self.digits(position % slots) }

    /// The beginning of all slots' keys, and the key behind them.
    var allSlots: (from: [UInt8], to: [UInt8]) {
        (slotPrefix, KeyValueRow.behind(slotPrefix))
    }

    /// The beginning of all parts' keys, and the key behind them.
    var allParts: (from: [UInt8], to: [UInt8]) {
        let parts = prefix + Array("/part/".utf8)
        return (parts, KeyValueRow.behind(parts))
    }

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

    /// The value of what a log was begun in the place of.
    static func adoption(_ adoption: LogAdoption) -> [UInt8] {
        Array("1 \(String(adoption.log, radix: 16)) \(String(adoption.of, radix: 16))".utf8)
    }

    /// The adoption of a value; nil if it makes no sense.
    static func adoption(_ value: [UInt8]) -> LogAdoption? {
        let words = String(decoding: value, as: UTF8.self).split(separator: " ")
        guard words.count == 3, words[0] == "1", let log = UInt64(words[1], radix: 16),
            let of = UInt64(words[2], radix: 16)
        else { return nil }
        return LogAdoption(log: log, of: of)
    }

    /// Stands for what a note does not say.
    private static let nothing = "-"

    /// The value of a member's note: position, wall, address, level, the turn through which erasures
    /// are over there, the digest of its state.
    static func note(_ note: MemberNote) -> [UInt8] {
        let address = note.address.isEmpty ? nothing : note.address
        let digest = note.digest.map {
            "\($0.turn):\($0.version):\(String($0.hash, radix: 16))"
        }
        return Array(
            """
            \(note.position) \(note.wall.milliseconds) \(address) \(note.level) \(note.erased) \
            \(digest ?? nothing)
            """.utf8)
    }

    /// The note of a row; nil if it makes no sense. One of three words was written before members
    /// said their level.
    static func note(_ row: KeyValueRow, prefix: [UInt8]) -> MemberNote? {
        let words = String(decoding: row.value, as: UTF8.self).split(separator: " ")
        guard [2, 3, 6].contains(words.count), let position = Int64(words[0]),
            let wall = Int64(words[1])
        else { return nil }
        var note = MemberNote(
            member: Array(row.key.dropFirst(prefix.count)), position: position,
            wall: Timestamp(milliseconds: wall))
        if words.count > 2, words[2] != nothing { note.address = String(words[2]) }
        guard words.count == 6 else { return note }
        guard let level = Int64(words[3]), let erased = Int64(words[4]) else { return nil }
        note.level = level
        note.erased = erased
        note.digest = digest(words[5])
        return note
    }

    private static func digest(_ word: Substring) -> StateDigest? {
        let words = word.split(separator: ":")
        guard words.count == 3, let turn = Int64(words[0]), let version = Int64(words[1]),
            let hash = UInt64(words[2], radix: 16)
        else { return nil }
        return StateDigest(turn: turn, version: version, hash: hash)
    }
}
