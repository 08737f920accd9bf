import Glibc
import Logging
import RollcallBasis
import RollcallCore
import RollcallStore
import RollcallSupport
import Synchronization

/// A running Rollcall: the store, the state writer and the listener, put together.
///
/// The order of the end is the one libmicrohttpd needs: no new connections, every parked request
/// answered after its commit, the daemon stopped, then the state writer's last turn and checkpoint.
package final class Server: ForegroundServer {
    private let writer: StateWriter
    private let http: HTTPServer
    /// The listener of its own for `/metrics` and health, if it was asked for.
    private let probes: HTTPServer?
    private let router: Router
    private let reloader: Reloader
    private let ping: AlivePing
    private let exporter: OTLPExporter
    private let subscriptions: MQTTInputs
    private let senders: SubscriptionSenders
    /// The one who hands the map to cells, if this is the fleet cell.
    private let mapSender: CellMapSender?
    /// The one who notices that the fleet cell asks no more, if this is a cell.
    private let fleetCellWatch: FleetCellWatch?
    private let front: WebFront
    private let renewal: CertificateRenewal
    private let log: Logger

    /// Exit code of a failing disk. Source: J6, sysexits.h EX_IOERR.
    private static let failedDisk: CInt = 74

    /// Opens the store, comes back to the last committed turn and listens.
    ///
    /// `source` is where a reload reads the settings; `tail` has the last lines of `log`; `onTurn` is called whenever the state
    /// writer's loop has gone round, `onReload` before and after each reading of the settings; `onCopy`
    /// when the process has to begin again, with the store of another member.
    /// Throws `ServerError`, with what to do, if it cannot listen or the store cannot be opened.
    package init(
        _ configuration: Configuration, source: SettingsSource = .defaults, log: Logger,
        tail: LogTail = LogTail(), onTurn: @escaping @Sendable () -> Void = {},
        onWait: @escaping @Sendable (String) -> Void = { _ in },
        onReload: @escaping @Sendable (_ begins: Bool) -> Void = { _ in },
        onCopy: @escaping @Sendable () -> Void = {}
    ) throws(ServerError) {
        self.log = log
        // First, so that an address that cannot be had leaves no trace in a store.
        let listeners = try Listeners(configuration, log: log)
        let web = configuration.accessPolicy.web
        let tls = try Self.tls(web, listeners)
        let cells = CellBoard(configuration.cluster.cellRole)
        let edge = EdgeStats(cells: cells)
        edge.inputs.follow(configuration)
        var shares = Admission.Limits()
        shares.sharedWritesMax = configuration.connectionsMax / 2
        let workload = Workload()
        let admission = Admission(limits: shares, workload: workload)
        let watch = ListenerWatch()
        let receivers = ReceiverBook(configuration)
        let endpoints = DeliveryEndpoints(receivers)
        let member: MemberSeat.Parts?
        let cellsToken: Secret?
        do throws(SecretFault) {
            member = try MemberSeat.Parts(configuration, onCopy: onCopy)
            cellsToken = try configuration.cluster.cellsToken()
        } catch {
            listeners.close()
            throw .secret(error.reason)
        }
        do throws(StoreError) {
            writer = try StateWriter(
                path: configuration.storagePath, policy: configuration.policy,
                storeBytesMax: Int64(configuration.storageBytesMax),
                log: log, edge: edge, endpoints: endpoints, workload: workload,
                member: member,
                upgrade: UpgradeLog.watch(configuration, log, onWait: onWait),
                refusals: { watch.stats.writesRefused + admission.refused }, onTurn: onTurn,
                onFatal: { _ in Foreground.end(Self.failedDisk) })
        } catch {
            listeners.close()
            throw .store(path: configuration.storagePath, error)
        }
        let ping = AlivePing(board: writer.health, edge: edge, log: log)
        self.ping = ping
        ping.follow(configuration.alivePing)
        let name = String(decoding: configuration.cluster.memberName, as: UTF8.self)
        let exporter = OTLPExporter(
            edge: edge, instance: "\(name):\(listeners.main.port)", log: log)
        self.exporter = exporter
        exporter.follow(configuration.otlp)
        let accessPolicy = AccessPolicy(configuration.accessPolicy.rules, log: log)
        let front = WebFront(
            accessPolicy, tls: tls, fields: web.fields.map { ($0.name, $0.value) })
        self.front = front
        let renewal = CertificateRenewal(front, log: log)
        self.renewal = renewal
        let bodyLimits = BodyLimits(configuration.scanLimits)
        let metrics = MetricsNegotiation(configuration.metrics)
        let subscriptions = MQTTInputs(
            writer: writer, edge: edge, admission: admission, limits: bodyLimits, log: log)
        self.subscriptions = subscriptions
        let erasedIDs = ErasedIDs()
        let senders = SubscriptionSenders(writer: writer, edge: edge, erasedIDs: erasedIDs)
        self.senders = senders
        reloader = Reloader(
            configuration, source: source, writer: writer, edge: edge, log: log,
            onReload: onReload, prepare: { receivers.prepare($0) },
            apply: { configuration in
                bodyLimits.follow(configuration.scanLimits)
                metrics.follow(configuration.metrics)
                accessPolicy.follow(configuration.accessPolicy.rules)
                Self.follow(configuration.accessPolicy.web, front, renewal)
                edge.inputs.follow(configuration)
                subscriptions.follow(configuration)
                senders.follow(configuration)
                ping.follow(configuration.alivePing)
                exporter.follow(configuration.otlp)
                return receivers.follow(configuration)
            })
        let connectionsMax = DescriptorLimit.connections(
            configuration.connectionsMax, hasProbes: listeners.probes != nil, log: log)
        let streamsMax = DescriptorLimit.streams(
            configuration.streamsMax, connections: connectionsMax,
            hasProbes: listeners.probes != nil, log: log)
        let router = Router(
            writer: writer, edge: edge, limits: bodyLimits, accessPolicy: accessPolicy,
            admission: admission,
            reloader: reloader,
            streamsMax: streamsMax,
            erasedIDs: erasedIDs, tail: tail, metrics: metrics,
            listener: { watch.stats })
        self.router = router
        var limits = HTTPLimits()
        limits.bodyBytesMax = configuration.bodyBytesMax
        limits.connectionsMax = connectionsMax
        limits.streamsMax = streamsMax
        let threads = configuration.webThreads
        limits.threads = threads == 0 ? HTTPLimits.usualThreads : threads
        mapSender =
            configuration.cluster.cells.isEmpty
            ? nil
            : CellMapSender(
                configuration.cluster.cells, token: cellsToken, writer: writer, board: cells)
        let isCell = if case .cell = cells.role { true } else { false }
        fleetCellWatch = isCell ? FleetCellWatch(writer: writer, board: cells) : nil
        guard writer.start(), mapSender?.start() ?? true, fleetCellWatch?.start() ?? true else {
            listeners.close()
            throw .threads
        }
        if case .cell(let name) = cells.role {
            log.info(
                "a cell of a fleet",
                metadata: [
                    "cell": "\(String(decoding: name, as: UTF8.self))",
                    "map_version": "\(cells.map?.version ?? 0)",
                ])
        }
        // Before a reload can say something else.
        senders.follow(configuration)
        renewal.follow(web)
        guard reloader.start(), ping.start(), renewal.start(),
            exporter.start(page: { router.scrapes.page(within: $0, $1) })
        else {
            listeners.close()
            throw .threads
        }
        probes = try listeners.probes.map { (listener) throws(ServerError) in
            try Self.serve(
                router, at: AccessPoint(listener, isForProbes: true), listener, .probes, nil,
                answers: router.writer.answers)
        }
        http = try Self.serve(
            router, at: AccessPoint(listeners.main), listeners.main, limits, front,
            answers: router.writer.answers)
        watch.watch(http)
        subscriptions.follow(configuration)
    }

    /// Returns the TLS of the start; nil for none.
    static func tls(
        _ web: WebSettings, _ listeners: Listeners
    ) throws(ServerError) -> ServerTLS? {
        do throws(TLSServerFault) {
            return try web.tls.map { (tls) throws(TLSServerFault) in try ServerTLS(tls) }
        } catch {
            listeners.close()
            throw .tls("\(error.field) \(error.reason)")
        }
    }

    /// Follows a web configuration that was read again, and found to be right.
    static func follow(
        _ web: WebSettings, _ front: WebFront, _ renewal: CertificateRenewal
    ) {
        front.follow(fields: web.fields.map { ($0.name, $0.value) })
        let made = web.tls.flatMap { try? ServerTLS($0) }
        renewal.follow(web, generation: front.follow(made))
    }

    /// Serves `edge` at a listener; `answers` gathers the answers of whoever gives many at once.
    static func serve(
        _ edge: some HTTPEdge, at accessPoint: AccessPoint, _ listener: HTTPListener,
        _ limits: HTTPLimits, _ front: WebFront?, answers: AnswerBatch = AnswerBatch()
    ) throws(ServerError) -> HTTPServer {
        let log = edge.log
        do throws(HTTPServerError) {
            return try HTTPServer(
                listener: listener, limits: limits, web: front, answers: answers,
                isMisdirected: { edge.isMisdirected($0, at: accessPoint) },
                isUnauthenticated: { edge.isUnauthenticated($0) },
                early: { edge.authorise($0, at: accessPoint) },
                refused: { edge.count($0, refusedWith: $1) },
                full: {
                    log.warning(
                        "all connections are in use: who comes waits, and who is slow is cut",
                        metadata: ["connections": "\($0)", "port": "\(listener.port)"])
                },
                handler: { edge.handle($0, $1) })
        } catch {
            throw .listener(accessPoint.isForProbes ? .probes : .main, error)
        }
    }

    /// The port that is listened on.
    package var port: Int { http.port }

    /// The port of the listener for `/metrics` and health; nil without one.
    package var probesPort: Int? { probes?.port }

    /// Reads the settings again and tells the log what came of it. Returns at once.
    package func reload() { reloader.reload { _ in } }

    /// Drains, commits, checkpoints, closes. Returns when all of it is done.
    ///
    /// Probes are answered until the last write is: readiness says no, the process is healthy.
    package func stop() {
        ping.close()
        exporter.close()
        subscriptions.close()
        senders.close()
        mapSender?.close()
        fleetCellWatch?.close()
        router.drain()
        renewal.close()
        front.close()
        http.quiesce()
        http.stop()
        probes?.stop()
        router.close()
        reloader.close()
        let semaphore = UnsafeMutablePointer<sem_t>.allocate(capacity: 1)
        sem_init(semaphore, 0, 0)
        let box = SemaphoreBox(semaphore)
        writer.stop { sem_post(box.semaphore) }
        while sem_wait(semaphore) != 0 && errno == EINTR {}
        sem_destroy(semaphore)
        semaphore.deallocate()
        log.info("stopped")
    }

    /// `@unchecked Sendable` is true because semaphores are made for several threads.
    private struct SemaphoreBox: @unchecked Sendable {
        let semaphore: UnsafeMutablePointer<sem_t>
        init(_ semaphore: UnsafeMutablePointer<sem_t>) { self.semaphore = semaphore }
    }
}

