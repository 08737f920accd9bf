import RollcallCore
import RollcallSupport

/// The server's answers to one round of questions: all that the demo knows of Rollcall.
struct DemoAnswers: Sendable {
    /// Gaps and entries of the ledger that are looked at: the newest.
    private static let newest = "200"

    /// `GET /v1/status`.
    var status = JSONTree.null
    /// The people that `GET /v1/responders` lists.
    var responders: [JSONTree] = []
    /// The gaps that `GET /v1/gaps` lists, newest first.
    var gaps: [JSONTree] = []
    /// The alerts that `GET /v1/alerts` lists.
    var alerts: [JSONTree] = []
    /// The entries that `GET /v1/nudges` lists, newest first.
    var nudges: [JSONTree] = []

    init() {}

    /// Asks the server.
    /// - Throws: `QuestionError` if there is no answer, or one that is refused or strange.
    init(from server: ServerQuestions) throws(QuestionError) {
        status = try server.ask("/v1/status")
        responders =
            try server.ask("/v1/responders", [("limit", "1000")])["responders"]?.elements ?? []
        gaps = try server.ask("/v1/gaps", [("limit", Self.newest)])["gaps"]?.elements ?? []
        alerts = try server.ask("/v1/alerts")["alerts"]?.elements ?? []
        nudges = try server.ask("/v1/nudges", [("limit", Self.newest)])["nudges"]?.elements ?? []
    }
}
