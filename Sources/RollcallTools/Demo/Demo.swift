import Glibc
import Logging
import RollcallBasis
import RollcallCore
import RollcallSupport

/// `rollcall demo`: the real server, forty simulated phones that talk to it over HTTP, and somebody
/// who tells what happens. Source: V6.
package struct Demo {
    /// The options on the command line.
    package struct Options: Sendable {
        package var listenAddress = "127.0.0.1:10112"
        /// The path of the store; nil for a folder that goes with the demo.
        package var storagePath: String?
        /// Ends when the script does, and evaluates it.
        package var endsAfterScript = false
        /// From which level on the server's log is shown.
        package var logLevel = Logger.Level.warning
        /// The name by which the program was called.
        package var program = "rollcall"
        /// So many members of one watch; nil for one server.
        package var members: Int?

        package init() {}
    }

    /// The reason why it does not begin.
    package struct Fault: Error, CustomStringConvertible {
        /// The exit code: 64 wrong options, 69 no libcurl or no etcd, 1 the server does not come up.
        package let exitCode: CInt
        package let description: String
    }

    /// The time that its threads get to end.
    private static let stopMax = Milliseconds.seconds(15)

    let options: Options
    private let serve: DemoServer.Start

    /// A demo as it was asked for, of a server that `serve` starts.
    /// - Throws: `Fault` if the address is not of loopback, or the store exists.
    package init(
        _ options: Options, serve: @escaping DemoServer.Start
    ) throws(Fault) {
        guard HTTPListener.isLoopback(options.listenAddress) == true else {
            throw Fault(
                exitCode: 64,
                description: "--web.listen-address \(options.listenAddress): the demo listens on "
                    + "loopback only, such as 127.0.0.1:0 for any free port")
        }
        if let path = options.storagePath, access(path, F_OK) == 0 {
            throw Fault(
                exitCode: 64,
                description: "--storage.path \(path) exists, and the demo begins with a store of "
                    + "its own: name another, or look at this one with rollcall serve")
        }
        if options.members != nil, options.storagePath != nil {
            throw Fault(
                exitCode: 64,
                description: "--storage.path: with --members each has a store of its own, and they "
                    + "go with the demo")
        }
        self.options = options
        self.serve = serve
    }

    /// The program as a reader in the folder `here` may call it, who called it by `path`.
    package static func program(_ path: String, here: String) -> String {
        path.hasPrefix(here + "/") ? String(path.dropFirst(here.count + 1)) : path
    }

    /// The settings it would run with.
    package var settings: String {
        guard options.members == nil else {
            return DemoMembers.settings(
                "a", options.listenAddress, nil, DemoSettings.receiversStandard,
                log: "http://127.0.0.1:2379")
        }
        return DemoSettings(
            listenAddress: options.listenAddress, storagePath: options.storagePath
        ).text
    }

    /// Runs until SIGINT, SIGTERM or SIGHUP, or to the end of the script; returns the exit code.
    /// - Throws: `Fault` if it does not begin: there is no folder, no libcurl, no thread, or the
    ///   server does not come up.
    package func run() throws(Fault) -> CInt {
        StandardStreams.hold()
        signal(SIGPIPE, SIG_IGN)
        // Blocked in every thread that is started from here on; only `sigtimedwait` sees them.
        var signals = sigset_t()
        sigemptyset(&signals)
        for number in [SIGTERM, SIGINT, SIGHUP] { sigaddset(&signals, number) }
        pthread_sigmask(SIG_BLOCK, &signals, nil)
        let folder: DemoFolder
        do throws(InputFileError) {
            folder = try DemoFolder()
        } catch {
            throw Fault(exitCode: 1, description: "\(error)")
        }
        defer { folder.remove() }
        if let members = options.members { return try run(members: members, folder, signals) }
        let stage = try DemoStage(options, folder, serve)
        let style = ConsoleStyle.ofDemo()
        let names = DemoNames(server: stage.url, program: options.program)
        say(DemoGreeting.text(names, isEndless: !options.endsAfterScript))
        let director = DemoDirector(
            stage.address, stage.backend, stage.receivers, names: names, style: style,
            endsAfterScript: options.endsAfterScript)
        guard stage.backend.start(), director.start()
        else {
            stage.stop()
            throw Fault(exitCode: 1, description: "the system has no thread left")
        }
        var pause = timespec(tv_sec: 0, tv_nsec: 100_000_000)
        while !director.isIdle, sigtimedwait(&signals, nil, &pause) < 0 {}
        signal(SIGTERM) { _ in _exit(130) }
        signal(SIGINT) { _ in _exit(130) }
        signal(SIGHUP, SIG_IGN)
        pthread_sigmask(SIG_UNBLOCK, &signals, nil)
        end(stage, director)
        let outcome = director.outcome
        say(
            DemoGreeting.farewell(
                outcome, stage.backend.aggregates, names, storagePath: options.storagePath))
        return options.endsAfterScript && !outcome.isGood ? 1 : 0
    }

    private func end(_ stage: DemoStage, _ director: DemoDirector) {
        director.stop()
        stage.backend.stop()
        let end = ClockReading.now().elapsed + Self.stopMax.count
        while !(director.isIdle && stage.backend.isIdle), ClockReading.now().elapsed < end {
            usleep(20_000)
        }
        stage.stop()
    }

    /// Says something, if anybody listens.
    func say(_ text: String) {
        var bytes = Array(text.utf8)
        try? StandardOutput.write(&bytes)
    }
}

