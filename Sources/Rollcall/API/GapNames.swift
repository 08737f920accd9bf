import RollcallCore

/// Regions by number, in the order in which they were met.
struct RegionNames {
    /// Regions at most: rows of a table are not more.
    static let countMax = HistoryLimits().groups

    private(set) var names: [[UInt8]] = []
    /// Open addressing, at most half full: a name's number + 1, 0 free.
    private var slots = [Int32](repeating: 0, count: 64)

    /// The region's number; nil if there are too many.
    mutating func number(of name: UnsafeRawBufferPointer) -> Int? {
        var slot = Self.hash(name) & (slots.count - 1)
        while slots[slot] > 0 {
            let number = Int(slots[slot]) - 1
            if name.elementsEqual(names[number]) { return number }
            slot = (slot + 1) & (slots.count - 1)
        }
        guard names.count < Self.countMax else { return nil }
        names.append(Array(name))
        if names.count * 2 > slots.count { grow() } else { slots[slot] = Int32(names.count) }
        return names.count - 1
    }

    private mutating func grow() {
        slots = [Int32](repeating: 0, count: slots.count * 2)
        for (number, name) in names.enumerated() {
            var slot = name.withUnsafeBytes { Self.hash($0) } & (slots.count - 1)
            while slots[slot] > 0 { slot = (slot + 1) & (slots.count - 1) }
            slots[slot] = Int32(number + 1)
        }
    }

    /// The standard library's keyed hash: strangers choose the names, so it must not be foreseeable.
    private static func hash(_ name: UnsafeRawBufferPointer) -> Int {
        var hasher = Hasher()
        hasher.combine(bytes: name)
        return hasher.finalize()
    }
}

/// Lengths of gaps, of which the middle one, the longest and the sum are asked for.
struct Lengths {
    /// Milliseconds, as much as fits: seven weeks.
    private var all: [UInt32] = []
    private(set) var longest = Milliseconds(0)
    private(set) var total = Milliseconds(0)

    mutating func add(_ length: Milliseconds) {
        all.append(UInt32(clamping: length.count))
        longest = max(longest, length)
        // Two million that last for centuries come to more than fits.
        let (sum, isOver) = total.count.addingReportingOverflow(length.count)
        total = Milliseconds(isOver ? .max : sum)
    }

    /// The middle one, the mean of the two in the middle if there are two; nil without any.
    var median: Milliseconds? {
        guard !all.isEmpty else { return nil }
        let (low, high) = (ranked((all.count - 1) / 2), ranked(all.count / 2))
        return Milliseconds((Int64(low) + Int64(high)) / 2)
    }

    /// The length with so many shorter ones, by counting: sorting two million would take longer.
    private func ranked(_ rank: Int) -> UInt32 {
        var rank = rank
        var found: UInt32 = 0
        for shift: UInt32 in [16, 0] {
            var counts = [Int](repeating: 0, count: 1 << 16)
            for length in all where shift == 16 || length >> 16 == found >> 16 {
                counts[Int(length >> shift & 0xFFFF)] += 1
            }
            var digit = 0
            while rank >= counts[digit] {
                rank -= counts[digit]
                digit += 1
            }
            found |= UInt32(digit) << shift
        }
        return found
    }
}
