/// An exact decimal number: so many units of the last decimal place.
///
/// The core counts in whole milliseconds and the like; no binary fraction comes between them and
/// the page.
package struct Quantity: Equatable, Sendable, ExpressibleByIntegerLiteral {
    /// The number times ten to the power of `decimals`.
    package var units: Int64
    /// Decimal places in `units`, 0 to 18.
    package var decimals: Int

    /// `units` of the last of so many decimal places.
    package init(_ units: Int64, decimals: Int = 0) {
        self.units = units
        self.decimals = decimals
    }

    /// A whole number.
    package init(_ count: Int) { self.init(Int64(count)) }

    /// A whole number, as written.
    package init(integerLiteral value: Int64) { self.init(value) }

    /// 1 for true, 0 for false.
    package init(_ holds: Bool) { self.init(holds ? 1 : 0) }

    /// A span, in seconds.
    package init(_ span: Milliseconds) { self.init(span.count, decimals: 3) }

    /// A wall time, in seconds since 1970.
    package init(_ time: Timestamp) { self.init(time.milliseconds, decimals: 3) }

    /// Appends the shortest decimal notation: `40`, `61.5`, `-0.001`.
    package func append(to output: inout [UInt8]) {
        _ = appendDigits(to: &output)
    }

    /// Appends the notation of `le`: always with a point, `15.0`, as OpenMetrics' canonical numbers
    /// and what Prometheus makes of others. It is canonical below a million, where ours end.
    package func appendCanonical(to output: inout [UInt8]) {
        if !appendDigits(to: &output) { JSONWriter.raw(".0", to: &output) }
    }

    /// Returns whether there was a fraction.
    private func appendDigits(to output: inout [UInt8]) -> Bool {
        var scale: Int64 = 1
        for _ in 0..<decimals { scale *= 10 }
        let whole = units / scale
        if units < 0 && whole == 0 { output.append(UInt8(ascii: "-")) }
        JSONWriter.integer(whole, to: &output)
        var rest = (units % scale).magnitude
        guard rest > 0 else { return false }
        output.append(UInt8(ascii: "."))
        while rest > 0 {
            scale /= 10
            output.append(UInt8(ascii: "0") + UInt8(rest / scale.magnitude))
            rest %= scale.magnitude
        }
        return true
    }

    // MARK: - Reading

    /// Reads the notation that `append` and `appendCanonical` write; nil for anything else, and for what
    /// is beyond 64 bits.
    package init?(_ text: some Collection<UInt8>) {
        var rest = text[...]
        let isNegative = rest.first == UInt8(ascii: "-")
        if isNegative { rest = rest.dropFirst() }
        // Below 0, where there is one more.
        var units: Int64 = 0
        var decimals = -1
        var hasDigit = false
        for byte in rest {
            if byte == UInt8(ascii: "."), decimals < 0, hasDigit {
                decimals = 0
                continue
            }
            guard (0x30...0x39) ~= byte else { return nil }
            let (tens, isTooMuch) = units.multipliedReportingOverflow(by: 10)
            let (rest, isStillTooMuch) = tens.subtractingReportingOverflow(Int64(byte - 0x30))
            guard !isTooMuch, !isStillTooMuch else { return nil }
            units = rest
            hasDigit = true
            if decimals >= 0 { decimals += 1 }
        }
        guard hasDigit, decimals != 0, decimals <= 18, isNegative || units > Int64.min else {
            return nil
        }
        self.init(isNegative ? units : -units, decimals: max(0, decimals))
    }

    /// The nearest binary fraction.
    package var double: Double {
        var scale = 1.0
        for _ in 0..<decimals { scale *= 10 }
        return Double(units) / scale
    }

    /// Returns by how much this is more than another one, exactly; nil if 64 bits do not hold that.
    package func difference(from other: Quantity) -> Quantity? {
        let decimals = max(decimals, other.decimals)
        guard let mine = scaled(to: decimals), let theirs = other.scaled(to: decimals) else {
            return nil
        }
        let (difference, isTooMuch) = mine.subtractingReportingOverflow(theirs)
        return isTooMuch ? nil : Quantity(difference, decimals: decimals)
    }

    private func scaled(to decimals: Int) -> Int64? {
        var scaled = units
        for _ in self.decimals..<decimals {
            let (more, isTooMuch) = scaled.multipliedReportingOverflow(by: 10)
            if isTooMuch { return nil }
            scaled = more
        }
        return scaled
    }
}
