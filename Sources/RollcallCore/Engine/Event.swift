/// The events that the engine learns from, and nothing else. Source: J1, F5.
package enum Event: Sendable {
    /// A body of batches, transitions or facts about responders, all of one kind.
    case items(ItemList, source: [UInt8])
    /// A roster, whole or in parts: whoever is not in it is retired.
    case roster(ItemList, source: [UInt8], RosterTerms)
    /// A person is to be forgotten altogether.
    case erase(ErasedPerson, source: [UInt8])
    /// A source is alive; zero disarms it.
    case heartbeat(source: [UInt8], every: Milliseconds)
    /// By how much the clock of a source is behind ours, as a minute of its requests says (D10).
    case skew(source: [UInt8], Milliseconds)
    /// The wall stepped; the instant is the one after the step.
    case clock(step: Milliseconds)
    /// The store began or ceased to fail.
    case store(isFailing: Bool)
    /// Writes that were answered 503 for our own reasons.
    case refused(count: Int)
    /// New settings.
    /// Indirect, or every event would be as large as a policy.
    indirect case policy(Policy)
    /// Somebody mutes notifications, or ends that.
    case silence(SilenceChange)
    /// Somebody sees to an incident, or does not any more.
    /// Indirect, or every event would be as large.
    indirect case take(TakeChange)
    /// Somebody tests the way to the receiver of this name.
    case drill(receiver: [UInt8])
    /// The end of a message.
    case outcome(NoticeEnd)
    /// The end of a push.
    case pushed(PushEnd)
    /// Somebody looks at a circle.
    case wake(WakeCall, source: [UInt8])
    /// A turn of the state writer. `lateness` is by how much it was late, as the state writer saw
    /// it; nil to take what is beyond the promised 5 s since the last instant.
    case turn(lateness: Milliseconds?)
    /// We run again; `isRestored` if the store may be older than what was already sent (N2).
    case start(isRestored: Bool = false)
    /// Another member of the cluster leads from now on, or the same one anew.
    case reign(Reign)
    /// Somebody asks for a person.
    /// Indirect, or every event would be as large.
    indirect case ask(AskCall, source: [UInt8])
    /// A request was done under a name that its client gave it (S19). It comes behind the event that
    /// did it.
    /// Indirect, or every event would be as large.
    indirect case done(DoneRequest)
    /// The list of the cluster's members changes, or the level of its entries.
    case membership(MembershipChange)
    /// Somebody did what the event before it says.
    /// Indirect, or every event would be as large.
    indirect case action(ActionReport)
    /// A subscriber has come so far.
    indirect case subscription(SubscriptionMark)
    /// The fleet is divided into cells by this map from now on, if it is newer than the one that is held.
    indirect case cells(CellMap)
    /// A cell gives slots to a new one, if the map is newer than the one that is held.
    indirect case split(CellSplit)
    /// Other cells say whether people of this cell have company there.
    indirect case peersElsewhere(PeersElsewhere)
    /// A cell hears nothing of the fleet cell any more, or hears it again.
    case fleetCell(isDark: Bool)
    /// The fleet cell says who fell out of contact together, in whichever cells.
    indirect case masses([FleetMass])
    /// Summaries of cells, complete through the instant at which it is folded.
    case summaries([Summary])
    /// We stop.
    case stop
}

/// Something that the engine decided.
package enum Decision: Equatable, Sendable {
    /// A responder's status changed; nil stands for NOT_EXPECTED.
    case status(at: Timestamp, number: Int, from: Status?, to: Status?, origin: Origin)
    /// A gap opened, was evaluated, closed, or has its verdict.
    case gap(at: Timestamp, number: Int, GapDecision)
    /// An alert became pending, fires, or ended.
    indirect case alert(at: Timestamp, AlertReport)
    /// A receiver is to be told about alerts.
    indirect case notice(at: Timestamp, Notice)
    /// A receiver is not told about an alert, and why; once for each reason.
    indirect case mute(at: Timestamp, Mute)
    /// The nudge ledger has an entry about somebody.
    indirect case nudge(at: Timestamp, number: Int, NudgeReport)
    /// Somebody's phone is to be woken, by a push of this number.
    case wake(at: Timestamp, number: Int, push: Int64)
    /// The watch lost sight, or has it back, for one reason.
    case blind(at: Timestamp, begins: Bool, since: Timestamp, reason: BlindReason)
    /// A change in what is known of a source's clock, or added to its times.
    indirect case skew(at: Timestamp, SkewReport)
    /// Somebody came, left the roster, or was erased.
    case person(at: Timestamp, PersonReport)
    /// Somebody did something to the watch.
    indirect case action(at: Timestamp, ActionReport)
    /// A message to a receiver came to its end.
    indirect case delivery(at: Timestamp, NoticeEnd)
    /// A push came to its end; its token is left out.
    indirect case push(at: Timestamp, PushEnd)
    /// An update was evaluated.
    case update(at: Timestamp, number: Int, Update, outcome: UpdateOutcome)
}

extension Decision {
    /// True if it says how somebody stands, and nothing else is done because of it.
    package var isStanding: Bool {
        switch self {
        case .status, .gap: true
        default: false
        }
    }
}

