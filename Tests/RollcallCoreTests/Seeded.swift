import Glibc

/// Random numbers that a seed tells: SplitMix64.
struct Seeded: RandomNumberGenerator {
    private var state: UInt64

    /// The numbers of `seed`.
    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = (state ^ (state >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}

/// How much is tried of what could be: all of it, unless `ROLLCALL_PART` says that one part of so many
/// will do, as under a sanitizer; in `Tests/quick` a tenth.
enum Effort {
    static let isSmall = getenv("ROLLCALL_QUICK") != nil
    private static let part =
        isSmall ? 10 : max(1, getenv("ROLLCALL_PART").flatMap { Int64(String(cString: $0)) } ?? 1)

    /// Returns the seeds from 1 on, `count` of them.
    static func seeds<Seed: BinaryInteger>(_ count: Seed) -> ClosedRange<Seed>
    where Seed.Stride: SignedInteger {
        1...max(1, count / Seed(part))
    }

    /// Returns how many there are of something that costs by its number.
    static func count(_ count: Int64) -> Int64 { count / part }
}
