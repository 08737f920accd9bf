import RollcallCore
import RollcallSupport

/// The last words of a server, for `rollcall watch`.
package struct WatchFacts: Sendable {
    /// The answer about everything; nil before the first.
    var status: JSONTree?
    /// The instant at which that answer was there.
    var statusAt = RunningTime(milliseconds: 0)
    var alerts: [JSONTree] = []
    var regions: [JSONTree] = []
    /// People who are silent, as `GET /v1/responders` or `GET /v1/gaps` tells them.
    var silent: [JSONTree] = []
    /// False if others may be silent longer.
    var isSilentWhole = true
    /// The instant of the last whole answer to anything.
    var heardAt: RunningTime?
    /// The reason why the last question had no answer; nil if it had one.
    var fault: QuestionError?
    /// The name of the server.
    let server: String

    /// Nothing, of a server.
    init(server: String) { self.server = server }
}
