import RollcallCore

/// The silences of the fleet cell, which every cell is to have too. Source: K2.
package struct FleetSilences: Equatable, Sendable {
    /// The beginning of the names under which cells have them.
    static let prefix = "fleet-cell/"

    /// The number of the store in which they are.
    var store: UInt64
    /// Those in force.
    var list: [Silence]

    /// The name under which a cell has one of them: another store may give its number anew.
    func name(_ silence: Silence) -> String {
        "\(Self.prefix)\(String(decoding: HexText.bytes(store), as: UTF8.self))/\(silence.number)"
    }
}
