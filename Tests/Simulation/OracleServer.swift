extension Oracle {
    /// A worse status that the server declared of somebody who was heard. Source: L7.
    struct Declaration {
        /// When it was folded.
        let at: Instant
        /// Of whom.
        let name: Name
    }

    private static let declarationsWindow: Span = 60_000
    private static let declarationsMin = 20

    /// True if a transition of this id was counted for the person lately. Source: F20, and the
    /// decision to remember a person's last eight.
    private mutating func isRetry(_ id: String?, of index: Int) -> Bool {
        guard let id = id.map({ Name($0) }) else { return false }
        if everybody[index].transitionIDs.contains(id) { return true }
        everybody[index].transitionIDs.append(id)
        everybody[index].transitionIDs = everybody[index].transitionIDs.suffix(8)
        return false
    }

    /// Takes the server's own transition as evidence. Source: L7, F8, F20.
    mutating func takeTransition(_ item: TransitionItem) {
        let name = Name(item.responderID)
        guard !erased.contains(name) else { return }
        let at = instant(toldAs: item.at)
        let enrols = index(of: name) == nil
        let index = enrolled(item.responderID)
        if isRetry(item.id, of: index) { return }
        if enrols {
            everybody[index].duty = .onDuty
            reconsider(index)
        }
        let named = Status(item.from)
        switch Status(item.to) {
        case .online:
            guard policy.adoptsServerTransitions else { return }
            meetContact(index, at: at, by: .server, named: named)
        case .degraded: declare(index, .degraded, at, named, enrols)
        case .offline: declare(index, .offline, at, named, enrols)
        case .unknown, nil: break
        }
    }

    /// Adopts a worse status unless it is old, no worse, or one of too many. Source: L7, F20.
    private mutating func declare(
        _ index: Int, _ worse: Status, _ at: Instant, _ named: Status?, _ enrols: Bool
    ) {
        guard let actual = everybody[index].status else { return }
        // Of somebody UNKNOWN the server is believed that they were ONLINE.
        let status = actual == .unknown && named == .online ? .online : actual
        guard worse > status else { return }
        if let last = everybody[index].lastContact, observed(at) <= observed(last) { return }
        if !enrols, observed(at) < observed(everybody[index].activeSince) { return }
        noteDeclaration(index)
        guard !isMassDeclaration(), !isBlind, policy.adoptsServerTransitions else { return }
        everybody[index].adopted.append(Adoption(at: at, status: worse))
        let believes = status == .unknown && named != worse
        everybody[index].status = status
        change(index, to: worse, by: .server, from: believes ? named : nil)
    }

    /// Remembers a declaration of somebody heard within the degraded threshold. Source: L7.
    private mutating func noteDeclaration(_ index: Int) {
        if let last = everybody[index].lastContact,
            let thresholds = thresholds(index, under: policy),
            observed(now) - observed(last) <= thresholds.degraded
        {
            declarations.append(Declaration(at: now, name: everybody[index].name))
        }
    }

    /// Whether the server declared at least 20 and half of the active within 60 s although they
    /// were heard. Who was once found too old stays so when observed time is set back: what was
    /// decided stands (B1). Source: L7.
    private mutating func isMassDeclaration() -> Bool {
        declarations = declarations.filter {
            observed(now) - observed($0.at) < Self.declarationsWindow
        }
        let people = Set(declarations.map(\.name)).count
        let active = everybody.count { $0.status != nil }
        return people >= Self.declarationsMin && 2 * people >= active
    }
}
