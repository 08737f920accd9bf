/// A gateway knows by this whether a cell answers. One that did not answer in time for some requests in a row gets
/// no more of them, so that it delays nobody, until a question of the gateway's own was answered. Source: K5.
struct CellStanding: Sendable {
    /// A request goes out or does not.
    enum Leave: Equatable, Sendable {
        /// It goes out.
        case granted
        /// It is answered at once, as the cell does not answer.
        case refused
        /// Likewise, and it is time to ask the cell whether it is there again.
        case refusedAndDue
    }

    /// A line for the log.
    enum Line: Equatable, Sendable {
        /// It does not answer, and why.
        case trouble(String)
        /// It answers again.
        case isOver
    }

    /// Requests in a row that were not answered in time, from which on it gets no more.
    static let lateMax = 3
    /// Milliseconds from one question of the gateway's own that came to nothing to the next.
    static let askedEvery: Int64 = 500
    /// Milliseconds between two lines about troubles that take turns.
    static let loggedEvery: Int64 = 10_000

    private var lateCount = 0
    private var isAsked = false
    private var askedUntil = Int64.min / 2
    /// The trouble that the log knows of.
    private var logged: String?
    private var loggedAt = Int64.min / 2

    /// Says what becomes of a request now. Of one that is due the outcome must be noted.
    mutating func leave(at now: Int64) -> Leave {
        guard lateCount >= Self.lateMax else { return .granted }
        guard !isAsked, now - askedUntil >= Self.askedEvery else { return .refused }
        isAsked = true
        return .refusedAndDue
    }

    /// Notes what came of the gateway's own question.
    mutating func noteAsked(isThere: Bool, at now: Int64) {
        (isAsked, askedUntil) = (false, now)
        if isThere { lateCount = 0 }
    }

    /// Notes what came of a request: a `trouble`, or an answer. Returns what the log is to be told.
    mutating func note(_ trouble: String?, isLate: Bool, at now: Int64) -> Line? {
        lateCount = isLate ? min(lateCount + 1, Self.lateMax) : 0
        guard let trouble else {
            defer { logged = nil }
            return logged == nil ? nil : .isOver
        }
        guard logged != trouble, now - loggedAt >= Self.loggedEvery else { return nil }
        (logged, loggedAt) = (trouble, now)
        return .trouble(trouble)
    }
}
