/// A comparison of how common something is among some people and among all others. Source: V13.
struct ShareDifference: Sendable {
    /// The chosen who have it, and of how many it is known.
    let count: Int
    let of: Int
    /// All others, alike.
    let rest: Int
    let restOf: Int

    /// The deviations that chance is given: one of a thousand comparisons goes beyond them, and a table
    /// compares hundreds.
    static let deviations = 3.0
    /// The chosen who must have it at least: what is true of two is a story, not a difference.
    static let countMin = 3

    /// The difference of the shares that is there at least, by Newcombe's interval; nil if something
    /// is not more common, or too few have it.
    ///
    /// A share of few people has a wide interval, so that it cannot come before a share of many, and
    /// neither 0 of many nor 3 of 3 breaks it. A quotient of shares would name what is rare.
    /// Source: Newcombe, "Interval estimation for the difference between independent proportions"
    /// (1998), method 10.
    func least(deviations: Double = ShareDifference.deviations) -> Double? {
        guard count >= Self.countMin, restOf > 0 else { return nil }
        let (share, restShare) = (Double(count) / Double(of), Double(rest) / Double(restOf))
        let below = share - Self.interval(count, of, deviations).low
        let above = Self.interval(rest, restOf, deviations).high - restShare
        let least = share - restShare - (below * below + above * above).squareRoot()
        return least > 0 ? least : nil
    }

    /// Wilson's interval of a share.
    private static func interval(
        _ count: Int, _ of: Int, _ deviations: Double
    ) -> (low: Double, high: Double) {
        let (number, square) = (Double(of), deviations * deviations)
        let share = Double(count) / number
        let middle = share + square / (2 * number)
        let half =
            deviations
            * (share * (1 - share) / number + square / (4 * number * number)).squareRoot()
        let scale = 1 + square / number
        return ((middle - half) / scale, (middle + half) / scale)
    }
}
