/// Verdicts, and times to return, by the manufacturer of the phone, a bounded set: which phones does the
/// system kill, and when are they back? Source: P6, P7.
package struct MakerCounters: Equatable, Sendable {
    /// Manufacturers that have a label; of all others the label is `other`.
    package static let labelsMax = 32
    /// Whoever is called like the rest counts among it.
    private static let other = Array("other".utf8)
    private static let verdicts = GapVerdict.allCases.count

    /// Those with a label, in the order in which their first gap was counted.
    package private(set) var names: [[UInt8]] = []
    /// By manufacturer × verdict; behind them those of others, and of phones of which none was told.
    private var counts = [Int](repeating: 0, count: verdicts)
    /// Observed time from the opening to the return, by manufacturer; behind them that of others.
    private var returns = [Histogram(bounds: Histogram.gapBounds)]

    /// Counters of nothing.
    package init() {}

    /// Verdicts about phones of a manufacturer; nil is all others.
    package func count(_ verdict: GapVerdict, of place: Int?) -> Int {
        counts[(place ?? names.count) * Self.verdicts + Int(verdict.rawValue)]
    }

    /// The times to return of phones of a manufacturer; nil is all others.
    package func returns(of place: Int?) -> Histogram { returns[place ?? names.count] }

    /// A gap of this length is over. Nobody returned from one that their duty ended.
    mutating func count(_ verdict: GapVerdict, of name: [UInt8], length: Milliseconds) {
        var place = names.firstIndex(of: name) ?? names.count
        if place == names.count, !name.isEmpty, name != Self.other, names.count < Self.labelsMax {
            counts.insert(
                contentsOf: repeatElement(0, count: Self.verdicts), at: place * Self.verdicts)
            returns.insert(Histogram(bounds: Histogram.gapBounds), at: place)
            names.append(name)
            place = names.count - 1
        }
        counts[place * Self.verdicts + Int(verdict.rawValue)] += 1
        if verdict != .dutyEnded { returns[place].observe(length.count) }
    }

    /// A name goes; what was counted of it was of others from now on.
    mutating func forget(_ name: [UInt8]) {
        guard let place = names.firstIndex(of: name) else { return }
        let first = place * Self.verdicts
        let own = Array(counts[first..<(first + Self.verdicts)])
        counts.removeSubrange(first..<(first + Self.verdicts))
        names.remove(at: place)
        for verdict in 0..<Self.verdicts {
            counts[names.count * Self.verdicts + verdict] += own[verdict]
        }
        let gone = returns.remove(at: place)
        returns[names.count].add(gone)
    }

    mutating func code(_ archive: inout Archive) {
        archive.code(&names)
        archive.code(&counts)
        if counts.count != (names.count + 1) * Self.verdicts || names.count > Self.labelsMax {
            archive.refuse()
            self = MakerCounters()
        }
        if archive.isReading {
            returns = Array(
                repeating: Histogram(bounds: Histogram.gapBounds), count: names.count + 1)
        }
        for place in returns.indices { returns[place].code(&archive) }
    }
}
