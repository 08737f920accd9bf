import RollcallBasis

/// The routes of the page for people.
extension Route {
    /// The addresses of the page, which are one document, and its files.
    static let pages: [Route] = [
        page(.page, "getPage", "the fleet at a glance"),
        page(.gapsPage, "getSilentPage", "who is silent and why"),
        page(.momentPage, "getMomentPage", "the fleet as it was"),
        page(.alertsPage, "getAlertsPage", "alerts and their history"),
        page(.nudgesPage, "getNudgesPage", "the nudge ledger"),
        page(.feedsPage, "getFeedsPage", "feeds and Rollcall itself"),
        page(.peoplePage, "getPeoplePage", "everybody"),
        page(.personPage, "getPersonPage", "one person", root: "../"),
        Route(
            .get, .asset, "getAsset", .page, nil, .operation, "A file of the page",
            "It never changes under its address, and may be kept.",
            answers: [200: "Asset"], problems: [404]
        ) { $0.showAsset($1.target.asset, $1.request, $1.answer) },
    ]

    private static func page(
        _ resource: Resource, _ name: String, _ view: String, root: String = ""
    ) -> Route {
        Route(
            .get, resource, name, .page, .read, .operation, "The page: \(view)",
            "It reads its own address and asks this API. Who is not signed in gets 401, and a form.",
            answers: [200: "Page"]
        ) { $0.showPage(below: root, $1.answer) }
    }
}
