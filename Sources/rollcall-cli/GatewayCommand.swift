import ArgumentParser
import Rollcall
import RollcallBasis

/// `rollcall gateway`: one address for all cells of a fleet.
struct GatewayCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "gateway",
        abstract: "One address for all cells of a fleet: takes every route, and keeps nothing.",
        discussion: """
            It asks the fleet cell at cluster.fleet_cell for the map, sends each cell what is about its \
            people, and makes one answer of theirs. A cell that does not answer within 2 s is named in \
            the answer. Any number of gateways may stand beside each other.
            """
    )

    @OptionGroup
    var options: ListeningOptions

    func run() throws {
        try options.run(isGateway: true) { settings in
            guard !settings.cluster.fleetCell.isEmpty else {
                throw ValidationError(
                    "a gateway needs cluster.fleet_cell, the place where the fleet cell is")
            }
        }
    }
}
