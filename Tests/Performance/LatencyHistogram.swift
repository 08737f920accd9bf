/// Spans counted in buckets of at most 1/64 of their value.
struct LatencyHistogram {
    private static let bitsOfMantissa = 6
    private var counts = [UInt32](repeating: 0, count: (64 - bitsOfMantissa) << bitsOfMantissa)
    private var total = 0

    /// Counts one span.
    mutating func record(_ span: Nanoseconds) {
        counts[Self.bucket(of: UInt64(max(span.count, 0)))] += 1
        total += 1
    }

    /// The span that a share of all spans, between 0 and 1, does not exceed; nil without any.
    func quantile(_ share: Double) -> Nanoseconds? {
        guard total > 0 else { return nil }
        var left = max(1, Int((share * Double(total)).rounded(.up)))
        for (bucket, count) in counts.enumerated() {
            left -= Int(count)
            if left <= 0 { return Nanoseconds(count: Int64(Self.middle(of: bucket))) }
        }
        return nil
    }

    /// Values below 128 have a bucket each; above, the six bits after the highest one tell.
    private static func bucket(of value: UInt64) -> Int {
        guard value >= 1 << (bitsOfMantissa + 1) else { return Int(value) }
        let shift = 63 - value.leadingZeroBitCount - bitsOfMantissa
        return shift << bitsOfMantissa + Int(value >> UInt64(shift))
    }

    private static func middle(of bucket: Int) -> UInt64 {
        guard bucket >= 1 << (bitsOfMantissa + 1) else { return UInt64(bucket) }
        let shift = bucket >> bitsOfMantissa - 1
        let mantissa = UInt64(bucket - shift << bitsOfMantissa)
        return mantissa << UInt64(shift) + (1 << UInt64(shift)) / 2
    }
}
