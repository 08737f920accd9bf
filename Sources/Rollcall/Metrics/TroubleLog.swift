/// Tells the log of a trouble that comes again and again once, until it is another one or over.
struct TroubleLog {
    /// The text that the log was told last.
    private var logged: String?

    /// Notes that there is a trouble; `line` tells it.
    mutating func note(_ trouble: String, _ line: () -> Void) {
        if logged != trouble { line() }
        logged = trouble
    }

    /// Notes that there is none; `line` tells that, if there was one.
    mutating func end(_ line: () -> Void) {
        if logged != nil { line() }
        logged = nil
    }
}
