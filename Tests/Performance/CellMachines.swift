import Glibc

/// A fleet of some cells, its fleet cell and a gateway, as processes of this machine.
final class CellMachines {
    /// The gateway, to which everything is sent.
    let gateway: ServerProcess
    let fleetCell: ServerProcess
    let cells: [ServerProcess]

    /// Starts so many cells, with all they write in `folder`, and waits until the gateway can pass on.
    /// Errors: something does not start.
    init(_ count: Int, product: String, folder: String) throws(BenchmarkError) {
        let ports = try freePorts(count + 1)
        var started: [ServerProcess] = []
        for (number, port) in ports.enumerated() {
            let isFleet = number == count
            let places = ports.dropLast().enumerated().map { place, port in
                "    c\(place): {url: \"http://127.0.0.1:\(port)\"}"
            }
            let settings =
                isFleet
                ? "cluster:\n  cells:\n\(places.joined(separator: "\n"))\n"
                : "cluster: {cell: c\(number)}\n"
            started.append(
                try Self.start(
                    product, "c\(number)", folder, settings,
                    ["serve", "--storage.path", "\(folder)/c\(number).db"], port))
        }
        fleetCell = started.removeLast()
        cells = started
        let place = "cluster: {fleet_cell: {url: \"http://127.0.0.1:\(ports[count])\"}}\n"
        gateway = try Self.start(product, "gateway", folder, place, ["gateway"], 0)
        let gatewayPort = gateway.port
        for port in ports.dropLast() + [gatewayPort] {
            try waitUntil("all have the map", seconds: 30) {
                (try? Caller(port: port).ask("GET", "/-/ready")) != nil
            }
        }
    }

    private static func start(
        _ product: String, _ name: String, _ folder: String, _ settings: String,
        _ arguments: [String], _ port: UInt16
    ) throws(BenchmarkError) -> ServerProcess {
        let file = "\(folder)/\(name).yml"
        try writeFile(settings, to: file)
        let place = ["--web.listen-address", "127.0.0.1:\(port)", "--config.file", file]
        return try ServerProcess(
            name: name, executable: product, arguments: arguments + place,
            errorsPath: "\(folder)/\(name)-errors")
    }

    /// Ends all of it. Errors: one of them does not end as it should.
    func stop() throws(BenchmarkError) {
        for process in [gateway] + cells + [fleetCell] { try process.stop() }
    }
}
