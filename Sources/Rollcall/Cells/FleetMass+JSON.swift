import RollcallBasis
import RollcallCore
import RollcallSupport

/// Masses as the fleet cell tells its cells of them. Source: C1, K2.
extension FleetMass {
    /// Masses in one request at most.
    static let handedMax = 1000

    /// The mass as a clock sees it that is so much ahead.
    func by(_ ahead: Milliseconds) -> FleetMass {
        var mass = self
        (mass.since, mass.to) = (since + ahead, to + ahead)
        return mass
    }

    /// The mass as JSON.
    var tree: JSONTree {
        [
            "number": .integer(number), "region": .text(String(decoding: region, as: UTF8.self)),
            "since": .text(RFC3339.string(since)), "to": .text(RFC3339.string(to)),
            "people": .integer(Int64(members)), "active": .integer(Int64(active)),
        ]
    }

    /// The mass of a tree; nil if it says none that a fleet cell can have decided.
    init?(_ tree: JSONTree) {
        func time(_ value: JSONTree?) -> Timestamp? {
            guard let bytes = value?.text.map({ Array($0.utf8) }) else { return nil }
            return RFC3339.parse(bytes.span, bytes.indices)
        }
        guard let number = tree["number"]?.whole, let region = tree["region"]?.text,
            let since = time(tree["since"]), let to = time(tree["to"]),
            let people = tree["people"]?.whole,
            let active = tree["active"]?.whole
        else { return nil }
        self.init()
        (self.number, self.region) = (number, Array(region.utf8))
        (self.since, self.to) = (since, to)
        (members, self.active) = (Int(people), Int(active))
        if !isCredible { return nil }
    }

    /// The masses of a request's body; nil if it holds no list of them.
    static func list(_ tree: JSONTree) -> [FleetMass]? {
        guard case .list(let values) = tree["masses"], values.count <= handedMax else { return nil }
        let masses = values.compactMap { FleetMass($0) }
        return masses.count == values.count ? masses : nil
    }
}