/// A decision with its place in the store.
package struct NumberedDecision: Equatable, Sendable {
    package var decision: Decision
    /// Rising from 1 on.
    package var id: Int64
    /// The number of the same person's decision before this one; 0 without one.
    package var previous: Int64

    /// A decision of a number.
    package init(decision: Decision, id: Int64, previous: Int64) {
        self.decision = decision
        self.id = id
        self.previous = previous
    }
}

/// The names of sources.
package enum EventSource {
    /// The name of a source that sends without saying so (F10).
    package static let standard = Array("default".utf8)
}

/// The results for the items of one event, for the answer and the journal.
package struct Receipt: Equatable, Sendable {
    /// An item's place in the journal.
    package struct Row: Equatable, Sendable {
        /// The item's index in its list.
        package var item: Int
        /// The row's number.
        package var row: Int64
        /// The person's number.
        package var responder: Int
        /// The person's previous row; 0 without one (J7).
        package var previous: Int64
    }

    package var accepted = 0
    package var duplicates = 0
    /// Items that the engine does not take, by their index in the list.
    package var rejected: [(item: Int, fault: ItemFault)] = []
    /// Names of taken items for which there was no room, by the item's index; the first hundred.
    package private(set) var namesRefused: [(item: Int, kind: NameTableKind)] = []
    /// All of them.
    package private(set) var namesRefusedCount = 0
    /// Updates by outcome.
    package var updates: InlineArray<3, Int> = [0, 0, 0]
    /// Updates whose `captured_at` lies too far back to be a location (P2).
    package internal(set) var agedUpdates = 0
    /// Items with a time that lies too far back, by their index in the list; the first
    /// `ItemScanner.notesMax` of them.
    package private(set) var aged: [Int] = []
    /// All of them.
    package private(set) var agedCount = 0
    /// The rows of the event to be journaled; empty for a refused one.
    package var rows: [Row] = []
    /// The standing of each row's person at the turn's end, nil of somebody who was erased meanwhile;
    /// nil if the write does not ask for it (R4).
    package var standings: [PersonalStanding?]?
    /// The number of people whom a roster retired, if it was taken and no more parts follow.
    package var retired: Int?
    /// The reason why the roster, or the part, was not taken.
    package var rosterFault: RosterFault?
    /// The interval that a heartbeat's source had promised before; nil if it was not declared.
    package var promised: Milliseconds?
    /// The number of an erasure.
    package var erasure: Int64?
    /// The number of the silence that began or ended.
    package var silence: Int64?
    /// The reason why the silence was not taken.
    package var silenceFault: SilenceFault?
    /// True if it was begun before, under its `requestID`.
    package var isSilenceKnown = false
    /// The number of the incident that was taken, or given back.
    package var taken: Int64?
    /// The reason why it was not.
    package var takeFault: TakeFault?
    /// The decisions about the members of a circle that somebody looks at, by their ids.
    package var wakes: [WakeAnswer] = []
    /// Members beyond `WakeCall.membersMax`.
    package var wakesBeyond = 0
    /// The decision about somebody who was asked for.
    package var ask: AskAnswer?
    /// The number of a drill's notice; nil if the settings know no such receiver.
    package var drill: Int64?
    /// The result of the request that this one repeats: nothing was done again; nil if it repeats
    /// none.
    package var repeated: [Int64]?
    /// True if something else was done under its name before: nothing was done.
    package var isOtherRequest = false
    /// True if its name is kept from now on.
    package var isKeyKept = false
    /// Names that had to go before their time, to make room for this one's.
    package var keysForgotten = 0
    /// The reason why a change of the list of members was not taken.
    package var membershipFault: MembershipFault?
    /// The reason why a map of cells was not taken.
    package var cellMapFault: CellMapFault?
    /// True if something of it concerns people whose slots moved while it was on its way: nothing of them was
    /// taken (K6).
    package var isElsewhere = false

    package init() {}

    /// Notes a name for which there was no room.
    mutating func refuseName(_ kind: NameTableKind, of item: Int) {
        namesRefusedCount += 1
        if namesRefused.count < ItemScanner.notesMax { namesRefused.append((item, kind)) }
    }

    /// Notes that a time of an item lies too far back.
    mutating func note(aged item: Int) {
        agedCount += 1
        if aged.count < ItemScanner.notesMax { aged.append(item) }
    }

    package static func == (a: Receipt, b: Receipt) -> Bool {
        a.accepted == b.accepted && a.duplicates == b.duplicates
            && a.updates.indices.allSatisfy { a.updates[$0] == b.updates[$0] }
            && a.rows == b.rows && a.rejected.elementsEqual(b.rejected, by: ==)
            && a.namesRefusedCount == b.namesRefusedCount
            && a.namesRefused.elementsEqual(b.namesRefused, by: ==)
            && a.aged == b.aged && a.agedCount == b.agedCount
            && a.retired == b.retired && a.rosterFault == b.rosterFault
            && a.erasure == b.erasure && a.silence == b.silence
            && a.silenceFault == b.silenceFault && a.taken == b.taken
            && a.takeFault == b.takeFault && a.wakes == b.wakes
            && a.wakesBeyond == b.wakesBeyond && a.ask == b.ask && a.drill == b.drill
            && a.repeated == b.repeated && a.isOtherRequest == b.isOtherRequest
            && a.isKeyKept == b.isKeyKept && a.keysForgotten == b.keysForgotten
            && a.membershipFault == b.membershipFault && a.cellMapFault == b.cellMapFault
            && a.isElsewhere == b.isElsewhere
    }
}