extension DemoDirector.Outcome {
    /// True if the whole script was seen.
    var isGood: Bool { isScriptOver && missing.isEmpty }
}

/// The stage around the story: the server, who it tells, who tells it.
private struct DemoStage {
    let server: DemoServer
    let receivers: DemoReceivers
    let backend: DemoBackend
    let address: ServerAddress
    let url: String

    /// Everything but the phones, running.
    /// - Throws: `Demo.Fault` if libcurl is missing, or the receivers or the server do not come up.
    init(
        _ options: Demo.Options, _ folder: DemoFolder, _ serve: DemoServer.Start
    ) throws(Demo.Fault) {
        do throws(HTTPCallError) {
            _ = try HTTPCaller()
        } catch {
            throw Demo.Fault(exitCode: 69, description: "\(error)")
        }
        do throws(HTTPServerError) {
            receivers = try DemoReceivers()
        } catch {
            throw Demo.Fault(exitCode: 1, description: "\(error)")
        }
        do throws(Demo.Fault) {
            server = try Self.server(options, folder, receivers, serve)
        } catch {
            receivers.stop()
            throw error
        }
        let host = options.listenAddress.lastIndex(of: ":").map { options.listenAddress[..<$0] }
        url = "http://\(host ?? "127.0.0.1"):\(server.port)"
        do throws(QuestionError) {
            address = try ServerAddress(url: url, tokenPath: nil, environment: [:])
        } catch {
            server.stop()
            receivers.stop()
            throw Demo.Fault(exitCode: 64, description: "\(error)")
        }
        backend = DemoBackend(DemoCast(at: ClockReading.now().wall), to: address)
    }

    /// Ends it all, in the order in which nothing is lost.
    func stop() {
        server.stop()
        receivers.stop()
    }

    private static func server(
        _ options: Demo.Options, _ folder: DemoFolder, _ receivers: DemoReceivers,
        _ serve: DemoServer.Start
    ) throws(Demo.Fault) -> DemoServer {
        let settings = DemoSettings(
            listenAddress: options.listenAddress,
            storagePath: options.storagePath ?? folder.store, receivers: receivers.url)
        // Of its own settings only: variables are for real servers.
        let source = SettingsSource(path: folder.settings, flags: [:], environment: [:])
        let configuration: Configuration
        do throws(InputFileError) {
            try folder.write(settings)
            configuration = try source.read()
        } catch {
            throw Demo.Fault(exitCode: 1, description: "\(error)")
        }
        let level = options.logLevel
        let log = Logger(label: "rollcall") {
            LogLines(component: $0, level: level, format: .logfmt)
        }
        do throws(DemoServer.Fault) {
            return try serve(configuration, source, log)
        } catch {
            throw Demo.Fault(exitCode: 1, description: Self.words(error, options.listenAddress))
        }
    }

    private static func words(_ error: DemoServer.Fault, _ address: String) -> String {
        guard error.isAddressTaken else { return error.description }
        return "\(address) is taken, perhaps by another rollcall: choose another place by "
            + "--web.listen-address, such as 127.0.0.1:0 for any free port"
    }
}
