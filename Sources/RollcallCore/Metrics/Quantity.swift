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
}
