import RollcallCore
import RollcallSupport

/// The instant at which a client says that it sent a request: in the body, else in the header.
/// Source: D10.
struct RequestSending {
    /// The field of the head that may say it.
    static let field = "Rollcall-Sent-At"

    /// The saying that counts: the body wins, also if it cannot be read.
    let said: SentAt
    private let isByHeader: Bool
    /// For how long another member had the request before it came here.
    let heardAgo: Milliseconds

    /// The saying of `request`, whose body says `body`.
    init(_ request: HTTPRequest, body: SentAt = .untold) {
        isByHeader = body == .untold
        heardAgo = request.heardAgo
        said = isByHeader ? SentAt(field: request.sentAt) : body
    }

    /// The problem with one that cannot be read; nil if there is nothing to tell.
    var problem: ItemNote? {
        guard said == .unreadable else { return nil }
        return ItemNote(
            index: 0, pointer: isByHeader ? "" : "/sent_at", fault: .malformed,
            detail: isByHeader ? "header \(Self.field): \(SentAt.fault)" : SentAt.fault)
    }

    /// The stats to be counted of it, where no scanner did.
    var stats: InputStats {
        var input = InputStats()
        if said == .unreadable { input.addProblem(.malformed) }
        if case .at(_, let form) = said { input.addTime(form) }
        return input
    }
}

extension Router {
    /// Notes what a request of `source` says about its clock; `receivedAt` is the newest that it tells.
    func note(_ sending: RequestSending, of source: [UInt8], receivedAt: Timestamp? = nil) {
        let sentAt = sending.said.time
        guard sentAt != nil || receivedAt != nil else { return }
        // Where another member heard it first, the clock of its source is not off by the hop.
        let hop = writer.board == nil ? Milliseconds(0) : sending.heardAgo
        edge.clocks.note(
            source, sentAt: sentAt, receivedAt: receivedAt,
            arrival: ClockReading.now().wall - hop)
    }
}
