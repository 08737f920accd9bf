import RollcallCore

/// A `Printout` is what a command prints, and what a list of it lacks.
package struct Printout: Sendable, Equatable {
    /// The text for standard output.
    package var text: String
    /// A sentence for standard error; nil if the list is whole, or as long as somebody wanted it.
    package var lack: String?

    /// A text that lacks nothing unless `lack` says so.
    init(_ text: String, lack: String? = nil) {
        self.text = text
        self.lack = lack
    }

    /// Returns what a list of so many records lacks: nothing if it is whole, or if `limit` wanted no
    /// more. `advice` says how to get at the rest.
    static func lack(
        _ isWhole: Bool, _ count: Int, of noun: String, limit: Int?, advice: String
    ) -> String? {
        if isWhole || limit.map({ count >= $0 }) == true { return nil }
        return "the list is not whole: there are more than \(count.grouped) \(noun). \(advice)"
    }
}
