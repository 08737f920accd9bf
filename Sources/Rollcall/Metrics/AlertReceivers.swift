import RollcallBasis
import RollcallCore

extension Exposition {
    /// Appends how many receivers are told of each alert. Source: rule V20.
    mutating func appendReceivers(of policy: Policy) {
        family(
            "rollcall_alert_receivers", .gauge,
            "Receivers other than logs that Rollcall tells of alerts of a name and severity.")
        for audience in AlertAudience.all(policy) {
            let counts: [(StaticString, Int)] = [
                ("all", audience.whole.count), ("some", audience.partial.count),
            ]
            for (extent, count) in counts {
                sample(
                    [
                        "alertname": .word(audience.name.word),
                        "severity": .word(audience.severity.word), "extent": .word(extent),
                    ], Quantity(count))
            }
        }
    }
}
