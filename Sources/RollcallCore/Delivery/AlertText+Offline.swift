/// ResponderOffline in words: who is away, who left and who is back. Source: R1.
extension AlertText {
    /// `2 of 14 OFFLINE: r-17 (low_power), r-3 (no_network)`, and what changed since the last message;
    /// `most` people are named.
    func offlineHeadline(_ most: Int) -> String {
        let count = facts.stats.count
        let head =
            isOver && count == 0 ? "nobody is OFFLINE any more" : "\(share) OFFLINE"
        if let turnover = facts.turnover {
            let changes = changes(turnover, most).joined(separator: "; ")
            return changes.isEmpty ? head : "\(head); \(changes)"
        }
        guard first == nil, !members.isEmpty, most > 0 else { return head }
        let named = members.prefix(most)
        let rest = count - named.count
        return "\(head): " + named.joined(separator: ", ")
            + (rest > 0 ? " and \(rest.grouped) more" : "")
    }

    /// A sentence about those who are away, and those about who left and who is back.
    var offlinePassed: String {
        let count = facts.stats.count
        let verb = count == 1 ? "is" : "are"
        var sentences = ["\(share) active responders \(verb) OFFLINE\(lasting)."]
        if facts.turnover == nil, first == nil, !members.isEmpty {
            let rest = count - members.count
            let more = rest > 0 ? " and \(rest.grouped) more" : ""
            sentences.append("\(members.joined(separator: ", "))\(more).")
        }
        return (sentences + [offlineChanges]).filter { !$0.isEmpty }.joined(separator: " ")
    }

    /// The sentence that holds at an end: how many are OFFLINE then, and who is back.
    var offlineEnded: String {
        let (count, total) = (facts.stats.count, facts.stats.total)
        let now =
            count == 0
            ? "Nobody of \(total.grouped) active responders is OFFLINE now."
            : "\(share) active responders are OFFLINE now."
        return [now, offlineChanges].filter { !$0.isEmpty }.joined(separator: " ")
    }

    private var offlineChanges: String {
        guard let turnover = facts.turnover else { return "" }
        let changes = changes(turnover, .max)
        return changes.isEmpty
            ? "" : "Since the last message: \(changes.joined(separator: "; "))."
    }

    /// `r-17 (low_power)`, of those who are not erased.
    private var members: [String] {
        zip(facts.people, facts.memberCauses).compactMap { number, cause in
            name(number).map { "\(Self.short($0)) (\(cause.word))" }
        }
    }

    /// Those who left since the last message, as text.
    var peopleLeft: String { list(facts.turnover?.left ?? []) }

    /// Those who are back since the last message, as text.
    var peopleBack: String { list(facts.turnover?.back.filter(\.isBack) ?? []) }

    private func list(_ absentees: [Absentee]) -> String {
        absentees.compactMap { name($0.number).map(Self.short) }.joined(separator: ", ")
    }

    /// Returns the changes: of each kind so many people are named, the newest first.
    private func changes(_ turnover: TurnoverFacts, _ most: Int) -> [String] {
        let back = turnover.back.reversed().compactMap(returned)
        let left = turnover.left.reversed().compactMap { absentee in
            name(absentee.number).map { "\(Self.short($0)) (\(absentee.cause.word))" }
        }
        var parts: [String] = []
        let leftNamed = left.prefix(most)
        if !leftNamed.isEmpty { parts.append("left: " + leftNamed.joined(separator: ", ")) }
        parts += back.prefix(most)
        // Who is erased is counted, and not named.
        let moreLeft = turnover.moreLeft + turnover.left.count - leftNamed.count
        let moreBack = turnover.moreBack + turnover.back.count - back.prefix(most).count
        if moreLeft > 0 {
            parts.append("\(moreLeft.grouped)\(leftNamed.isEmpty ? "" : " more") left")
        }
        if moreBack > 0 {
            parts.append(
                "\(moreBack.grouped)\(back.prefix(most).isEmpty ? "" : " more") "
                    + "\(moreBack == 1 ? "is" : "are") back")
        }
        return parts
    }

    /// `r-9 back after 4 min: it was no_network`, `r-3 was out for 12 s: it was low_power`; nil of somebody
    /// erased.
    private func returned(_ absentee: Absentee) -> String? {
        guard let id = name(absentee.number).map(Self.short) else { return nil }
        if !absentee.isBack { return "\(id) is not expected there any more" }
        let span = Self.rough(absentee.absence)
        let cause = absentee.verdict?.word ?? absentee.cause.word
        let what = absentee.isBrief ? "was out for \(span)" : "back after \(span)"
        return "\(id) \(what): it was \(cause)"
    }

    /// `12 s`, `4 min`, `3 h`: as long as it was, in the unit that says enough.
    private static func rough(_ span: Milliseconds) -> String {
        let seconds = span.count / 1000
        return switch seconds {
        case ..<120: "\(seconds) s"
        case ..<7200: "\(seconds / 60) min"
        default: "\(seconds / 3600) h"
        }
    }
}
