/// What a gateway knows of whether a cell answers. One that did not answer in time for some requests in a row is
/// asked by one of them at a time, once a second, and all others are told so at once: so it delays nobody by
/// more than that. Source: K5.
struct CellStanding: Sendable {
    /// What the log is told.
    enum Line: Equatable, Sendable {
        /// It does not answer, and why.
        case trouble(String)
        /// It answers again.
        case isOver
    }

    /// Requests in a row that were not answered in time, from which on one is asked at a time.
    static let lateMax = 3
    /// Milliseconds between two of these.
    static let askedEvery: Int64 = 1000
    /// Milliseconds between two lines about troubles that take turns.
    static let toldEvery: Int64 = 10_000

    private var lateCount = 0
    private var isAsked = false
    private var asked = Int64.min / 2
    /// The trouble that the log knows of.
    private var told: String?
    private var toldAt = Int64.min / 2

    /// True if a request may go out now; by one that hangs that is the one that finds out.
    mutating func mayBeAsked(at now: Int64) -> Bool {
        guard lateCount >= Self.lateMax else { return true }
        guard !isAsked, now - asked >= Self.askedEvery else { return false }
        (isAsked, asked) = (true, now)
        return true
    }

    /// Notes that the request that was to find out did not go out.
    mutating func forgetQuestion() { isAsked = false }

    /// Notes what came of a request: a `trouble`, or an answer. Returns what the log is to be told.
    mutating func note(_ trouble: String?, isLate: Bool, at now: Int64) -> Line? {
        isAsked = false
        lateCount = isLate ? min(lateCount + 1, Self.lateMax) : 0
        guard let trouble else {
            defer { told = nil }
            return told == nil ? nil : .isOver
        }
        guard told != trouble, now - toldAt >= Self.toldEvery else { return nil }
        (told, toldAt) = (trouble, now)
        return .trouble(trouble)
    }
}
