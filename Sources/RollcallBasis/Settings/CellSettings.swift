import RollcallCore
import RollcallSupport
import Yams

/// The part that a watch has in a fleet of many cells. Source: K1, K7.
package enum CellRole: Equatable, Sendable {
    /// The watch is all of its fleet, as without any of these settings.
    case alone
    /// It is the cell of this name: it has the people of some slots.
    case cell([UInt8])
    /// It is the fleet cell of these: it has no people, and decides what concerns many.
    case fleet([CellMap.Cell])
}

extension ClusterSettings {
    /// The part that this watch has in a fleet.
    package var cellRole: CellRole {
        if !cells.isEmpty { return .fleet(cells) }
        return cell.isEmpty ? .alone : .cell(Array(cell.utf8))
    }

    /// That part, as the engine is told of it.
    package var fleetRole: FleetRole {
        switch cellRole {
        case .alone: .whole
        case .cell: .cell
        case .fleet: .fleet
        }
    }

    /// True of a gateway's, which is no watch: it has no people, no alerts and no store.
    package var isGateway: Bool { !fleetCell.isEmpty }

    /// Reads the token that the cells ask for; nil if they ask for none.
    /// - Throws: `SecretFault` if it cannot be read.
    package func cellsToken() throws(SecretFault) -> Secret? {
        cellsTokenFile.isEmpty
            ? nil : try SecretFile.read(cellsTokenFile, of: "cluster.cells_token_file")
    }

    /// Refuses what cannot be a cell, or a fleet of them.
    static func checkCells(
        _ tree: ConfigurationTree, _ cluster: ClusterSettings
    ) throws(ConfigurationError) {
        if !cluster.cell.isEmpty, !CellMap.Cell.isName(Array(cluster.cell.utf8)) {
            throw tree.fault("cell", nameRule, cluster.cell)
        }
        if !cluster.cell.isEmpty, !cluster.cells.isEmpty {
            throw tree.fault(
                "cell", "and cells do not go together: the fleet cell has no people", "")
        }
        try checkSplit(tree, cluster)
        if !cluster.fleetCell.isEmpty {
            guard cluster.cell.isEmpty, cluster.cells.isEmpty, !cluster.isOn else {
                throw tree.fault(
                    "fleet_cell", "is a gateway's, which is no watch: it goes with no other part",
                    "")
            }
            if tree.sources.opensSecrets, let missing = tree.sources.missingCurl() {
                throw tree.fault("fleet_cell", "\(missing)", "")
            }
            return
        }
        if cluster.cells.isEmpty {
            guard !cluster.cellsTokenFile.isEmpty, !tree.isWrong("cells") else { return }
            throw tree.fault(
                "cells_token_file", "needs cells or fleet_cell: only who asks them shows it", "")
        }
        if tree.sources.opensSecrets, let missing = tree.sources.missingCurl() {
            throw tree.fault("cells", "\(missing)", "")
        }
    }

    /// Refuses what cannot be split from another cell.
    private static func checkSplit(
        _ tree: ConfigurationTree, _ cluster: ClusterSettings
    ) throws(ConfigurationError) {
        guard !cluster.splitFrom.isEmpty || !cluster.splitLog.isEmpty else { return }
        guard !cluster.cell.isEmpty, cluster.isOn else {
            throw tree.fault("split_from", "needs cell and log: a new cell is split from one", "")
        }
        guard CellMap.Cell.isName(Array(cluster.splitFrom.utf8)), cluster.splitFrom != cluster.cell
        else {
            throw tree.fault(
                "split_from", "needs the name of another cell: split_from.cell", cluster.splitFrom)
        }
        let own = cluster.postgresURL.isEmpty ? cluster.prefix : cluster.postgresTable
        let isLog =
            cluster.postgresURL.isEmpty
            ? isPrefix(cluster.splitLog) : isTable(cluster.splitLog)
        guard isLog, cluster.splitLog != own else {
            throw tree.fault(
                "split_from",
                "needs where that cell's log is: in split_from.log the prefix of its keys, or its table",
                cluster.splitLog)
        }
    }

    fileprivate static let nameRule = "must be 1 to 64 letters, digits or signs without /"
}

