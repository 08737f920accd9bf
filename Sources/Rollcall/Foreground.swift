import Glibc
import Logging
import RollcallBasis
import RollcallSupport

/// A server that a signal ends.
protocol ForegroundServer: Sendable {
    /// The port that is listened on.
    var port: Int { get }

    /// Reads the settings again; returns at once.
    func reload()

    /// Ends it; returns when all of it is done.
    func stop()
}

/// A server in the foreground of a terminal or a supervisor, until a signal ends it.
package enum Foreground {
    /// Runs until SIGTERM or SIGINT, then exits: 0 after an orderly end, 1 if it did not come up.
    /// SIGHUP has the settings read again from `source`.
    ///
    /// A second signal exits at once with 130: what was acknowledged is stored all the same. A gateway is
    /// one to the fleet cell that the settings name.
    package static func run(
        _ configuration: Configuration, source: SettingsSource, level: Logger.Level,
        format: LogFormat, isGateway: Bool = false
    ) -> Never {
        StandardStreams.hold()
        LargePieces.giveBack()
        let tail = LogTail()
        let log = Logger(label: "rollcall") { label in
            LogLines(component: label, level: level, format: format, tail: tail)
        }
        for warning in configuration.warnings { log.warning("\(warning)") }
        for warning in configuration.webWarnings { log.warning("\(warning)") }
        signal(SIGPIPE, SIG_IGN)
        // An image of this memory would hold tokens, keys and everybody's telemetry.
        var none = rlimit(rlim_cur: 0, rlim_max: 0)
        setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &none)
        let pages = StartPages()
        // Blocked in every thread that is started from here on; only `sigwait` sees them.
        var signals = sigset_t()
        sigemptyset(&signals)
        sigaddset(&signals, SIGTERM)
        sigaddset(&signals, SIGINT)
        sigaddset(&signals, SIGHUP)
        pthread_sigmask(SIG_BLOCK, &signals, nil)
        DescriptorLimit.raise()
        let notifier = SystemdNotifier.ofEnvironment()
        if let trouble = notifier.trouble {
            log.warning("the service manager is not told", metadata: ["error": "\(trouble)"])
        }
        let server: any ForegroundServer
        do throws(ServerError) {
            server =
                isGateway
                ? try GatewayServer(
                    configuration, source: source, log: log, onTurn: { notifier.turned() },
                    onReload: { $0 ? notifier.reloading() : notifier.ready("Settings read") })
                : try Server(
                    configuration, source: source, log: log, tail: tail,
                    onTurn: { notifier.turned() }, onWait: { notifier.waits($0) },
                    onReload: { $0 ? notifier.reloading() : notifier.ready("Settings read") },
                    onCopy: { beginAgain() })
        } catch {
            log.critical("cannot start", metadata: ["error": "\(error)"])
            exit(1)
        }
        let host = configuration.listenAddress.prefix {
            $0 != ":" || configuration.listenAddress.hasPrefix("[")
        }
        let scheme = configuration.accessPolicy.web.tls == nil ? "http" : "https"
        let place = "\(scheme)://\(address(String(host), server.port))"
        var line = Array("rollcall: listening on \(place)\n".utf8)
        try? StandardOutput.write(&line)
        notifier.ready("Listening on \(place)")
        log.info("ready", metadata: ["port": "\(server.port)"])
        pages.letGo()
        var received: CInt = 0
        while sigwait(&signals, &received) != 0 || received == SIGHUP {
            if received == SIGHUP { server.reload() }
        }
        log.info("stopping", metadata: ["signal": "\(received)"])
        notifier.stopping()
        signal(SIGTERM) { _ in _exit(130) }
        signal(SIGINT) { _ in _exit(130) }
        signal(SIGHUP, SIG_IGN)
        pthread_sigmask(SIG_UNBLOCK, &signals, nil)
        server.stop()
        Self.end(0)
    }

    /// Ends the process without the destructors of its libraries: GnuTLS's and libcurl's would run beside
    /// threads of ours that are not done with them, which crashed one stop in fifty.
    static func end(_ status: CInt) -> Never {
        fflush(nil)
        _exit(status)
    }

    /// Begins the same program again in this process: with another store, everything that has read the
    /// old one has to.
    private static func beginAgain() -> Never {
        fflush(nil)
        var arguments = CommandLine.arguments.map { strdup($0) } + [nil]
        // Descriptors are closed by it, the listener's too.
        execv("/proc/self/exe", &arguments)
        _exit(71)
    }

    private static func address(_ listened: String, _ port: Int) -> String {
        guard listened.hasPrefix("["), let end = listened.firstIndex(of: "]") else {
            return "\(listened):\(port)"
        }
        return "\(listened[...end]):\(port)"
    }
}
