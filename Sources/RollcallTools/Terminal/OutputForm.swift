/// The form in which a list is printed, as `-o` names it. Source: V6.
package enum OutputForm: String, CaseIterable, Sendable {
    /// One document of what the server answered; of events a line each.
    case json
    /// A page for people.
    case table
    /// Rows for a spreadsheet, by RFC 4180.
    case csv
    /// Ids that other commands take, a line each.
    case ids

    /// Records that are asked for: `limit` if somebody gave one. Without it a page for people has so
    /// many as it is meant for, and all else has the whole list, up to what `most` bounds.
    func count(_ limit: Int?, standard: Int, most: Int) -> Int {
        limit ?? (self == .table ? standard : most)
    }
}
