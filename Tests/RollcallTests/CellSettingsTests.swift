import RollcallCore
import Testing

@testable import RollcallBasis
@testable import RollcallSupport

/// The settings of a fleet of many cells. Source: K1, K7.
@Suite struct CellSettingsTests {
    private static func cell(_ name: String, _ urls: String...) -> CellMap.Cell {
        CellMap.Cell(name: Array(name.utf8), urls: urls.map { Array($0.utf8) })
    }

    private func faults(_ yaml: String) -> [String] {
        do throws(ConfigurationError) {
            _ = try Configuration(yaml: yaml)
            return []
        } catch {
            return error.all.map { "\($0)" }
        }
    }

    @Test func `K7: without these settings a watch is all of its fleet`() throws {
        #expect(try Configuration(yaml: "").cluster.cellRole == .alone)
        #expect(
            try Configuration(yaml: "cluster: {cell: '', cells: {}}").cluster.cellRole == .alone)
        #expect(!(try Configuration(yaml: "").summary.joined().contains("cell")))
    }

    @Test func `K1: a watch is a cell by its name`() throws {
        let configuration = try Configuration(yaml: "cluster: {cell: north-1}")
        #expect(configuration.cluster.cellRole == .cell(Array("north-1".utf8)))
        #expect(
            configuration.summary.contains(
                "It is cell north-1 of a fleet: it takes nobody before the fleet cell has handed it the "
                    + "map, and then its own people only."))
        let longest = String(repeating: "x", count: 64)
        #expect(faults("cluster: {cell: \(longest)}") == [])
        for name in [longest + "x", "a/b", "'a b'", "\u{E9}"] {
            #expect(
                faults("cluster: {cell: \(name)}").first?.contains(
                    "cluster.cell must be 1 to 64 letters, digits or signs without /") == true)
        }
    }

    @Test func `K1: the fleet cell names its cells and their addresses`() throws {
        let configuration = try Configuration(
            yaml: """
                cluster:
                  cells:
                    'b:1': {urls: ["http://10.0.0.1:10112/", "https://b.example/x"]}
                    a: {url: "http://a:10112"}
                  cells_token_file: /run/secrets/cells
                """)
        let cells = [
            Self.cell("a", "http://a:10112"),
            Self.cell("b:1", "http://10.0.0.1:10112", "https://b.example/x"),
        ]
        #expect(configuration.cluster.cellRole == .fleet(cells), "in the order of their names")
        #expect(configuration.cluster.cellsTokenFile == "/run/secrets/cells")
        #expect(try Configuration(yaml: SettingsFile.text(configuration)) == configuration)
        #expect(
            configuration.summary.contains(
                "It is the fleet cell of a, b:1, and has no people. Its first map gives each of them a "
                    + "share; one that is named later gets no people."))
    }

    @Test func `K2: a check tells which alerts are decided here`() throws {
        func words(_ cluster: String) throws -> String {
            try Configuration(yaml: "cluster: {\(cluster)}").summary.joined(separator: "\n")
        }
        let cell = try words("cell: a")
        #expect(cell.contains("TelemetryFeedDown are decided by the fleet cell"))
        #expect(
            cell.contains("FleetDark (critical) fires") && !cell.contains("NoOnlineResponders ("))
        let fleet = try words("cells: {a: {url: 'http://a'}}")
        #expect(fleet.contains("ResponderOffline is decided by each cell"))
        #expect(
            fleet.contains("CellDark (critical) fires")
                && fleet.contains("NoOnlineResponders (critical)"))
        let gateway = try words("fleet_cell: {url: 'http://f'}")
        #expect(gateway.contains("It is a gateway's"))
        for word in ["Its store", "fires", "OFFLINE"] { #expect(!gateway.contains(word)) }
        #expect(!(try words("")).contains("Dark"))
    }

    @Test
    func `K4: of what cells and the fleet cell decide, receivers are told where it is decided`()
        throws
    {
        func told(_ cluster: String) throws -> [String] {
            let receiver = "{name: a, webhook: {url: 'https://a.example/'}}"
            let yaml = "{cluster: {\(cluster)}, receivers: [\(receiver)]}"
            return AlertAudience.all(try Configuration(yaml: yaml).policy)
                .filter { !$0.receivers.isEmpty }.map { "\($0.name.word)" }
        }
        let own = [
            "RollcallOverloaded", "RollcallStateLost", "RollcallStoreFailing", "RollcallUnsteady",
        ]
        let many = ["HighOfflineRate", "NoOnlineResponders", "ResponderFlapping"]
        #expect(try told("cell: a") == ["FleetDark"] + own)
        #expect(
            try told("cells: {a: {url: 'http://a'}}")
                == ["CellDark"] + many + own + ["TelemetryFeedDown", "TelemetryFeedDown"])
        #expect(try told("") == many + own + ["TelemetryFeedDown", "TelemetryFeedDown"])
    }

    @Test func `K1: there are 256 cells at most, with sixteen addresses each`() {
        func yaml(_ count: Int, urls: Int = 1) -> String {
            let list = (0..<urls).map { "'http://c:\($0 + 1)'" }.joined(separator: ", ")
            let cells = (0..<count).map { "    c\($0): {urls: [\(list)]}" }.joined(separator: "\n")
            return "cluster:\n  cells:\n\(cells)\n"
        }
        #expect(faults(yaml(256)) == [] && faults(yaml(1, urls: 16)) == [])
        #expect(
            faults(yaml(257)) == ["line 2: cluster.cells must be 256 at most (257)"])
        #expect(
            faults(yaml(1, urls: 17)) == [
                "line 3: cluster.cells.c0.urls must hold 1 to 16 addresses of its members"
            ])
    }

    @Test(arguments: [
        ("cell: a, cells: {b: {url: 'http://b'}}", "cell and cells do not go together"),
        ("cells: {a: {url: 'http://a', urls: ['http://b']}}", "url and urls do not go together"),
        ("cells: {a: {}}", "urls must hold 1 to 16 addresses"),
        ("cells: {a: {url: 'ftp://a'}}", "a.url must be like https://"),
        ("cells: {a: {urls: ['http://u:p@a']}}", "a.urls must be like https://"),
        ("cells: {a/b: {url: 'http://a'}}", "1 to 64 letters, digits or signs without /"),
        ("cells: {a: {url: 'http://a', ulr: 'http://a'}}", "unknown setting"),
        ("cells: {a: {url: 'http://a'}, a: {url: 'http://b'}}", "twice"),
        ("cells: [a]", "a mapping is expected"),
        ("fleet_cell: {}, cells_token_file: x", "cells_token_file needs"),
        ("fleet_cell: {url: 'http://a', urls: ['http://b']}", "url and urls do not go together"),
        ("fleet_cell: {url: 'http://a'}, cell: a", "fleet_cell is a gateway's"),
        (
            "fleet_cell: {url: 'http://a'}, cells: {a: {url: 'http://b'}}",
            "fleet_cell is a gateway's"
        ),
        ("fleet_cell: [x]", "a mapping is expected"),
        ("cells_token_file: x", "cells_token_file needs cells or fleet_cell"),
    ])
    func `K1: what is no fleet is a fault`(yaml: String, fault: String) {
        let found = faults("cluster: {\(yaml)}")
        #expect(found.contains { $0.contains(fault) }, "\(found)")
    }
}