/// The sockets, open before anything else is.
struct Listeners {
    let main: HTTPListener
    let probes: HTTPListener?

    init(_ configuration: Configuration, log: Logger) throws(ServerError) {
        let address = configuration.accessPolicy.metricsListenAddress
        main = try Self.open(configuration.listenAddress, .main)
        do throws(ServerError) {
            probes = address.isEmpty ? nil : try Self.open(address, .probes)
        } catch {
            main.close()
            throw error
        }
        if !main.isLoopback, configuration.accessPolicy.letIn.isOpen,
            !configuration.accessPolicy.asksForCertificates
        {
            log.warning(
                "listening beyond loopback without tokens: who reaches it reads and writes all",
                metadata: ["address": "\(main.address)"])
        }
        if let probes {
            log.info(
                "metrics and health have a listener of their own",
                metadata: ["address": "\(probes.address)", "port": "\(probes.port)"])
        }
    }

    private static func open(
        _ address: String, _ role: ServerError.Role
    ) throws(ServerError) -> HTTPListener {
        do throws(HTTPServerError) {
            return try HTTPListener(address: address)
        } catch {
            throw .listener(role, error)
        }
    }

    func close() {
        main.close()
        probes?.close()
    }
}

/// The facts about the listener that the state writer and scrapes need to know, as it exists only
/// after them.
private final class ListenerWatch: Sendable {
    private let http = Mutex<HTTPServer?>(nil)

    /// The counts so far.
    var stats: HTTPStats { http.withLock { $0?.stats } ?? HTTPStats() }

    func watch(_ server: HTTPServer) { http.withLock { $0 = server } }
}

/// The reason why a server does not come up.
package enum ServerError: Error, CustomStringConvertible {
    /// The role of a listener.
    package enum Role: String, Sendable {
        /// The one for everything.
        case main = "web.listen_address"
        /// The one for `/metrics` and health.
        case probes = "web.metrics_listen_address"
    }

    case store(path: String, StoreError)
    case listener(Role, HTTPServerError)
    /// The certificates of the web configuration, which were right when it was read.
    case tls(String)
    /// A file of a secret that the log or the other members ask for.
    case secret(String)
    /// The system starts no thread for a part without which there is no watch.
    case threads

    package var description: String {
        switch self {
        case .store(let path, let error): "storage.path \(path): \(error)"
        case .secret(let reason): "a secret cannot be read: \(reason)"
        case .tls(let reason): "web.config_file: \(reason)"
        case .listener(let role, let error): "\(role.rawValue): \(error)"
        case .threads:
            "the system starts no thread: allow this user more (ulimit -u, TasksMax), start again"
        }
    }
}
