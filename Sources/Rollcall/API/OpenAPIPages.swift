/// The page for people in the document: addresses that a browser opens.
extension OpenAPI {
    /// A view of the page.
    static func page(_ resource: Resource) -> JSONTree {
        let (id, summary) = pageWords(resource)
        return operation(
            id, resource, "GET", .operation, summary,
            """
            The same document for each of these addresses: it reads its own and asks this API. \
            A browser logs in by `Basic`.
            """,
            answers: ["200": answer("The page.", ["type": "string"], type: "text/html")])
    }

    private static func pageWords(_ resource: Resource) -> (id: String, summary: String) {
        switch resource {
        case .silentPage: ("getSilentPage", "The page: who is silent and why")
        case .alertsPage: ("getAlertsPage", "The page: alerts and their history")
        case .nudgesPage: ("getNudgesPage", "The page: the nudge ledger")
        case .feedsPage: ("getFeedsPage", "The page: feeds and Rollcall itself")
        case .peoplePage: ("getPeoplePage", "The page: everybody")
        case .personPage: ("getPersonPage", "The page: one person")
        default: ("getPage", "The page: the fleet at a glance")
        }
    }

    /// A file of the page.
    static var asset: JSONTree {
        let text: JSONTree = ["schema": ["type": "string"]]
        let show = operation(
            "getAsset", .asset, "GET", .operation, "A file of the page",
            "It never changes under its address, and may be kept.",
            answers: [
                "200": [
                    "description": "The file.",
                    "content": ["text/javascript": text, "text/css": text],
                ]
            ],
            problems: [404])
        return [
            "parameters": [reference("parameters", "version"), reference("parameters", "name")],
            "get": show,
        ]
    }
}
