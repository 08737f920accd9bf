import Foundation

@testable import RollcallBasis
@testable import RollcallSupport

/// An etcd of some members on loopback, killed with this.
final class RunningEtcd {
    /// True if there is an etcd on this machine.
    static var isThere: Bool { FileManager.default.isExecutableFile(atPath: "/usr/bin/etcd") }

    let directory = TemporaryDirectory()
    private let clients: [Int]
    private let peers: [Int]
    private let scheme: String
    private let options: [String]
    private var processes: [Process] = []

    init(members: Int = 1, scheme: String = "http", _ options: [String] = []) throws {
        clients = try (0..<members).map { _ in try Self.freePort() }
        peers = try (0..<members).map { _ in try Self.freePort() }
        self.scheme = scheme
        self.options = options
        for index in 0..<members {
            processes.append(Process())
            try start(index)
        }
    }

    deinit { for index in processes.indices { kill(index) } }

    var endpoints: [String] { clients.map { "\(scheme)://127.0.0.1:\($0)" } }

    func start(_ index: Int = 0) throws {
        let own = "http://127.0.0.1:\(peers[index])"
        let all = peers.enumerated().map { "e\($0)=http://127.0.0.1:\($1)" }
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/etcd")
        process.arguments =
            [
                "--name", "e\(index)", "--data-dir", "\(directory.path)/etcd\(index)",
                "--listen-client-urls", endpoints[index], "--advertise-client-urls",
                endpoints[index], "--listen-peer-urls", own, "--initial-advertise-peer-urls",
                own, "--initial-cluster", all.joined(separator: ","),
            ] + options
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        try process.run()
        processes[index] = process
    }

    func kill(_ index: Int = 0) {
        guard processes[index].isRunning else { return }
        _ = Glibc.kill(processes[index].processIdentifier, SIGKILL)
        processes[index].waitUntilExit()
    }

    static func freePort() throws -> Int {
        let listener = try HTTPListener(address: "127.0.0.1:0")
        defer { listener.close() }
        return Int(listener.port)
    }
}
