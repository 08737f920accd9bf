/// The result of one attempt to hand a push to its sink, as far as it decides. Source: N7.
package enum PushVerdict: Equatable, Sendable {
    /// The sink took it.
    case delivered
    /// It took it, and tells later under this ticket whether the phone's system did.
    case ticketed([UInt8])
    /// It certainly did not go out: it may be tried again, after a while that the sink may name.
    case refused(retryAfter: Milliseconds?)
    /// The phone has no such app any more.
    case unregistered
    /// It may have gone out: it is never tried again.
    case unknown

    /// True if the sink did what it is for.
    var isTaken: Bool {
        switch self {
        case .delivered, .ticketed, .unregistered: true
        case .refused, .unknown: false
        }
    }
}

/// The result that a receipt tells.
package enum ReceiptVerdict: Equatable, Sendable {
    /// The phone's system took it.
    case delivered
    /// The phone has no such app any more.
    case unregistered
    /// It did not, and will not.
    case failed
    /// There is no receipt yet.
    case notReady
}
