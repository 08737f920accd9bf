import RollcallBasis
import RollcallCore
import RollcallSupport

/// The question of how a watch on several machines stands, as `rollcall cluster` asks one of its
/// members. Source: S11, S15.
package struct ClusterQuestion: Sendable {
    private let form: OutputForm

    /// A question whose answer is printed in a form; as CSV and as ids its members are.
    package init(_ form: OutputForm) { self.form = form }

    /// Asks, and returns what is to be printed, and whether somebody leads and this member holds all
    /// of the log.
    /// - Throws: `QuestionError` if there is no answer, or one that is refused or strange.
    package func answer(
        from server: ServerQuestions, style: ConsoleStyle, now: Timestamp
    ) throws(QuestionError) -> (printout: Printout, isWell: Bool) {
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
        let members = answer["members"]?.elements ?? []
        switch form {
        case .table: break
        case .json: return (Printout(answer.printed), isWell)
        case .csv, .ids:
            return (RecordColumns.members.printout(members, form, style, lack: nil), isWell)
        }
        var lines = ["Member \(name) \(Self.words(role, leader)), at \(server.server)."]
        if let loss = answer["loss"]?.shown {
            lines.append(style.loud("NOBODY LEADS FROM HERE: \(loss)."))
        } else if !isConfirmed {
            lines.append(style.loud("It does not hold all of the log, or does not reach it."))
        }
        if answer["divergent"]?.isTrue ?? false {
            lines.append(style.loud("ITS STATE IS NOT THAT OF THE OTHERS: it never leads."))
        }
        if answer["drained"]?.isTrue ?? false {
            lines.append("It leaves the lead to others for some minutes.")
        }
        let lag = answer["lag"]?.whole ?? 0
        let reign = answer["reign"]?.whole ?? 0
        lines.append(
            "Entry \(position) of the log, reign \(reign)\(lag > 0 ? "; \(lag) to go" : "").")
        let end = position + lag
        let table = members.map { member in
            let held = member["position"]?.whole ?? 0
            let at = member["noted_at"]?.instant
            return [
                member["member"]?.shown ?? GapListing.missing,
                Self.part(of: member, leader, isClosed: answer["closed"]?.isTrue ?? false),
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
        if let erasures = answer["erasures"], let pending = erasures["pending"]?.whole, pending > 0
        {
            lines += ["", Self.words(pending, erasures, now)]
        }
        return (Printout(lines.joined(separator: "\n") + "\n"), isWell)
    }

    /// Says what a member is beside its name: that it leads, or that it is no member.
    private static func part(of member: JSONTree, _ leader: String?, isClosed: Bool) -> String {
        if member["member"]?.shown == leader { return "leads" }
        return isClosed && !(member["listed"]?.isTrue ?? false) ? "no member" : ""
    }

    /// The erasures that are not over everywhere, and who is waited for.
    private static func words(_ pending: Int64, _ erasures: JSONTree, _ now: Timestamp) -> String {
        let age = erasures["oldest_at"]?.instant.map { max(0, (now - $0).count / 60_000) }
        let missing = (erasures["missing"]?.elements ?? []).compactMap(\.shown)
        let inLog = erasures["in_log"]?.whole ?? 0
        var places: [String] = []
        if !missing.isEmpty { places.append("at \(missing.joined(separator: ", "))") }
        if inLog > 0 { places.append("in the log") }
        let oldest = age.map { ", the oldest since \($0) min" } ?? ""
        return "\(pending) \(pending == 1 ? "erasure is" : "erasures are") not over\(oldest): "
            + "something may be left \(places.joined(separator: " and "))."
    }

    /// Says what a member with this role does.
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
