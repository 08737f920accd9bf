/// A `PostgresCommit` says what became of a transaction whose COMMIT was sent. Source: S3.
///
///     COMMIT, no notice, standbys named before and after it   landed
///     the tag ROLLBACK, or a refusal of class 40               not run, and never will be
///     any notice                                               unknown: the wait was cancelled, and the
///                                                              rows are visible at the primary only
///     anything else refused, a lost connection, a time-out     unknown
enum PostgresCommit: Equatable {
    case landed
    /// It was certainly undone; why.
    case undone(String)
    /// Nobody knows; why.
    case unknown(String)

    /// Sent together: `current_setting` tells whether the commit could have waited for anybody. Both
    /// are one round trip.
    static let statements = [
        PostgresStatement("COMMIT"),
        PostgresStatement(
            "SELECT current_setting('synchronous_standby_names'), current_setting('fsync') = 'on'"),
    ]

    /// The outcome by the answers to `statements`, or the fault instead of them, and by what the server
    /// said beside.
    init(
        _ answers: Result<[PostgresAnswer], PostgresFault>, notices: [PostgresWords],
        isSingleCopy: Bool
    ) {
        switch answers {
        case .failure(.refused(let words)) where Self.wasUndone(words) && notices.isEmpty:
            self = .undone("\(words)")
        case .failure(let fault): self = .unknown("\(fault)")
        case .success(let answers):
            guard let command = answers.first?.command else {
                self = .unknown("an answer that makes no sense")
                return
            }
            if command == "ROLLBACK" {
                self = .undone("the server rolled the transaction back")
            } else if command != "COMMIT" {
                self = .unknown("an answer to something else")
            } else if let notice = notices.first {
                self = .unknown("\(notice)")
            } else if let refusal = Self.refusal(answers, isSingleCopy: isSingleCopy) {
                self = .unknown(refusal)
            } else {
                self = .landed
            }
        }
    }

    /// Class 40 is "transaction rollback"; 40003 is "statement completion unknown".
    private static func wasUndone(_ words: PostgresWords) -> Bool {
        words.severity == "ERROR" && words.state.hasPrefix("40") && words.state != "40003"
    }

    private static func refusal(_ answers: [PostgresAnswer], isSingleCopy: Bool) -> String? {
        guard answers.count == 2, let row = answers[1].rows.first, row.count == 2,
            let standbys = row[0], let hasFsync = row[1]?.first
        else { return "an answer that makes no sense" }
        return PostgresStanding.refusal(
            standbys: PostgresBinary.text(standbys), hasFsync: hasFsync == 1,
            isSingleCopy: isSingleCopy)
    }
}
