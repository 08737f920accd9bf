import RollcallCore

/// What the server answered to one round of questions: all that the demo knows of Rollcall.
struct DemoAnswers: Sendable {
    /// Gaps and entries of the ledger that are looked at: the newest.
    private static let newest = "200"

    /// `GET /v1/status`.
    var status = JSONTree.null
    /// What `GET /v1/responders` lists.
    var responders: [JSONTree] = []
    /// What `GET /v1/gaps` lists, newest first.
    var gaps: [JSONTree] = []
    /// What `GET /v1/alerts` lists.
    var alerts: [JSONTree] = []
    /// What `GET /v1/nudges` lists, newest first.
    var nudges: [JSONTree] = []

    init() {}

    /// Asks the server.
    init(from server: ServerQuestions) throws(QuestionError) {
        status = try server.ask("/v1/status")
        responders =
            try server.ask("/v1/responders", [("limit", "1000")])["responders"]?.elements ?? []
        gaps = try server.ask("/v1/gaps", [("limit", Self.newest)])["gaps"]?.elements ?? []
        alerts = try server.ask("/v1/alerts")["alerts"]?.elements ?? []
        nudges = try server.ask("/v1/nudges", [("limit", Self.newest)])["nudges"]?.elements ?? []
    }
}
