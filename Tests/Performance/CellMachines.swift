import Glibc

/// A fleet of some cells, its fleet cell and a gateway, as processes of this machine.
final class CellMachines {
    /// The gateway, to which everything is sent.
    let gateway: ServerProcess
    let fleetCell: ServerProcess
    private(set) var cells: [ServerProcess]
    private let product: String
    private let folder: String

    /// Starts so many cells, with all they write in `folder`, and waits until the gateway can pass on.
    /// `settings` are those of the cells and of the fleet cell. Errors: something does not start.
    init(
        _ count: Int, product: String, folder: String, settings: String = ""
    ) throws(BenchmarkError) {
        (self.product, self.folder) = (product, folder)
        let ports = try freePorts(count + 1)
        var started: [ServerProcess] = []
        for (number, port) in ports.enumerated() {
            let isFleet = number == count
            let places = ports.dropLast().enumerated().map { place, port in
                "    c\(place): {url: \"http://127.0.0.1:\(port)\"}"
            }
            let own =
                isFleet
                ? "cluster:\n  cells:\n\(places.joined(separator: "\n"))\n"
                : "cluster: {cell: c\(number)}\n"
            try writeFile(own + settings, to: "\(folder)/c\(number).yml")
            started.append(try Self.startWatch(product, number, folder, port))
        }
        fleetCell = started.removeLast()
        cells = started
        let place = "cluster: {fleet_cell: {url: \"http://127.0.0.1:\(ports[count])\"}}\n"
        try writeFile(place, to: "\(folder)/gateway.yml")
        gateway = try Self.start(product, "gateway", folder, ["gateway"], 0)
        let gatewayPort = gateway.port
        for port in ports.dropLast() + [gatewayPort] {
            try waitUntil("all have the map", seconds: 30) {
                (try? Caller(port: port).ask("GET", "/-/ready")) != nil
            }
        }
    }

    private static func startWatch(
        _ product: String, _ number: Int, _ folder: String, _ port: UInt16
    ) throws(BenchmarkError) -> ServerProcess {
        try start(
            product, "c\(number)", folder,
            ["serve", "--storage.path", "\(folder)/c\(number).db"], port)
    }

    private static func start(
        _ product: String, _ name: String, _ folder: String, _ arguments: [String], _ port: UInt16
    ) throws(BenchmarkError) -> ServerProcess {
        let file = "\(folder)/\(name).yml"
        let place = ["--web.listen-address", "127.0.0.1:\(port)", "--config.file", file]
        return try ServerProcess(
            name: name, executable: product, arguments: arguments + place,
            errorsPath: "\(folder)/\(name)-errors")
    }

    /// The processor time of the gateway and of all cells so far.
    var processorTimes: (gateway: Nanoseconds, cells: Nanoseconds) {
        (gateway.processorTime, Nanoseconds(count: cells.reduce(0) { $0 + $1.processorTime.count }))
    }

    /// Starts a cell again that has ended. Errors: it does not start.
    func restart(_ number: Int) throws(BenchmarkError) {
        cells[number] = try Self.startWatch(product, number, folder, cells[number].port)
    }

    /// Ends all of it. Errors: one of them does not end as it should.
    func stop() throws(BenchmarkError) {
        for process in [gateway] + cells + [fleetCell] { try process.stop() }
    }
}
