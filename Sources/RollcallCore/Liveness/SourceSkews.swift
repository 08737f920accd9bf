/// By how much the clocks of sources are off, and what is added to the times that they tell.
/// Source: D10.
package struct SourceSkews: Sendable {
    /// A source whose requests say when they were sent.
    package struct Source: Equatable, Sendable {
        /// Its name, as bytes.
        package var name: [UInt8] = []
        /// The smallest arrival − `sent_at` of its last minute: above 0 its clock is behind ours.
        package var measured = Milliseconds(0)
        /// The instant at which that minute ended.
        var measuredAt = RunningTime.distantPast
        /// The span that is added to its times; 0 for nothing.
        package var correction = Milliseconds(0)
        package var state = SkewState.right

        fileprivate var report: SkewReport {
            SkewReport(source: name, state: state, skew: measured, correction: correction)
        }

        /// Moves on to what two minutes agree upon, or one says alone.
        fileprivate mutating func evaluate(_ skew: Milliseconds) {
            if correction.count != 0 {
                state = .corrected
            } else if skew.count.magnitude > SourceSkews.correctedUpTo {
                state = .tooFar
            } else {
                state = skew.count.magnitude > SourceSkews.warnedBeyond ? .unsure : .right
            }
        }

        fileprivate mutating func code(_ archive: inout Archive) {
            archive.code(&name)
            archive.code(&measured)
            archive.code(&measuredAt)
            archive.code(&correction)
            archive.code(&state)
        }
    }

    /// A minute needs so many requests to say anything.
    package static let requestsMin = 3
    /// The greatest skew that is taken for an event: a century, in milliseconds.
    package static let skewMax: Int64 = 3_155_760_000_000
    /// Beyond this a clock is warned of, in milliseconds.
    package static let warnedBeyond: UInt64 = 2000
    /// Beyond this nothing is added, in milliseconds.
    package static let correctedUpTo: UInt64 = 300_000
    /// Two minutes that differ by no more agree, in milliseconds.
    private static let agreementWithin: UInt64 = 1000
    /// A minute that ends sooner after another one is the next: one was not left out between them.
    private static let nextWithin = Milliseconds.seconds(90)
    /// For how long what was measured last holds.
    package static let keptFor = Feed.disarmAfter

    /// In the order in which they were measured first.
    package private(set) var sources: [Source] = []
    /// True while something is added to somebody's times.
    private(set) var isCorrecting = false

    /// The earliest instant at which what is known of a source ceases to hold.
    var nextInstant: RunningTime {
        var next = RunningTime.distantFuture
        for source in sources { next = min(next, source.measuredAt + Self.keptFor) }
        return next
    }

    /// Returns the span that is added to the times of source `name`.
    func correction(of name: [UInt8]) -> Milliseconds {
        guard isCorrecting else { return Milliseconds(0) }
        return sources.first { $0.name == name }?.correction ?? Milliseconds(0)
    }

    /// Takes what a minute that ends now says of a source, and tells what that changes. Of a source
    /// beyond `Feed.sourcesMax` nothing is kept.
    mutating func measure(_ name: [UInt8], _ skew: Milliseconds, now: RunningTime) -> SkewReport? {
        guard let place = place(of: name) else { return nil }
        let before = sources[place]
        var source = before
        let agrees =
            now - before.measuredAt < Self.nextWithin
            && Self.areNear(skew, before.measured)
        // What is waited for on the way only makes it larger.
        let known = agrees ? min(skew, before.measured) : skew
        source.measured = skew
        source.measuredAt = now
        if agrees, before.correction.count == 0 || !Self.areNear(known, before.correction) {
            source.correction = Self.correction(for: known)
        }
        source.evaluate(known)
        sources[place] = source
        return reported(source, before)
    }

    /// Our own wall stepped. What is off by a known span is off by so much more; whose clock was right
    /// may share ours, and is measured anew.
    mutating func step(_ step: Milliseconds) -> [SkewReport] {
        guard step.count != 0 else { return [] }
        sources.removeAll { $0.state == .right }
        return sources.indices.compactMap { place in
            let before = sources[place]
            let moved = before.measured.count &+ step.count
            sources[place].measured = Milliseconds(min(max(moved, -Self.skewMax), Self.skewMax))
            if before.correction.count != 0 {
                sources[place].correction = Self.correction(
                    for: Milliseconds(before.correction.count &+ step.count))
            }
            sources[place].evaluate(sources[place].measured)
            return reported(sources[place], before)
        }
    }

    /// Lets go of what was measured too long ago, and tells whose times are taken as they are again.
    mutating func expire(now: RunningTime) -> [SkewReport] {
        let old = sources.filter { now - $0.measuredAt >= Self.keptFor }
        guard !old.isEmpty else { return [] }
        sources.removeAll { now - $0.measuredAt >= Self.keptFor }
        noteCorrections()
        return old.filter { $0.state != .right }.map {
            SkewReport(source: $0.name, state: .unmeasured, skew: $0.measured)
        }
    }

    mutating func code(_ archive: inout Archive) {
        archive.code(&sources, empty: Source()) { $1.code(&$0) }
        if archive.isReading { noteCorrections() }
    }

    /// Returns the place of a source, which it gets now if there is room for it; nil if there is
    /// none.
    private mutating func place(of name: [UInt8]) -> Int? {
        if let place = sources.firstIndex(where: { $0.name == name }) { return place }
        guard sources.count < Feed.sourcesMax else { return nil }
        sources.append(Source(name: name))
        return sources.count - 1
    }

    private mutating func reported(_ source: Source, _ before: Source) -> SkewReport? {
        noteCorrections()
        let isSame = source.state == before.state && source.correction == before.correction
        return isSame ? nil : source.report
    }

    private mutating func noteCorrections() {
        isCorrecting = sources.contains { $0.correction.count != 0 }
    }

    private static func correction(for skew: Milliseconds) -> Milliseconds {
        let size = skew.count.magnitude
        return size > warnedBeyond && size <= correctedUpTo ? skew : Milliseconds(0)
    }

    private static func areNear(_ a: Milliseconds, _ b: Milliseconds) -> Bool {
        (a.count &- b.count).magnitude <= agreementWithin
    }
}
