import Glibc

/// An etcd and the members of a watch on it, as processes of this machine.
final class ClusterMachines {
    /// The names of the members.
    static let names = ["a", "b", "c"]

    /// The ports of the members, in the order of their names.
    let ports: [UInt16]
    private let product: String
    private let folder: String
    private let etcds: [ServerProcess]
    /// The members that run, by their number.
    private var members: [Int: ServerProcess] = [:]

    /// Starts so many members of etcd and three of the watch, with all they write in `folder`.
    /// Errors: etcd is not installed, or something does not start.
    init(etcds count: Int, product: String, folder: String) throws(BenchmarkError) {
        guard let etcd = Program(named: "etcd") else {
            throw .server("etcd is not in PATH: apt-get install etcd-server")
        }
        self.product = product
        self.folder = folder
        ports = try freePorts(Self.names.count)
        let clients = try freePorts(count)
        let peers = try freePorts(count)
        let cluster = peers.indices.map { "e\($0)=http://127.0.0.1:\(peers[$0])" }
        var started: [ServerProcess] = []
        for number in 0..<count {
            let client = "http://127.0.0.1:\(clients[number])"
            let peer = "http://127.0.0.1:\(peers[number])"
            started.append(
                try ServerProcess(
                    name: "etcd", executable: etcd.path,
                    arguments: [
                        "--name", "e\(number)", "--data-dir", "\(folder)/etcd\(number)",
                        "--listen-client-urls", client, "--advertise-client-urls", client,
                        "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer,
                        "--initial-cluster", cluster.joined(separator: ","),
                        "--heartbeat-interval", "50", "--election-timeout", "500",
                    ], announcement: .nowhere(port: clients[number]),
                    errorsPath: "\(folder)/etcd\(number)-errors"))
        }
        etcds = started
        for port in clients {
            try waitUntil("etcd is well", seconds: 20) {
                (try? Caller(port: port).ask("GET", "/health"))?.text.contains("true") == true
            }
        }
        let endpoints = clients.map { "\"http://127.0.0.1:\($0)\"" }.joined(separator: ", ")
        for (number, name) in Self.names.enumerated() {
            try writeFile(
                """
                cluster:
                  member: \(name)
                  address: http://127.0.0.1:\(ports[number])
                  silence: 2s
                  log: {etcd: {endpoints: [\(endpoints)], prefix: /bench}}

                """, to: "\(folder)/\(name).yml")
            try start(number)
        }
    }

    /// Starts a member, with what it has on its disk.
    func start(_ number: Int) throws(BenchmarkError) {
        let name = Self.names[number]
        members[number] = try ServerProcess(
            name: "rollcall", executable: product,
            arguments: [
                "serve", "--web.listen-address", "127.0.0.1:\(ports[number])",
                "--storage.path", "\(folder)/\(name).db", "--config.file", "\(folder)/\(name).yml",
            ],
            errorsPath: "\(folder)/\(name)-errors")
    }

    /// Ends a member by SIGKILL.
    func crash(_ number: Int) { members.removeValue(forKey: number)?.crash() }

    /// Ends a member by SIGTERM, as an operator does.
    func stop(_ number: Int) throws(BenchmarkError) {
        try members.removeValue(forKey: number)?.stop()
    }

    /// The member that leads and its number, once there is one.
    func leader() throws(BenchmarkError) -> (number: Int, process: ServerProcess) {
        var found: (Int, ServerProcess)?
        try waitUntil("a member leads", seconds: 30) {
            for (number, process) in members
            where (try? Caller(port: ports[number]).ask("GET", "/-/leader")) != nil {
                found = (number, process)
                return true
            }
            return false
        }
        guard let found else { throw .server("nobody leads") }
        return found
    }

    /// The last entry of the log that a member holds; nil if it does not answer, or does not hold
    /// all of it as far as it knows.
    func position(_ number: Int) -> Int? {
        guard let answer = try? Caller(port: ports[number]).ask("GET", "/v1/cluster"),
            answer.text.contains("\"confirmed\":true")
        else { return nil }
        return answer.number(after: "\"position\":")
    }

    /// Waits until all members that run hold all of the log.
    func settle() throws(BenchmarkError) {
        let (leader, _) = try leader()
        for number in members.keys.sorted() {
            try waitUntil("member \(Self.names[number]) follows", seconds: 120) {
                position(number) ?? 0 >= position(leader) ?? Int.max
            }
        }
    }

    /// Ends all of it.
    func stop() throws(BenchmarkError) {
        for number in members.keys.sorted() { try stop(number) }
        for etcd in etcds { etcd.crash() }
    }
}

/// Waits until it is so. Errors: it is not within so many seconds.
func waitUntil(
    _ what: String, seconds: Int64, _ isSo: () throws(BenchmarkError) -> Bool
) throws(BenchmarkError) {
    let end = Nanoseconds.now() + .milliseconds(seconds * 1000)
    while Nanoseconds.now() < end {
        if try isSo() { return }
        usleep(10_000)
    }
    throw .server("not within \(seconds) s: \(what)")
}

/// Ports of the loopback interface at which nobody listens now, all different.
func freePorts(_ count: Int) throws(BenchmarkError) -> [UInt16] {
    var listeners: [(descriptor: Int32, port: UInt16)] = []
    defer { for listener in listeners { close(listener.descriptor) } }
    for _ in 0..<count { listeners.append(try loopbackListener()) }
    return listeners.map(\.port)
}
