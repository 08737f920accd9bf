import RollcallCore

/// The settings of a server. Source: V8, as far as they exist.
package struct Configuration: Equatable, Sendable {
    /// The address to listen at, `host:port`; port 0 picks a free one.
    package var listenAddress = "127.0.0.1:10112"
    /// The rules for who may come in, and where else.
    package var accessPolicy = AccessSettings()
    /// The database.
    package var storagePath = "./rollcall.db"
    /// Bytes of the store at most: older history goes sooner (J7).
    package var storageBytesMax = 4 << 30
    /// True if a copy of the store is kept before it is brought up to a newer version (J15).
    package var keepsUpgradeCopy = true
    /// The settings that decide; they are journaled as `policy` events.
    package var policy = Self.standardPolicy
    /// The ways to those who are told of alerts; who they are, `policy` says.
    package var receivers = [ReceiverAddress.standard]
    /// The switch that others watch us by.
    package var alivePing = AlivePingSettings()
    /// The page of metrics.
    package var metrics = MetricsSettings()
    /// The collector that metrics are pushed to.
    package var otlp = OTLPSettings()
    /// The mode of nudges as it is written; nil if that follows from the sink (N10).
    package var nudgeMode: NudgeRules.Mode? { didSet { settleNudgeMode() } }
    /// The sink that carries pushes to phones; nil for nobody, and where secrets decide nothing.
    package var pushSink: PushSink?
    /// The texts of nudges.
    package var nudgeTexts = NudgeTexts()
    /// The other machines of the watch.
    package var cluster = ClusterSettings()
    /// The ways in for what phones send anyway.
    package var inputs: [InputSettings] = []
    /// Those to whom events are sent.
    package var subscriptions: [SubscriptionSettings] = []
    /// Items and depth of a body.
    package var scanLimits = ScanLimits()
    /// Bytes of a body at most.
    package var bodyBytesMax = 8 << 20
    /// Threads that serve connections; 0 for one a processor, four at most.
    package var webThreads = 0
    /// Connections at most.
    package var connectionsMax = 512
    /// Streams of events that may be open at once.
    package var streamsMax = 1000
    /// The warnings for the log: what is legal and still not as it should be.
    package var warnings: [String] = []

    package init() {}

    /// A configuration that decides as `policy` does, and is the default otherwise.
    package init(policy: Policy) {
        self.policy = policy
        nudgeMode = policy.nudges.mode
    }

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
    package init(yaml: String, sources: inout SettingSources) throws(ConfigurationError) {
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
        try Setting.read(&tree, &self)
        try tree.finish()
        sources = tree.sources
    }

    /// The core knows no receivers of itself: somebody must be told.
    private static var standardPolicy: Policy {
        var policy = Policy()
        policy.receivers = [.standard]
        return policy
    }

    /// Makes the mode that holds of the one that is written, or of the sink (N10).
    mutating func settleNudgeMode() {
        policy.nudges.mode = nudgeMode ?? (policy.nudges.sink == .none ? .dryRun : .live)
    }
}
