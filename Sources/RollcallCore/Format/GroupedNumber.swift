extension BinaryInteger {
    /// The number as people read it in a sentence or a table, in groups of three digits: `12,345`.
    ///
    /// With commas, as the page has them: a thin space is a box on some terminals, and a pager may break a
    /// line at it. What machines read has no groups.
    package var grouped: String {
        let digits = String(magnitude)
        var text = self < 0 ? "-" : ""
        for (place, digit) in digits.enumerated() {
            if place > 0, (digits.count - place) % 3 == 0 { text.append(",") }
            text.append(digit)
        }
        return text
    }
}
