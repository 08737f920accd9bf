/// Numbers that a seed alone decides (SplitMix64).
package struct Dice: Sendable {
    private var state: UInt64

    /// Dice whose throws `seed` decides.
    package init(seed: UInt64) { state = seed }

    /// The next number.
    package mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    /// A number from `range`.
    package mutating func number(_ range: ClosedRange<Int64>) -> Int64 {
        let width = UInt64(range.upperBound - range.lowerBound) + 1
        return range.lowerBound + Int64(next() % width)
    }

    /// True `perMille` times out of 1000.
    package mutating func chance(_ perMille: Int64) -> Bool { number(0...999) < perMille }

    /// One of `values`, which is not empty.
    package mutating func pick<Value>(_ values: [Value]) -> Value {
        values[Int(number(0...Int64(values.count - 1)))]
    }
}
