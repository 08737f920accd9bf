import RollcallBasis
import RollcallCore
import RollcallSupport

/// The question of how everything stands, as `rollcall status` asks it. Source: V6.
package struct StatusQuestion: Sendable {
    /// Rows of a part without a `limit`.
    package static let limitStandard = 10
    /// Rows of a part at most.
    package static let limitMax = 1000

    private let limit: Int
    /// True if somebody asked for it: JSON has all regions and alerts otherwise.
    private let isLimited: Bool
    private let isJSON: Bool

    /// A question that shows so many people, regions and alerts.
    /// - Throws: `QuestionError` if the limit is beyond `limitMax`, or below 1.
    package init(limit: Int?, isJSON: Bool) throws(QuestionError) {
        self.limit = limit ?? Self.limitStandard
        isLimited = limit != nil
        self.isJSON = isJSON
        guard (1...Self.limitMax).contains(self.limit) else {
            throw .wrongOption("--limit: 1 to \(Self.limitMax) expected (\(self.limit))")
        }
    }

    /// Asks, and returns what is to be printed.
    /// - Throws: `QuestionError` if there is no answer, or one that is refused or strange.
    package func answer(
        from server: ServerQuestions, style: ConsoleStyle
    ) throws(QuestionError) -> String {
        let status = try server.ask(Resource.status.path)
        let regions = try regions(server)
        let gaps = try server.pages(
            Resource.gaps.path, [("state", "open")], list: "gaps", count: limit)
        let alerts = try server.ask(Resource.alerts.path)
        let unsure = try server.ask(
            Resource.responders.path,
            [("status", "ONLINE"), ("reachable", "unknown"), ("limit", "\(Self.limitMax)")])
        if isJSON {
            let (shown, alerts) = (cut(regions.items), cut(alerts["alerts"]?.elements ?? []))
            let isWhole = gaps.isWhole && regions.isWhole && shown.isWhole && alerts.isWhole
            return JSONTree.object([
                .init(name: "status", value: status),
                .init(name: "regions", value: .list(shown.items)),
                .init(name: "silent", value: .list(gaps.items)),
                .init(name: "alerts", value: .list(alerts.items)),
                .init(name: "truncated", value: .boolean(!isWhole)),
            ]).printed
        }
        return StatusPage(
            status: status, regions: regions.items, silent: gaps.items,
            hasMoreOffline: !gaps.isWhole, alerts: alerts["alerts"]?.elements ?? [],
            unsure: unsure["responders"]?.elements.count ?? 0,
            hasMoreUnsure: unsure["next"] != nil, limit: limit, style: style
        ).text
    }

    /// The rows of a part of the JSON: the first of them, of regions those with most people OFFLINE, if
    /// somebody asked for so many.
    private func cut(_ rows: [JSONTree]) -> (items: [JSONTree], isWhole: Bool) {
        guard isLimited, rows.count > limit else { return (rows, true) }
        return (Array(StatusPage.worstFirst(rows).prefix(limit)), false)
    }

    /// Asks for the regions; none from a server that does not tell them.
    /// - Throws: `QuestionError` if there is no answer, or one that is refused or strange.
    private func regions(
        _ server: ServerQuestions
    ) throws(QuestionError) -> (items: [JSONTree], isWhole: Bool) {
        do throws(QuestionError) {
            let count = Resource.regionsLookedAtMax
            let found = try server.pages(
                Resource.regions.path, [], list: "regions", count: count)
            return (found.items, found.isWhole)
        } catch .tooOld {
            return ([], true)
        } catch {
            throw error
        }
    }
}
