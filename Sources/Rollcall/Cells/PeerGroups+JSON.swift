import RollcallBasis
import RollcallCore
import RollcallSupport

/// Circles and regions as cells and their fleet cell tell them to each other. Source: K3.
extension PeerGroups {
    /// Names in one list at most.
    private static let namesMax = 10_000

    /// The groups as JSON: an object of two lists of names.
    var tree: JSONTree {
        func list(_ names: [[UInt8]]) -> JSONTree {
            .list(names.map { .text(String(decoding: $0, as: UTF8.self)) })
        }
        return ["circles": list(circles), "regions": list(regions)]
    }

    /// The groups of a tree; nil if it does not hold two lists of names, of `namesMax` each at most.
    init?(_ tree: JSONTree?) {
        func names(_ list: JSONTree?) -> [[UInt8]]? {
            guard case .list(let values) = list, values.count <= Self.namesMax else { return nil }
            let names = values.compactMap { $0.text.map { Array($0.utf8) } }
            return names.count == values.count ? names : nil
        }
        guard let circles = names(tree?["circles"]), let regions = names(tree?["regions"]) else {
            return nil
        }
        self.init()
        (self.circles, self.regions) = (circles, regions)
    }
}
