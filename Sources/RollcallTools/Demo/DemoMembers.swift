import FoundationEssentials
import Glibc
import RollcallBasis
import RollcallCore
import RollcallSupport

/// The machines of `rollcall demo --members 3`, as processes: an etcd, and the members of a watch,
/// each with settings and a store of its own.
final class DemoMembers {
    /// A member, as the story knows it.
    struct Member {
        /// The name.
        let name: String
        /// The URL at which it is reached.
        let url: String
        fileprivate let arguments: [String]
        fileprivate let log: String
        fileprivate var process: DemoProcess?
    }

    /// The time that a member waits for the leader's beat: the default.
    static let silence = "2s"
    /// The time that etcd has to start.
    private static let etcdMax = Milliseconds.seconds(20)

    private let program: String
    private let caller: HTTPCaller
    private let etcd: DemoProcess
    /// The members, in the order of their names.
    private(set) var all: [Member] = []

    /// Starts an etcd and so many members, of which the first listens at `address`.
    /// - Throws: `Demo.Fault` if etcd is not installed (69), or something does not start.
    init(
        _ count: Int, address: String, _ folder: DemoFolder, _ receivers: DemoReceivers,
        _ caller: HTTPCaller
    ) throws(Demo.Fault) {
        guard let path = DemoProcess.path(of: "etcd") else {
            throw Demo.Fault(
                exitCode: 69,
                description: "etcd is not installed, in which several members share their log: "
                    + "apt install etcd-server, or put the program etcd into a folder of PATH")
        }
        guard let program = DemoProcess.ourselves else {
            throw Demo.Fault(exitCode: 1, description: "the system does not say where we are")
        }
        self.program = program
        self.caller = caller
        let client = "http://127.0.0.1:\(try Self.port("127.0.0.1:0"))"
        let peer = "http://127.0.0.1:\(try Self.port("127.0.0.1:0"))"
        etcd = try DemoProcess(
            path,
            [
                "--name", "demo", "--data-dir", "\(folder.path)/etcd",
                "--listen-client-urls", client, "--advertise-client-urls", client,
                "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer,
                "--initial-cluster", "demo=\(peer)",
                "--heartbeat-interval", "50", "--election-timeout", "500",
            ], log: "\(folder.path)/etcd.log")
        do throws(Demo.Fault) {
            try wait(for: client)
            for number in 0..<count {
                let name = String(UnicodeScalar(UInt8(ascii: "a") + UInt8(number)))
                let port = try Self.port(number == 0 ? address : "127.0.0.1:0")
                try start(name, "127.0.0.1:\(port)", folder, receivers.url, log: client)
            }
        } catch {
            stop()
            throw error
        }
    }

    /// A port at which one can listen.
    private static func port(_ address: String) throws(Demo.Fault) -> Int {
        do throws(HTTPServerError) {
            let listener = try HTTPListener(address: address)
            defer { listener.close() }
            return Int(listener.port)
        } catch {
            throw Demo.Fault(
                exitCode: 1,
                description: "\(error): choose another place by --web.listen-address, such as "
                    + "127.0.0.1:0 for any free port")
        }
    }

    private func wait(for client: String) throws(Demo.Fault) {
        let end = ClockReading.now().elapsed + Self.etcdMax.count
        while ClockReading.now().elapsed < end, etcd.isRunning {
            if ask(client + "/health")?["health"]?.text == "true" { return }
            usleep(50_000)
        }
        throw Demo.Fault(exitCode: 1, description: "etcd does not start: \(etcd.lastWords)")
    }

    /// The settings of a member. Newcomers report once, and are ONLINE for the usual time.
    static func settings(
        _ name: String, _ address: String, _ store: String?, _ receivers: String, log: String
    ) -> String {
        let storage = store.map { "storage: {path: \(DemoSettings.quoted($0))}\n" } ?? ""
        return """
            # What a member of `rollcall demo --members 3` runs with. The span of missions is short so
            # that half a minute shows what takes minutes; the defaults stand behind it.
            web: {listen_address: \(DemoSettings.quoted(address))}
            \(storage)liveness:
              on_mission: {expected: 1s, degraded_after: 2s, offline_after: 4s}   # 15s, 30s, 60s
            alerts:
              NoOnlineResponders: {for: 2s, keep_firing_for: 1m}                  # 60s, 2m
            receivers:
              - name: oncall
                webhook: {url: "\(receivers)/oncall", secret: "\(DemoSettings.signingKey)"}
                match: {severity: critical}
            cluster:
              member: \(name)
              address: http://\(address)
              silence: \(silence)
              log: {etcd: {endpoints: ["\(log)"], prefix: /demo}}

            """
    }

    private func start(
        _ name: String, _ address: String, _ folder: DemoFolder, _ receivers: String, log: String
    ) throws(Demo.Fault) {
        let path = "\(folder.path)/\(name).yml"
        let text = Self.settings(
            name, address, "\(folder.path)/\(name).db", receivers, log: log)
        guard FileManager.default.createFile(atPath: path, contents: Data(text.utf8)) else {
            throw Demo.Fault(exitCode: 1, description: "\(path) cannot be written")
        }
        all.append(
            Member(
                name: name, url: "http://\(address)",
                arguments: ["serve", "--config.file", path], log: "\(folder.path)/\(name).log"))
        try start(name)
    }

    /// Starts a member, with what it has on its disk.
    /// - Throws: `Demo.Fault` if the system does not start it.
    func start(_ name: String) throws(Demo.Fault) {
        guard let place = all.firstIndex(where: { $0.name == name }) else { return }
        let member = all[place]
        all[place].process = try DemoProcess(program, member.arguments, log: member.log)
    }

    /// Ends a member by SIGKILL.
    func kill(_ name: String) {
        all.first { $0.name == name }?.process?.kill()
    }

    /// Returns the last words of a member that should run and does not.
    func lastWords() -> String? {
        for member in all {
            guard let process = member.process, !process.isRunning else { continue }
            return "member \(member.name) ended: \(process.lastWords)"
        }
        return nil
    }

    /// The name of the one member that says it leads; nil if none does.
    func leader() -> Member? {
        all.first { member in
            var call = HTTPCall(.get, member.url + Resource.leader.path)
            call.timeout = Milliseconds(500)
            return (try? caller.answer(to: call))?.status == 200
        }
    }

    /// The answer of a member, or of etcd, in JSON; nil if there is none.
    func ask(_ url: String) -> JSONTree? {
        var call = HTTPCall(.get, url)
        call.timeout = Milliseconds(2000)
        guard let answer = try? caller.answer(to: call), answer.status == 200 else { return nil }
        return try? JSONTree(reading: answer.body)
    }

    /// Ends all of it: the members, then their log.
    func stop() {
        for member in all { member.process?.end() }
        etcd.end()
    }
}
