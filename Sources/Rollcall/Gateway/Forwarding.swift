import RollcallBasis
import RollcallCore
import RollcallSupport

/// A `Forwarding` says who answers a request that came to a gateway. Source: K5.
enum Forwarding: Equatable, Sendable {
    /// The gateway itself.
    case own
    /// The cells of the people whom items are about, each its own items.
    case items
    /// All cells: each its own part of the roster, first as parts, then all at once.
    case roster
    /// The cell of the person in the path.
    case person
    /// The cell of the person whom somebody asks for.
    case asked
    /// All cells, and the fleet cell: each is told.
    case everywhere
    /// All cells, whose numbers are added up.
    case wake
    /// The cell whose person a phone's own request is about.
    case input
    /// The fleet cell.
    case fleet
    /// All cells, of whose lists one is made; or the cell of the one person whom it is about.
    case list(MergedList)
    /// Whichever has the incident.
    case incident
    /// One cell, which must be named, by its name or by the person whom the question is about: nothing can be
    /// made of several answers.
    case named
}

/// The lists that are made of several.
enum MergedList: Equatable, Sendable {
    case responders, gaps, nudges, events, alerts, incidents, silences, inputs

    /// True of those whose rows are about one person each.
    var isOfPeople: Bool { [.responders, .gaps, .nudges, .events].contains(self) }

    /// True of those that the fleet cell has a part of.
    var isOfFleetCell: Bool { [.events, .alerts, .incidents, .silences].contains(self) }
}

extension Route {
    /// Says who answers it at a gateway.
    var forwarding: Forwarding {
        switch resource {
        case .batches, .transitions: .items
        case .responders:
            switch method {
            case .get: .list(.responders)
            case .put: .roster
            default: .items
            }
        case .responder, .timeline, .nudge: .person
        case .nudges: method == .get ? .list(.nudges) : .asked
        case .wakes: .wake
        case .heartbeat: .everywhere
        case .input, .inputBelow: .input
        case .gaps: .list(.gaps)
        case .events: .list(.events)
        case .alerts: .list(.alerts)
        case .alertHistory: .list(.incidents)
        case .inputs: .list(.inputs)
        case .take: .incident
        case .silences: method == .get ? .list(.silences) : .fleet
        case .status, .statusHistory, .regions, .regionHistory, .silence, .drills,
            .drill, .cluster, .clusterCopy, .clusterMember, .clusterDrain, .clusterJoin,
            .clusterAdopt, .cells:
            .fleet
        case .page, .gapsPage, .momentPage, .alertsPage, .nudgesPage, .feedsPage, .peoplePage,
            .personPage, .asset:
            .fleet
        case .differences, .dark, .erasure, .cellSummary, .cellPeers, .cellMasses, .report: .named
        case .session, .metrics, .healthy, .ready, .leader, .reload, .openAPI: .own
        }
    }
}
