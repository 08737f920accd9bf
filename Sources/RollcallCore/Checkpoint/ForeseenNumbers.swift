/// Numbers in places that are the same for each person, of which only those take bytes that are not as
/// foreseen.
///
/// A number is foreseen to be as far from its reference as the one before it in its place was: of those
/// who report, deadlines are as far ahead of the contact as those of others. Two words of a place, such
/// as "never" and "no deadline", are foreseen as words. A person's bits, one a place, say which numbers
/// follow, each as its distance from what was foreseen:
///
///     bits ── number ── number …      number: 0 and 1 the place's words, 2 any number, then that one,
///                                             from 3 on the distance
struct ForeseenNumbers: Sendable {
    /// The two words of a place.
    struct Words {
        let low, high: Int64

        /// The words of instants.
        static var instants: Words {
            Words(
                low: ObservedTime.distantPast.milliseconds,
                high: ObservedTime.distantFuture.milliseconds)
        }
        /// The words of sequences, of which the upper one is not used.
        static var sequences: Words { Words(low: -1, high: .max) }
        /// The words of numbers, of which the upper one is not used.
        static var numbers: Words { Words(low: 0, high: .max) }
    }

    /// Each place has the distance from its reference of the last number that is no word.
    private var distances = InlineArray<64, Int64>(repeating: 0)
    /// The places whose last number was a word.
    private var lows: UInt64 = 0
    private var highs: UInt64 = 0
    /// The present person's bits, and when they are written what comes behind them.
    private var bits: UInt64 = 0
    private var codes = InlineArray<128, UInt64>(repeating: 0)
    private var codeCount = 0

    private static let other: UInt64 = 2
    private static let first: UInt64 = 3

    /// Begins a person, whose bits are read if they are to be.
    mutating func begin(_ archive: inout Archive) {
        bits = 0
        codeCount = 0
        if archive.isReading { archive.code(&bits) }
    }

    /// Ends a person: what was not as foreseen is written.
    mutating func end(_ archive: inout Archive) {
        guard !archive.isReading else { return }
        archive.code(&bits)
        for place in 0..<codeCount { archive.code(&codes[place]) }
    }

    /// Codes the number of a place.
    @inline(__always)
    mutating func code(
        _ value: inout Int64, _ place: Int, from reference: Int64 = 0, as words: Words = .numbers,
        _ archive: inout Archive
    ) {
        let bit: UInt64 = 1 << UInt64(place)
        let near = reference &+ distances[place]
        let foreseen = lows & bit != 0 ? words.low : highs & bit != 0 ? words.high : near
        if archive.isReading {
            value = bits & bit == 0 ? foreseen : Self.read(near, words, &archive)
        } else if value != foreseen {
            bits |= bit
            write(value, near, words)
        }
        lows &= ~bit
        highs &= ~bit
        if value == words.low {
            lows |= bit
        } else if value == words.high {
            highs |= bit
        } else {
            distances[place] = value &- reference
        }
    }

    /// Codes a number of any width.
    @inline(__always)
    mutating func code<Number: FixedWidthInteger>(
        narrow value: inout Number, _ place: Int, from reference: Int64 = 0,
        _ archive: inout Archive
    ) {
        var wide = Int64(truncatingIfNeeded: value)
        code(&wide, place, from: reference, &archive)
        guard archive.isReading else { return }
        if let narrow = Number(exactly: wide) { value = narrow } else { archive.refuse() }
    }

    /// Codes an instant.
    @inline(__always)
    mutating func code<Time: Instant>(
        _ time: inout Time, _ place: Int, from reference: Int64 = 0, _ archive: inout Archive
    ) {
        var milliseconds = time.milliseconds
        code(&milliseconds, place, from: reference, as: .instants, &archive)
        if archive.isReading { time = Time(milliseconds: milliseconds) }
    }

    private static func read(_ near: Int64, _ words: Words, _ archive: inout Archive) -> Int64 {
        var code: UInt64 = 0
        archive.code(&code)
        switch code {
        case 0: return words.low
        case 1: return words.high
        case other:
            archive.code(&code)
            return near &+ Varint.unfolded(code)
        default: return near &+ Varint.unfolded(code - first)
        }
    }

    private mutating func write(_ value: Int64, _ near: Int64, _ words: Words) {
        let distance = Varint.folded(value &- near)
        if value == words.low {
            append(0)
        } else if value == words.high {
            append(1)
        } else if distance > .max - Self.first {
            append(Self.other)
            append(distance)
        } else {
            append(distance + Self.first)
        }
    }

    private mutating func append(_ code: UInt64) {
        codes[codeCount] = code
        codeCount += 1
    }
}
