import RollcallCore

/// The settings of a server. Source: V8, as far as they exist.
package struct Configuration: Equatable, Sendable {
    /// The address to listen at, `host:port`; port 0 picks a free one.
    package var listenAddress = "127.0.0.1:10112"
    /// The rules for who may come in, and where else.
    package var doors = DoorSettings()
    /// The database.
    package var storagePath = "./rollcall.db"
    /// Bytes of the store at most: older history goes sooner (J7).
    package var storageBytesMax = 4 << 30
    /// The settings that decide; they are journaled as `policy` events.
    package var policy = Self.standardPolicy
    /// The ways to those who are told of alerts; who they are, `policy` says.
    package var receivers = [ReceiverAddress.standard]
    /// The switch that others watch us by.
    package var alivePing = AlivePingSettings()
    /// The mode of nudges as it is written; nil if that follows from the sink (N10).
    package var nudgeMode: NudgeRules.Mode?
    /// The sink that carries pushes to phones; nil for nobody, and where secrets decide nothing.
    package var pushSink: PushSink?
    /// The texts of nudges.
    package var nudgeTexts = NudgeTexts()
    /// Items and depth of a body.
    package var scanLimits = ScanLimits()
    /// Bytes of a body at most.
    package var bodyBytesMax = 8 << 20
    /// Connections at most.
    package var connectionsMax = 512
    /// The warnings for the log: what is legal and still not as it should be.
    package var warnings: [String] = []

    package init() {}

    /// Reads a configuration file's text.
    ///
    /// Throws `ConfigurationError`, if anything is wrong, with the line, the setting and what to
    /// do.
    package init(yaml: String) throws(ConfigurationError) {
        var sources = SettingSources()
        sources.opensSecrets = false
        try self.init(yaml: yaml, sources: &sources)
    }

    /// Reads a configuration file's text and what wins over it; `sources` then also tell what was
    /// asked for. Throws `ConfigurationError` as above, with the variable or flag where that gave
    /// the value, and with whatever else is wrong.
    init(yaml: String, sources: inout SettingSources) throws(ConfigurationError) {
        var faults = ConfigurationFaults()
        repeat {
            var attempt = sources
            attempt.skipped = faults.skipped
            do throws(ConfigurationError) {
                let configuration = try Configuration(reading: yaml, sources: &attempt)
                guard faults.all == nil else { break }
                self = configuration
                sources = attempt
                return
            } catch {
                faults.take(error)
            }
        } while faults.mayBeMore
        throw faults.all ?? ConfigurationError(line: 0, message: "cannot be read")
    }

    /// Reads a file until something is wrong.
    /// - Throws: `ConfigurationError` if something is wrong: the first of it.
    private init(
        reading yaml: String, sources: inout SettingSources
    ) throws(ConfigurationError) {
        var tree = try ConfigurationTree(yaml: yaml, sources: sources)
        try tree.section("web") { (web) throws(ConfigurationError) in
            try web.text("listen_address", &listenAddress)
            if HTTPListener.isLoopback(listenAddress) == nil {
                throw web.fault(
                    "listen_address", "must be like 127.0.0.1:8080 or [::1]:8080", listenAddress)
            }
            try doors.read(&web)
        }
        try tree.section("storage") { (storage) throws(ConfigurationError) in
            try storage.text("path", &storagePath)
            try storage.duration("retention", in: Self.retentionRange, &policy.retention)
            try storage.size("size", in: Self.storageRange, &storageBytesMax)
        }
        try tree.section("liveness") { (liveness) throws(ConfigurationError) in
            try readLiveness(&liveness)
        }
        try tree.section("feed") { (feed) throws(ConfigurationError) in
            try feed.integer("min_active", in: 1...1_000_000, &policy.feedMinActive)
            try feed.duration("stall_after", &policy.feedStallAfter)
        }
        try tree.section("limits") { (limits) throws(ConfigurationError) in
            try readLimits(&limits)
        }
        try tree.section("coverage") { (coverage) throws(ConfigurationError) in
            try coverage.names("regions", &policy.coverageRegions)
        }
        try tree.section("alerts") { (alerts) throws(ConfigurationError) in
            try policy.alerts.read(&alerts)
        }
        let told = try ReceiverSettings(&tree)
        policy.receivers = told.receivers
        receivers = told.addresses
        try tree.section("alive_ping") { (ping) throws(ConfigurationError) in
            try alivePing.read(&ping)
        }
        try tree.section("nudges") { (nudges) throws(ConfigurationError) in
            let read = try NudgeSettings(&nudges)
            (policy.nudges, nudgeMode) = (read.rules, read.mode)
            (pushSink, nudgeTexts) = (read.sink, read.texts)
        }
        try tree.finish()
        sources = tree.sources
    }

    private static let retentionRange =
        Milliseconds(86_400_000)...Milliseconds(3650 * 86_400_000)
    private static let storageRange = (64 << 20)...(16 << 40)

    /// The core knows no receivers of itself: somebody must be told.
    private static var standardPolicy: Policy {
        var policy = Policy()
        policy.receivers = [.standard]
        return policy
    }

    private mutating func readLiveness(
        _ liveness: inout ConfigurationTree
    ) throws(ConfigurationError) {
        try liveness.section("on_duty") { (profile) throws(ConfigurationError) in
            try Self.readProfile(&profile, &policy.onDuty)
        }
        try liveness.section("on_mission") { (profile) throws(ConfigurationError) in
            try Self.readProfile(&profile, &policy.onMission)
        }
        try liveness.factor("low_power_factor", &policy.lowPowerFactor)
        try liveness.section("platform_factors") { (factors) throws(ConfigurationError) in
            try factors.factor("ios", &policy.iosFactor)
            try factors.factor("android", &policy.androidFactor)
        }
        var word = policy.serverTransitions == .adopt ? "adopt" : "observe"
        try liveness.text("server_transitions", &word, oneOf: ["adopt", "observe"])
        policy.serverTransitions = word == "observe" ? .observe : .adopt
        try liveness.duration("forget_after", &policy.forgetAfter)
    }

    private static func readProfile(
        _ tree: inout ConfigurationTree, _ profile: inout Policy.Profile
    ) throws(ConfigurationError) {
        try tree.duration("expected", &profile.expected)
        try tree.duration("degraded_after", &profile.degradedAfter)
        try tree.duration("offline_after", &profile.offlineAfter)
        if profile.expected > profile.degradedAfter {
            throw tree.fault(
                "expected", "must not be longer than degraded_after",
                "\(SettingText.of(profile.expected)) > \(SettingText.of(profile.degradedAfter))",
                or: ["degraded_after"])
        }
        if profile.degradedAfter >= profile.offlineAfter {
            throw tree.fault(
                "offline_after", "must be longer than degraded_after",
                "\(SettingText.of(profile.offlineAfter)) <= \(SettingText.of(profile.degradedAfter))",
                or: ["degraded_after"])
        }
    }

    private mutating func readLimits(
        _ limits: inout ConfigurationTree
    ) throws(ConfigurationError) {
        // An item is journaled as one row, and never longer there than it was in its body.
        try limits.size("body", in: 1024...Journal.bodyBytesMax, &bodyBytesMax)
        try limits.integer("items", in: 1...1_000_000, &scanLimits.itemsMax)
        try limits.integer("depth", in: 3...64, &scanLimits.depthMax)
        try limits.integer("responders", in: 1...50_000_000, &policy.respondersMax)
        try limits.integer("regions", in: 1...10_000, &policy.regionLabelsMax)
        try limits.integer("circles", in: 1...ItemScanner.circlesMax, &scanLimits.circlesMax)
        try limits.integer("circle_names", in: 1...50_000_000, &policy.circleNamesMax)
        try limits.integer("region_names", in: 2...1_000_000, &policy.regionNamesMax)
        try limits.integer("version_names", in: 1...65_000, &policy.versionNamesMax)
        try limits.integer("connections", in: 8...900, &connectionsMax)
    }
}
