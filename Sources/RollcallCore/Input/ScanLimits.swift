/// The form in which a body holds its items.
package enum BodyFormat: Sendable {
    /// One object or an array of objects.
    case json
    /// One object a line.
    case lines
}

/// The limits of a body's content. Source: V8 `limits`.
package struct ScanLimits: Equatable, Sendable {
    /// Items a body; the next one ends the reading with `ScanError.tooManyItems`.
    package var itemsMax: Int
    /// Nested containers, at most 64.
    package var depthMax: Int
    /// Circles of one person; what is behind them is left out.
    package var circlesMax: Int

    /// Limits as given; the depth is held between 3 and 64.
    package init(
        itemsMax: Int = 10_000, depthMax: Int = 16, circlesMax: Int = ItemScanner.circlesMax
    ) {
        self.itemsMax = itemsMax
        self.circlesMax = circlesMax
        self.depthMax = min(max(depthMax, 3), 64)
    }
}

/// The error for which a whole body is refused.
package enum ScanError: Error, Equatable, Sendable {
    /// It is not JSON, or nested too deep.
    case notJSON(JSONError)
    /// It holds more items than allowed.
    case tooManyItems(limit: Int)
}
