import RollcallCore

/// The settings of a server. Source: design §11, as far as they exist.
package struct Configuration: Equatable, Sendable {
    /// Where to listen, `host:port`; port 0 picks a free one.
    package var listenAddress = "127.0.0.1:10112"
    /// Who may come in, and where else.
    package var doors = DoorSettings()
    /// The database.
    package var storagePath = "./rollcall.db"
    /// Bytes of the store at most: older history goes sooner (design §1 J7).
    package var storageBytesMax = 4 << 30
    /// The settings that decide; they are journaled as `policy` events.
    package var policy = Self.standardPolicy
    /// How those who are told of alerts are reached; who they are, `policy` says.
    package var receivers = [ReceiverAddress.standard]
    /// The switch that others watch us by.
    package var alivePing = AlivePingSettings()
    /// Who carries pushes to phones; nil for nobody, and where secrets decide nothing.
    package var pushSink: PushSink?
    /// Items and depth of a body.
    package var scanLimits = ScanLimits()
    /// Bytes of a body at most.
    package var bodyBytesMax = 8 << 20
    /// Connections at most.
    package var connectionsMax = 512
    /// What is legal and still not as it should be, for the log.
    package var warnings: [String] = []

    package init() {}

    /// Reads a configuration file's text.
    ///
    /// Errors: `ConfigurationError` with the line, the setting and what to do. `ignoringSections`
    /// lets top-level sections pass unread that this version does not know how to use: a replay
    /// may carry a whole tree (fine print F5).
    package init(
        yaml: String, ignoringSections: Set<String> = []
    ) throws(ConfigurationError) {
        var sources = SettingSources()
        sources.opensSecrets = false
        try self.init(yaml: yaml, sources: &sources, ignoringSections: ignoringSections)
    }

    /// Reads a configuration file's text and what wins over it; `sources` then also tell what was
    /// asked for. Errors: as above, with the variable or flag where that gave the value.
    init(
        yaml: String, sources: inout SettingSources, ignoringSections: Set<String> = []
    ) throws(ConfigurationError) {
        var tree = try ConfigurationTree(yaml: yaml, sources: sources)
        for section in ignoringSections { tree.drop(section) }
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
        for section in Self.laterSections.sorted() {
            try tree.refuse(
                section, "not known to this version (\(BuildInformation.version)): take it out")
        }
        try tree.finish()
        sources = tree.sources
    }

    private static let retentionRange =
        Milliseconds(86_400_000)...Milliseconds(3650 * 86_400_000)
    private static let storageRange = (64 << 20)...(16 << 40)

    /// Sections of design §11 that later versions read.
    package static let laterSections: Set<String> = ["nudges"]

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
        try limits.integer("connections", in: 8...900, &connectionsMax)
    }
}

/// What is wrong with a configuration.
package struct ConfigurationError: Error, Equatable, CustomStringConvertible {
    /// Who gave the wrong value.
    package var origin: SettingOrigin
    /// What failed, the value, the limit, what to do.
    package var message: String

    init(origin: SettingOrigin, message: String) {
        self.origin = origin
        self.message = message
    }

    /// An error of the file at `line`, from 1; 0 when unknown.
    init(line: Int, message: String) {
        self.init(origin: .file(line: line), message: message)
    }

    package var description: String {
        switch origin {
        case .file(let line) where line > 0: "line \(line): \(message)"
        case .file: message
        case .variable(let name), .flag(let name): "\(name): \(message)"
        }
    }
}
