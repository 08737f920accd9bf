import RollcallCluster

/// Something that somebody asks of one member of a watch, by `rollcall cluster`. Source: S11, S17.
package enum MemberOrder: Equatable, Sendable {
    /// Leave the lead to others, now and for some minutes.
    case drain
    /// Put the own store aside, and take a copy of another member's.
    case join
    /// Begin the log anew, in the place of one that is lost, with what is held here; also if another
    /// member is known to hold more.
    case adopt(isForced: Bool)

    /// An `Outcome` says what came of an order.
    package enum Outcome: Equatable, Sendable {
        /// It is done, or has begun; a sentence.
        case done(String)
        /// It cannot be done; why.
        case refused(String)
        /// Nobody knows whether it was done; why.
        case unknown(String)
    }

    /// Is called once with what came of it, on the state writer's thread.
    package typealias Reply = @Sendable (Outcome) -> Void
}

extension MemberOrder.Outcome {
    /// Makes the outcome of an order from that of beginning a log anew.
    init(_ outcome: AppendOutcome) {
        self =
            switch outcome {
            case .landed: .done("the log is begun anew with what this member holds")
            case .refused: .refused("the log has changed meanwhile: look at it again")
            case .unavailable(let why): .refused("the log cannot be written: \(why)")
            case .unknown(let why): .unknown("\(why); rollcall cluster tells in a moment")
            }
    }
}
