/// The phone in the hand, whoever decides its life: what its app collected, and what it says of
/// itself.
struct FleetHandset: Sendable {
    /// Updates that it keeps; then the oldest goes.
    static let queueMax = 400

    /// Updates that were not sent yet.
    var queue: [FleetUpdate] = []
    /// The telemetry that changes with what befalls it, and is sent as far as its app can.
    var isDenied = false
    var areServicesOff = false
    var savesPower = false
    var network = FleetTelemetry.Network.cellular
    private var sequence: Int64 = 1
    private var install: Int32 = 1
    private var reportsVersions = true

    /// Takes a location.
    mutating func collect(_ capturedAt: Int64, isCached: Bool = false) {
        queue.append(FleetUpdate(sequence: sequence, capturedAt: capturedAt, isCached: isCached))
        sequence += 1
        if queue.count > Self.queueMax { queue.removeFirst() }
    }

    /// Its app is started: it names its version with what it sends next.
    mutating func start() { reportsVersions = true }

    /// The app is removed and installed anew.
    mutating func reinstall() {
        install += 1
        sequence = 1
        queue = []
        start()
    }

    /// Returns what it says of itself: everything, if its app knows whether it is looked at.
    func telemetry(isInForeground: Bool?, queueDepth: Int) -> FleetTelemetry {
        FleetTelemetry(
            isDenied: isDenied, areServicesOff: areServicesOff, savesPower: savesPower,
            more: isInForeground.map {
                FleetTelemetry.More(
                    isInForeground: $0, queueDepth: UInt16(queueDepth), network: network)
            })
    }

    /// A request with these updates, which left the queue.
    mutating func batch(_ updates: [FleetUpdate], receivedAt: Int64) -> FleetBatch {
        defer { reportsVersions = false }
        return FleetBatch(
            receivedAt: receivedAt, install: install, reportsVersions: reportsVersions,
            updates: updates)
    }
}
