import Logging
import RollcallBasis
import RollcallCore
import RollcallSupport
import Synchronization

/// A running gateway: the listener, and what asks the cells, put together. It has no store, and nothing is
/// lost with it. Source: K5.
package final class GatewayServer: ForegroundServer {
    private let gateway: Gateway
    private let http: HTTPServer
    /// The listener of its own for `/metrics` and health, if it was asked for.
    private let probes: HTTPServer?
    private let front: WebFront
    private let renewal: CertificateRenewal
    private let settings: GatewaySettings
    private let log: Logger

    /// Listens, and asks the fleet cell for the map. `source` is where a reload reads the settings; `onTurn`
    /// is called twice a second, `onReload` before and after each reading of the settings.
    /// Throws `ServerError`, with what to do, if it cannot listen.
    package init(
        _ configuration: Configuration, source: SettingsSource = .defaults, log: Logger,
        onTurn: @escaping @Sendable () -> Void = {},
        onReload: @escaping @Sendable (_ begins: Bool) -> Void = { _ in }
    ) throws(ServerError) {
        self.log = log
        let listeners = try Listeners(configuration, log: log)
        let web = configuration.accessPolicy.web
        let tls = try Server.tls(web, listeners)
        let token: Secret?
        do throws(SecretFault) {
            token = try configuration.cluster.cellsToken()
        } catch {
            listeners.close()
            throw .secret(error.reason)
        }
        let accessPolicy = AccessPolicy(configuration.accessPolicy.rules, log: log)
        let front = WebFront(
            accessPolicy, tls: tls, fields: web.fields.map { ($0.name, $0.value) })
        self.front = front
        let renewal = CertificateRenewal(front, log: log)
        self.renewal = renewal
        let limits = BodyLimits(configuration.scanLimits)
        let metrics = MetricsNegotiation(configuration.metrics)
        let settings = GatewaySettings(
            configuration, source: source, log: log, onReload: onReload
        ) { new in
            limits.follow(new.scanLimits)
            metrics.follow(new.metrics)
            accessPolicy.follow(new.accessPolicy.rules)
            Server.follow(new.accessPolicy.web, front, renewal)
        }
        self.settings = settings
        let gateway = Gateway(
            urls: configuration.cluster.fleetCell, token: token, accessPolicy: accessPolicy,
            limits: limits, metrics: metrics, streamsMax: configuration.streamsMax, log: log,
            onTurn: onTurn,
            reload: { settings.reload($0) })
        self.gateway = gateway
        var httpLimits = HTTPLimits()
        httpLimits.bodyBytesMax = configuration.bodyBytesMax
        httpLimits.connectionsMax = DescriptorLimit.connections(
            configuration.connectionsMax, hasProbes: listeners.probes != nil, log: log)
        httpLimits.streamsMax = min(configuration.streamsMax, StreamRelay.streamsMax)
        let threads = configuration.webThreads
        httpLimits.threads = threads == 0 ? HTTPLimits.usualThreads : threads
        guard gateway.follower.start(), gateway.waits.start(), renewal.start() else {
            listeners.close()
            throw .threads
        }
        renewal.follow(web)
        probes = try listeners.probes.map { (listener) throws(ServerError) in
            try Server.serve(
                gateway, at: AccessPoint(listener, isForProbes: true), listener, .probes, nil)
        }
        http = try Server.serve(
            gateway, at: AccessPoint(listeners.main), listeners.main, httpLimits, front)
    }

    /// The port that is listened on.
    package var port: Int { http.port }

    /// Reads the settings again and tells the log what came of it. Returns at once.
    package func reload() { settings.reload { _ in } }

    /// Answers what is on its way, and ends.
    package func stop() {
        gateway.drain()
        renewal.close()
        front.close()
        http.quiesce()
        http.stop()
        probes?.stop()
        gateway.close()
        log.info("stopped")
    }
}

/// The settings of a gateway, and those that take their place.
private final class GatewaySettings: Sendable {
    private let source: SettingsSource
    private let started: Configuration
    private let inForce: Mutex<Configuration>
    private let log: Logger
    private let onReload: @Sendable (_ begins: Bool) -> Void
    private let apply: @Sendable (Configuration) -> Void

    init(
        _ started: Configuration, source: SettingsSource, log: Logger,
        onReload: @escaping @Sendable (_ begins: Bool) -> Void,
        apply: @escaping @Sendable (Configuration) -> Void
    ) {
        self.started = started
        self.source = source
        self.log = log
        self.onReload = onReload
        self.apply = apply
        inForce = Mutex(started)
    }

    /// Reads them again on a thread of its own: all or nothing. `reply` gets what is wrong with them.
    func reload(_ reply: @escaping @Sendable (String?) -> Void) {
        let isStarted = DetachedThread.start(stackBytes: 8 << 20) { [self] in
            let problem = inForce.withLock { read(inForce: &$0) }
            reply(problem)
        }
        if !isStarted { reply("the system starts no thread") }
    }

    private func read(inForce: inout Configuration) -> String? {
        onReload(true)
        defer { onReload(false) }
        do throws(InputFileError) {
            let new = try source.readAgain(started: started, inForce: inForce)
            apply(new)
            SettingsChange(from: inForce, started: started, to: new).write(to: log)
            inForce = new
            return nil
        } catch {
            log.error("the settings could not be taken", metadata: ["error": "\(error)"])
            return error.description
        }
    }
}