/// The settings of a fleet of many cells.
extension Setting {
    static let cells = [
        Setting(
            "cluster.cell", .textOrNone, \.cluster.cell,
            "this watch is the cell of that name in a fleet of many", .start),
        Setting(
            "cluster.split_from.cell", .textOrNone, \.cluster.splitFrom,
            "it is new, and takes half of the people of that cell", .start),
        Setting(
            "cluster.split_from.log", .textOrNone, \.cluster.splitLog,
            "where that one's log is: its prefix, or its table", .start),
        Setting(
            "cluster.cells", .cells, \.cluster.cells,
            "it is the fleet cell of these: {NAME: {url: …}, …}", .start),
        Setting(
            "cluster.cells_token_file", .textOrNone, \.cluster.cellsTokenFile,
            "the token that the cells ask for, of read, act and admin", .start),
        Setting(
            "cluster.fleet_cell", .addresses, \.cluster.fleetCell,
            "where a gateway finds the fleet cell: {url: …}", .start),
    ]
}

extension SettingKind where Value == [CellMap.Cell] {
    /// A mapping of names to addresses, `{url: …}` or `{urls: […]}`; only the file can give it.
    static var cells: SettingKind {
        SettingKind(shown: { .mapping($0.map(shown)) }) {
            (tree, key, value) throws(ConfigurationError) in
            tree.sources.askedForList(tree.full(key))
            var cells: [CellMap.Cell] = []
            try tree.part(key) { (tree) throws(ConfigurationError) in
                for name in tree.names {
                    guard CellMap.Cell.isName(Array(name.utf8)) else {
                        throw tree.fault(name, ClusterSettings.nameRule, "")
                    }
                    try tree.part(name) { (tree) throws(ConfigurationError) in
                        cells.append(
                            CellMap.Cell(
                                name: Array(name.utf8),
                                urls: try SettingKind<[[UInt8]]>.read(&tree)))
                    }
                }
            }
            guard cells.count <= CellMap.cellsMax else {
                throw tree.fault(key, "must be \(CellMap.cellsMax) at most", "\(cells.count)")
            }
            value = cells.sorted { $0.name.lexicographicallyPrecedes($1.name) }
        }
    }

    private static func shown(_ cell: CellMap.Cell) -> (key: String, value: SettingValue) {
        let name = SettingValue.word(String(decoding: cell.name, as: UTF8.self)).yaml
        return (name, .mapping([("urls", .list(cell.urls.map { .text($0) }))]))
    }
}

extension SettingKind where Value == [[UInt8]] {
    /// The addresses of one watch, `{url: …}` or `{urls: […]}`; only the file can give them.
    static var addresses: SettingKind {
        SettingKind(
            shown: { urls in
                urls.isEmpty ? .mapping([]) : .mapping([("urls", .list(urls.map { .text($0) }))])
            }
        ) { (tree, key, value) throws(ConfigurationError) in
            tree.sources.askedForList(tree.full(key))
            try tree.part(key) { (tree) throws(ConfigurationError) in
                if !tree.names.isEmpty { value = try read(&tree) }
            }
        }
    }

    /// Reads one address, or the list of them.
    fileprivate static func read(
        _ tree: inout ConfigurationTree
    ) throws(ConfigurationError) -> [[UInt8]] {
        var (url, urls) = (String?.none, [[UInt8]]())
        try tree.read("url", .textOrNothing, &url)
        try tree.read("urls", .names, &urls)
        if let url {
            guard urls.isEmpty else { throw tree.fault("url", "and urls do not go together", "") }
            urls = [Array(url.utf8)]
        }
        guard (1...CellMap.Cell.urlsMax).contains(urls.count) else {
            throw tree.fault(
                "urls", "must hold 1 to \(CellMap.Cell.urlsMax) addresses of its members", "")
        }
        return try urls.map { (text) throws(ConfigurationError) in
            guard let read = ExternalURL(String(decoding: text, as: UTF8.self)),
                read.text.utf8.count <= CellMap.Cell.urlBytesMax
            else {
                throw tree.fault(
                    url == nil ? "urls" : "url", "must be like https://cell-a.example:10112", "")
            }
            return Array(read.text.utf8)
        }
    }
}

extension SettingKind where Value == String? {
    /// A text that says something; nil while nobody gives one.
    fileprivate static var textOrNothing: SettingKind {
        SettingKind("must be a text", shown: { .word($0 ?? "") }) { node in
            node.text.flatMap { $0.isEmpty ? nil : $0 }
        }
    }
}
