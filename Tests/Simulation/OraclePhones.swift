extension Oracle {
    /// What became of an update. Source: I1, F13.
    enum Outcome: String {
        case accepted, duplicate, late
    }

    /// An app as installed once: what was received from it. Source: I1.
    struct Install {
        /// Which of the person's it is, from 1 on.
        var number = 0
        /// Nil while none was told. Source: F14.
        var id: Name?
        /// The `captured_at`, as sent, of the first update taken that had one. Source: F14.
        var firstCaptured: Wall?
        /// What was taken, as ranges from low to high.
        var ranges: [ClosedRange<Int64>] = []
        /// The upper end of the newest closed hole. Source: F13.
        var closed: Int64 = -1

        /// Whether a sequence is inside a range, or in a hole that counts as closed, or below all.
        /// Source: I3.
        func mayBegin(with sequence: Int64) -> Bool {
            guard let lowest = ranges.first else { return false }
            return sequence <= closed || sequence < lowest.lowerBound || contains(sequence)
        }

        /// Takes a sequence unless it came before or too late. Source: I1, F13.
        mutating func take(_ sequence: Int64) -> Outcome {
            if sequence <= closed { return .late }
            if contains(sequence) { return .duplicate }
            insert(sequence)
            while ranges.count > Phones.rangesMax {
                closed = ranges[1].lowerBound - 1
                ranges.replaceSubrange(0...1, with: [ranges[0].lowerBound...ranges[1].upperBound])
            }
            return .accepted
        }

        private func contains(_ sequence: Int64) -> Bool {
            ranges.contains { $0.contains(sequence) }
        }

        /// Adds a sequence that is in no range; ranges that touch become one.
        private mutating func insert(_ sequence: Int64) {
            let place = ranges.firstIndex { sequence < $0.lowerBound } ?? ranges.endIndex
            ranges.insert(sequence...sequence, at: place)
            for right in [place + 1, place] where right > 0 && right < ranges.count {
                guard ranges[right].lowerBound - 1 == ranges[right - 1].upperBound else { continue }
                let joined = ranges[right - 1].lowerBound...ranges[right].upperBound
                ranges.replaceSubrange(right - 1...right, with: [joined])
            }
        }
    }

    /// A person's installs. Source: I1, I3, F14.
    struct Phones {
        /// The most ranges of an install. Source: I1.
        static let rangesMax = 64
        private static let installsMax = 4
        private static let forgottenMax = 16

        /// Oldest first; the last is the current one.
        private var installs: [Install] = []
        private var forgotten: [Name] = []
        /// Installs that ever began; all but the first were resets. Source: I3.
        private(set) var begun = 0
        private var hasID = false
        private var newestCaptured: Wall?
        /// What was taken of updates without sequences, by their captures. Source: P4.
        private var captures = Captures()

        /// Nothing received yet.
        init() {}

        /// Whether an install is one of the last forgotten: all it sends is late. Source: F14.
        func hasForgotten(_ id: Name) -> Bool { forgotten.contains(id) }

        /// Meets an install id: the first adopts the anonymous install, others are new installs.
        /// Source: I3, F14.
        mutating func meet(_ id: Name) {
            if installs.contains(where: { $0.id == id }) { return }
            if !hasID, !installs.isEmpty {
                installs[installs.count - 1].id = id
            } else {
                begin(Install(id: id))
            }
            hasID = true
        }

        /// Takes an update of an install, which `meet` has seen; without an id of the current one.
        /// Source: I1, I3, F14.
        mutating func take(
            _ update: StoryUpdate, of id: Name?
        ) -> (outcome: Outcome, install: Int) {
            guard let sequence = update.sequence else {
                return (captures.take(update.capturedAt ?? 0), 0)
            }
            let index = installIndex(of: update, sequence, id)
            let outcome = installs[index].take(sequence)
            if outcome == .accepted, let captured = update.capturedAt {
                if installs[index].firstCaptured == nil {
                    installs[index].firstCaptured = captured
                }
                newestCaptured = max(newestCaptured ?? captured, captured)
            }
            return (outcome, installs[index].number)
        }

        /// Whether a late update was captured after all that was taken, or believed, before.
        /// Source: P9.
        mutating func isNews(late captured: Wall) -> Bool {
            if installs.isEmpty { return false }
            if let newestCaptured, captured <= newestCaptured { return false }
            if let newest = captures.ranges.last?.upperBound, captured <= newest { return false }
            newestCaptured = captured
            return true
        }

        /// The highest sequence taken of an install, of none the newest capture; nil if there is
        /// none. Source: F26, P4.
        func highest(of number: Int) -> Int64? {
            if number == 0 { return captures.ranges.last?.upperBound }
            return installs.first { $0.number == number }?.ranges.last?.upperBound
        }

        /// The install that an update belongs to; perhaps one that it starts.
        private mutating func installIndex(
            of update: StoryUpdate, _ sequence: Int64, _ id: Name?
        ) -> Int {
            if let id, let index = installs.firstIndex(where: { $0.id == id }) { return index }
            if installs.isEmpty { begin(Install()) }
            let current = installs.count - 1
            guard installs[current].id == nil, let captured = update.capturedAt else {
                return current
            }
            if let newestCaptured, captured > newestCaptured,
                installs[current].mayBegin(with: sequence)
            {
                begin(Install())
                return installs.count - 1
            }
            if current > 0, let first = installs[current].firstCaptured, captured < first {
                return current - 1
            }
            return current
        }

        private mutating func begin(_ install: Install) {
            begun += 1
            installs.append(install)
            installs[installs.count - 1].number = begun
            guard installs.count > Self.installsMax else { return }
            if let id = installs.removeFirst().id { forgotten.append(id) }
            if forgotten.count > Self.forgottenMax { forgotten.removeFirst() }
        }
    }

    /// What was captured at which milliseconds, of updates without sequences. Source: P4.
    struct Captures {
        private static let rangesMax = 16
        /// What was taken or counts as taken, from low to high.
        private(set) var ranges: [ClosedRange<Int64>] = []

        /// Takes a capture unless it was taken before.
        mutating func take(_ captured: Wall) -> Outcome {
            if ranges.contains(where: { $0.contains(captured) }) { return .duplicate }
            ranges = Self.united(ranges + [captured...captured])
            while ranges.count > Self.rangesMax { close() }
            return .accepted
        }

        /// The narrowest hole for its age counts as taken, the oldest of several.
        private mutating func close() {
            guard let newest = ranges.last?.upperBound else { return }
            let holes = zip(ranges, ranges.dropFirst()).map { ($0.upperBound, $1.lowerBound) }
            func isNarrower(_ hole: (Int64, Int64), _ other: (Int64, Int64)) -> Bool {
                Int128(hole.1 - hole.0) * Int128(newest - other.0)
                    < Int128(other.1 - other.0) * Int128(newest - hole.0)
            }
            let least = holes.filter { hole in !holes.contains { isNarrower($0, hole) } }.first
            if let least { ranges = Self.united(ranges + [least.0...least.1]) }
        }

        /// Ranges that touch or overlap become one.
        private static func united(_ ranges: [ClosedRange<Int64>]) -> [ClosedRange<Int64>] {
            ranges.sorted { $0.lowerBound < $1.lowerBound }.reduce(into: []) { united, range in
                if let last = united.last, range.lowerBound <= last.upperBound + 1 {
                    let upper = max(last.upperBound, range.upperBound)
                    united[united.count - 1] = last.lowerBound...upper
                } else {
                    united.append(range)
                }
            }
        }
    }
}
