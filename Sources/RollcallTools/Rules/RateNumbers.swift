import RollcallCore

/// Numbers of people around the threshold of a rate.
struct RateNumbers {
    let alerts: AlertRules
    /// The number of those who are expected.
    let all: Int
    /// So many OFFLINE are not above the share.
    let most: Int
    /// One ten-thousandth above it.
    let above: Int

    init(_ alerts: AlertRules) {
        self.alerts = alerts
        let share = Int(alerts.offlineAbove)
        let more = share + 1
        let times = max(
            1, (alerts.offlineMinActive + 9999) / 10_000, (alerts.offlineMin + more - 1) / more)
        (all, most, above) = (10_000 * times, share * times, more * times)
    }

    /// False if the share is 1, which nothing is above.
    var isPossible: Bool { alerts.offlineAbove < 10_000 }

    /// Adds how many people are ONLINE and OFFLINE: so many of so many from each step on.
    func add(
        to test: inout RuleCase, _ counts: [(from: Int, offline: Int, of: Int)],
        gone: Int? = nil, again: Int? = nil, instance: String = "a", last: Int
    ) {
        for status in ["ONLINE", "OFFLINE"] {
            var values = counts.map { count -> (from: Int, RuleCase.Value) in
                let number = status == "OFFLINE" ? count.offline : count.of - count.offline
                return (count.from, .number(number))
            }
            if let gone { values.append((gone, .gone)) }
            if let again { values.append((again, .number(status == "OFFLINE" ? 0 : all))) }
            let region = alerts.isOfflineByRegion ? [("region", "north")] : []
            test.series(
                alerts.isOfflineByRegion ? "rollcall_responders" : "responders_by_status",
                of: region + [("status", status)], instance: instance, values, last: last)
        }
    }
}
