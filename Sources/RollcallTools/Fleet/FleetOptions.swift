import RollcallCore
import RollcallSupport

/// The options of a fleet on the command line, as text; nil where nothing was said.
package struct FleetOptions: Sendable {
    package var responders = 1000
    package var regions = 4
    package var days: Int64?
    package var span: String?
    package var seed: UInt64 = 1
    package var start: String?

    package init() {}

    /// Reads the options. `now` is where a history ends that says nothing of its beginning; nil for
    /// one that begins at a fixed date.
    /// - Throws: `FleetError.wrongOption` if one makes no sense.
    package func settings(endingAt now: Timestamp?) throws(FleetError) -> FleetSettings {
        guard (1...FleetSettings.respondersMax).contains(responders) else {
            throw .wrongOption("--responders: 1 to \(FleetSettings.respondersMax) expected")
        }
        guard (1...FleetSettings.regionsMax).contains(regions) else {
            throw .wrongOption("--regions: 1 to \(FleetSettings.regionsMax) expected")
        }
        let span = try length()
        var settings = FleetSettings(
            responders: responders, regions: regions, seed: seed, span: span)
        if let start {
            let bytes = Array(start.utf8)
            guard let at = RFC3339.parse(bytes.span, 0..<bytes.count) else {
                throw .wrongOption(
                    "--start: a time like 2026-11-21T00:00:00Z expected (\(ConsoleText.safe(start)))"
                )
            }
            settings.start = at
        } else if let now {
            // The last whole minute: whoever opens it finds a fleet that was there just now.
            let end = now.milliseconds / FleetPlan.minute * FleetPlan.minute
            settings.start = Timestamp(milliseconds: end) - span
        }
        guard settings.start.milliseconds >= 0,
            settings.end.milliseconds <= RFC3339.millisecondsMax - FleetPlan.day * 2
        else { throw .wrongOption("--start: too far from today") }
        return settings
    }

    /// Returns how long it lasts.
    /// - Throws: `FleetError.wrongOption` if both options are given, or one beyond its range.
    func length() throws(FleetError) -> Milliseconds {
        if days != nil, span != nil {
            throw .wrongOption("--days and --for say the same: one of them")
        }
        if let span {
            guard let length = SettingText.duration(span), length.count >= 1000,
                length.count <= FleetSettings.daysMax * FleetPlan.day
            else {
                throw .wrongOption(
                    "--for: 1s to \(FleetSettings.daysMax)d expected, like 90m or 7d "
                        + "(\(ConsoleText.safe(span)))")
            }
            return length
        }
        let days = days ?? 1
        guard (1...FleetSettings.daysMax).contains(days) else {
            throw .wrongOption("--days: 1 to \(FleetSettings.daysMax) expected")
        }
        return Milliseconds(days * FleetPlan.day)
    }
}
