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
    /// The limit that somebody gave: what is no page has all otherwise.
    private let wanted: Int?
    private let form: OutputForm
    private let part: StatusPart

    /// A question that shows so many people, regions and alerts; as CSV and as ids one `part` of
    /// them, who is silent if none is named.
    /// - Throws: `QuestionError` if the limit is beyond `limitMax`, or below 1, or a part is named
    ///   of a form that has all.
    package init(
        limit: Int?, form: OutputForm, part: StatusPart? = nil
    ) throws(QuestionError) {
        self.limit = limit ?? Self.limitStandard
        wanted = limit
        self.form = form
        self.part = part ?? .silent
        guard (1...Self.limitMax).contains(self.limit) else {
            throw .wrongOption("--limit: 1 to \(Self.limitMax) expected (\(self.limit))")
        }
        if part != nil, form == .table || form == .json {
            throw .wrongOption("--part: \(form.rawValue) has all parts; it is for -o csv and ids")
        }
    }

    /// Asks, and returns what is to be printed.
    /// - Throws: `QuestionError` if there is no answer, or one that is refused or strange.
    package func answer(
        from server: ServerQuestions, style: ConsoleStyle
    ) throws(QuestionError) -> Printout {
        if form == .csv || form == .ids { return try list(server, style) }
        let status = try server.ask(Resource.status.path)
        let regions = try regions(server)
        let gaps = try gaps(server)
        let alerts = try server.ask(Resource.alerts.path)
        if form == .json {
            let (shown, listed) = (cut(regions.items), cut(alerts["alerts"]?.elements ?? []))
            let isWhole = gaps.isWhole && regions.isWhole && shown.isWhole && listed.isWhole
            let document = JSONTree.object([
                .init(name: "status", value: status),
                .init(name: "regions", value: .list(shown.items)),
                .init(name: "silent", value: .list(gaps.items)),
                .init(name: "alerts", value: .list(listed.items)),
                .init(name: "truncated", value: .boolean(!isWhole)),
            ]).with(.object(alerts[MissingCells.member] == nil ? [] : [server.missing.member]))
            let lack =
                GapQuestion.lack(gaps.isWhole, gaps.items.count, limit: wanted)
                ?? lack(regions.items.count, regions.isWhole, "regions")
                ?? lack(alerts["alerts"]?.elements.count ?? 0, Self.isWhole(alerts), "alerts")
            return Printout(document.printed, lack: lack)
        }
        let unsure = try server.ask(
            Resource.responders.path,
            [("status", "ONLINE"), ("reachable", "unknown"), ("limit", "\(Self.limitMax)")])
        let page = StatusPage(
            status: status, regions: regions.items, silent: gaps.items,
            hasMoreOffline: !gaps.isWhole, alerts: alerts["alerts"]?.elements ?? [],
            unsure: unsure["responders"]?.elements.count ?? 0,
            hasMoreUnsure: unsure["next"] != nil, limit: limit, style: style,
            missing: server.missing, unnamed: nobody(gaps, server, status))
        return Printout(page.text)
    }

    /// Asks for one part.
    /// - Throws: `QuestionError` if there is no answer, or one that is refused or strange.
    private func list(
        _ server: ServerQuestions, _ style: ConsoleStyle
    ) throws(QuestionError) -> Printout {
        let items: [JSONTree]
        let lack: String?
        switch part {
        case .silent:
            let gaps = try gaps(server)
            items = gaps.items
            lack =
                nobody(gaps, server)
                ?? GapQuestion.lack(gaps.isWhole, items.count, limit: wanted)
        case .regions:
            let regions = try allRegions(server)
            items = cut(regions.items).items
            lack = self.lack(regions.items.count, regions.isWhole, "regions")
        case .alerts:
            let alerts = try server.ask(Resource.alerts.path)
            guard let all = alerts["alerts"]?.elements else {
                throw .strange(server: server.server, "\(Resource.alerts.path) without alerts")
            }
            items = cut(all).items
            lack = self.lack(all.count, Self.isWhole(alerts), "alerts")
        }
        return part.columns.printout(items, form, style, lack: lack)
    }

    /// Returns what a part lacks of which the server told so many.
    private func lack(_ count: Int, _ isWhole: Bool, _ noun: String) -> String? {
        Printout.lack(
            isWhole, count, of: noun, limit: wanted, advice: "The server tells no more at once")
    }

    private static func isWhole(_ answer: JSONTree) -> Bool { answer["truncated"]?.isTrue != true }

    /// Asks for who is silent.
    /// - Throws: `QuestionError` if there is no answer, or one that is refused or strange.
    private func gaps(
        _ server: ServerQuestions
    ) throws(QuestionError) -> (items: [JSONTree], isWhole: Bool, rest: JSONTree) {
        let count = form.count(
            wanted, standard: Self.limitStandard, most: GapQuestion.limitMax)
        let found = try server.pages(
            Resource.gaps.path, [("state", "open")], list: "gaps", count: count)
        return (found.items, found.isWhole, .object(found.rest))
    }

    /// Returns what is said if no gap is open, and the fleet cell was asked, which counts people and knows
    /// nobody; nil where `status` has nobody OFFLINE.
    private func nobody(
        _ gaps: (items: [JSONTree], isWhole: Bool, rest: JSONTree), _ server: ServerQuestions,
        _ status: JSONTree? = nil
    ) -> String? {
        guard gaps.items.isEmpty else { return nil }
        if let status, status["responders"]?["OFFLINE"]?.whole ?? 0 == 0 { return nil }
        return server.advice(onNobodyIn: gaps.rest)
    }

    /// The rows of a part of the JSON: the first of them, of regions those with most people OFFLINE, if
    /// somebody asked for so many.
    private func cut(_ rows: [JSONTree]) -> (items: [JSONTree], isWhole: Bool) {
        guard wanted != nil, rows.count > limit else { return (rows, true) }
        return (Array(StatusPage.worstFirst(rows).prefix(limit)), false)
    }

    /// Asks for the regions; none from a server that does not tell them.
    /// - Throws: `QuestionError` if there is no answer, or one that is refused or strange.
    private func regions(
        _ server: ServerQuestions
    ) throws(QuestionError) -> (items: [JSONTree], isWhole: Bool) {
        do throws(QuestionError) {
            return try allRegions(server)
        } catch .tooOld {
            return ([], true)
        } catch {
            throw error
        }
    }

    private func allRegions(
        _ server: ServerQuestions
    ) throws(QuestionError) -> (items: [JSONTree], isWhole: Bool) {
        let found = try server.pages(
            Resource.regions.path, [], list: "regions", count: Resource.regionsLookedAtMax)
        let isCut = JSONTree.object(found.rest)["truncated"]?.isTrue == true
        return (found.items, found.isWhole && !isCut)
    }
}
