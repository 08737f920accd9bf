/// A gap's evidence as a JSON object: facts, never prose, and only what is known. Source: Contract/Gaps.
package enum GapEvidence {
    /// Appends the members of a gap's line, each behind a comma, the evidence last.
    package static func appendMembers(_ report: GapReport, to output: inout [UInt8]) {
        JSONWriter.raw(",\"state\":", to: &output)
        JSONWriter.word(report.state.word, to: &output)
        JSONWriter.raw(",\"suspected\":", to: &output)
        JSONWriter.word(report.suspected.word, to: &output)
        if let verdict = report.verdict {
            JSONWriter.raw(",\"verdict\":", to: &output)
            JSONWriter.word(verdict.word, to: &output)
        }
        JSONWriter.raw(",\"evidence\":", to: &output)
        append(report, to: &output)
    }

    /// Appends the object: what a suspicion rests on, and with the verdict what the return showed.
    package static func append(_ report: GapReport, to output: inout [UInt8]) {
        var object = ObjectWriter(&output)
        if report.state == .verdict {
            appendReturn(report.seen, to: &object)
        } else {
            appendFacts(report.facts, to: &object)
            if let ruled = report.ruled { object.word("by_rule", ruled.word) }
        }
        if report.closedAt > .distantPast {
            object.time("opened_at", report.openedAt)
            object.integer("length_ms", report.length.count)
        }
        if report.blind.count > 0 { object.integer("blind_ms", report.blind.count) }
        object.end()
        output = object.bytes
    }

    private static func appendFacts(_ facts: GapFacts, to object: inout ObjectWriter) {
        object.time("last_contact_at", facts.lastContactAt)
        let telemetry = facts.telemetry
        for field in Telemetry.fields {
            let value = Int(field.value(telemetry))
            guard value > 0 else { continue }
            if field.values.count == 3 {
                object.flag(field.name, value == 1)
            } else {
                object.word(field.name, field.values[value])
            }
        }
        if !facts.queueDepths.isEmpty {
            object.integers("queue_depths", facts.queueDepths.map { Int64($0) })
        } else if telemetry.queueDepth != Telemetry.queueDepthUnknown {
            object.integers("queue_depths", [Int64(telemetry.queueDepth)])
        }
        if facts.battery >= 0 { object.fraction("battery_level", Int64(facts.battery)) }
        if facts.platform != .unknown { object.word("platform", facts.platform.word) }
        guard let group = facts.group else { return }
        object.object("group") { inner in
            inner.integer("id", group.id)
            inner.word("of", group.isFeed ? "feed" : "region")
            if !group.isFeed { inner.text("region", facts.region) }
            inner.integer("members", Int64(group.members))
            inner.integer("active", Int64(group.active))
        }
    }

    private static func appendReturn(_ seen: GapReturn, to object: inout ObjectWriter) {
        object.time("returned_at", seen.at)
        object.integer("updates", Int64(seen.updates))
        object.integer("captured_inside", Int64(seen.capturedInside))
        object.time("first_captured_inside_at", seen.firstInsideAt)
        object.time("last_captured_inside_at", seen.lastInsideAt)
        if seen.isReinstalled { object.flag("new_install", true) }
        if seen.isPermissionDenied { object.word("permission_status", "denied") }
        if seen.areServicesOff { object.flag("location_services", false) }
    }
}
