import RollcallBasis
import RollcallCore
import RollcallSupport

/// The question of how a watch on several machines stands, as `rollcall cluster` asks one of its
/// members. Source: S11, S15.
package struct ClusterQuestion: Sendable {
    private let isJSON: Bool

    /// A question for people, or for machines.
    package init(isJSON: Bool) { self.isJSON = isJSON }

    /// Asks, and returns what is to be printed, and whether somebody leads and this member holds all
    /// of the log.
    /// - Throws: `QuestionError` if there is no answer, or one that is refused or strange.
    package func answer(
        from server: ServerQuestions, style: ConsoleStyle, now: Timestamp
    ) throws(QuestionError) -> (text: String, isWell: Bool) {
        let answer = try server.ask(Resource.cluster.path)
        guard let name = answer["member"]?.shown, let role = answer["role"]?.shown,
            let position = answer["position"]?.whole
        else {
            throw .strange(
                server: server.server, "\(Resource.cluster.path) without member, role or position")
        }
        let isConfirmed = answer["confirmed"]?.isTrue ?? false
        let leader = answer["leader"]?.shown
        let isWell = isConfirmed && leader != nil
        if isJSON { return (answer.printed, isWell) }
        var lines = ["Member \(name) \(Self.words(role, leader)), at \(server.server)."]
        if let loss = answer["loss"]?.shown {
            lines.append(style.loud("NOBODY LEADS FROM HERE: \(loss)."))
        } else if !isConfirmed {
            lines.append(style.loud("It does not hold all of the log, or does not reach it."))
        }
        let lag = answer["lag"]?.whole ?? 0
        let reign = answer["reign"]?.whole ?? 0
        lines.append(
            "Entry \(position) of the log, reign \(reign)\(lag > 0 ? "; \(lag) to go" : "").")
        let members = answer["members"]?.elements ?? []
        let end = position + lag
        let table = members.map { member in
            let held = member["position"]?.whole ?? 0
            let at = member["noted_at"]?.instant
            return [
                member["member"]?.shown ?? GapListing.missing,
                member["member"]?.shown == leader ? "leads" : "",
                "\(held)", "\(max(0, end - held))",
                at.map { "\(max(0, (now - $0).count / 1000)) s ago" } ?? GapListing.missing,
                member["address"]?.shown ?? GapListing.missing,
            ]
        }
        let console = ConsoleTable(
            [
                .init("MEMBER", least: 6), .init(""), .init("HOLDS", isRight: true),
                .init("BEHIND", isRight: true), .init("SAID", isRight: true),
                .init("ADDRESS", least: 10),
            ], table, style)
        lines += ["", style.bold(console.head)] + table.map { console.line($0) }
        return (lines.joined(separator: "\n") + "\n", isWell)
    }

    /// What a member with this role does.
    static func words(_ role: String, _ leader: String?) -> String {
        switch role {
        case "leading": "leads"
        case "following": leader.map { "follows \($0)" } ?? "follows nobody"
        case "standing": "stands to lead"
        case "joining": "joins"
        default: "has lost the log"
        }
    }
}
