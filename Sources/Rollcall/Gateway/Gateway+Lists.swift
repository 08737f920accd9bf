import RollcallBasis
import RollcallCore
import RollcallSupport

/// Lists over all cells, each of which answers its part. Who does not answer is named, and left out. Source: K5.
extension Gateway {
    /// The parameters by which a question is about one person, who is in one cell.
    private static let people: Set<String> = ["responder", "responder_id", "instead_of"]

    /// Rows that each cell is asked for at least.
    private static let shareMin = 20

    /// A question for a list, and how the answers become one.
    struct ListCall: Sendable {
        let call: Call
        let list: MergedList
        /// The map that says who that is.
        let map: CellMap
        /// Those who are asked, in the order of the cursor's places.
        let cells: [CellMap.Cell]
        /// True of a question about one person.
        let isOfPerson: Bool
        /// Rows of the answer at most.
        let limit: Int
        /// True if what each answers is told whole.
        var isOfEach = false
        /// The places behind which it begins; nil for lists with one cursor for all.
        var vector: VectorCursor?
        /// The instant until which events are waited for, by the machine's clock.
        var waitUntil: Int64 = 0
    }

    /// Returns the cell of the one person whom a question is about; nil if it is about no one person.
    static func cell(ofPersonIn request: HTTPRequest, _ map: CellMap) -> CellMap.Cell? {
        request.query.first { people.contains($0.name) }
            .map { map.cell(ofPerson: Array($0.value.utf8)) }
    }

    func passList(_ call: Call, _ list: MergedList, _ map: CellMap) {
        let query = call.request.query
        let person = Self.cell(ofPersonIn: call.request, map)
        if let person, list != .events { return pass(call, call.request, to: person) }
        if list == .events, Self.isStream(call.request) {
            let isOfWatch = query.contains { $0.name == "watch" && $0.value == "true" }
            if let cell = person ?? (isOfWatch ? fleetCell : nil) {
                return passStream(call, call.request, of: cell, map: map)
            }
            return call.answer(
                .problem(
                    406, "Not Acceptable",
                    detail:
                        "a gateway makes no stream of several: ask for pages with wait=, or for "
                        + "one cell's with cell="), InputStats())
        }
        // Of one person it is a list of one cell, whose cursor is its own.
        if query.contains(where: { $0.name == Router.atLeast }) {
            return call.answer(
                .refusal(
                    ParameterError(
                        detail: "\(Router.atLeast): a position is one cell's: say which by cell=")),
                InputStats())
        }
        let cells = person.map { [$0] } ?? (list.isOfFleetCell ? [fleetCell] : []) + map.cells
        let said = query.first { $0.name == "limit" }?.value
        guard let limit = said.map({ Int($0) }) ?? list.limitStandard,
            (1...Router.limitMax).contains(limit)
        else {
            return call.answer(
                .refusal(
                    ParameterError(detail: "limit: 1 to \(Router.limitMax) expected")), InputStats()
            )
        }
        var asked = ListCall(
            call: call, list: list, map: map, cells: cells, isOfPerson: person != nil,
            limit: limit)
        if let name = list.cursorName {
            let after = query.first { $0.name == name }?.value
            asked.vector = VectorCursor(count: cells.count)
            if after == "now" {
                asked.vector?.places = cells.map { _ in .behind("now") }
            } else if let after, list == .incidents, Int64(after) != nil {
                // A number is each cell's own: the next of each is asked for, and all of these are told.
                asked.vector?.places = cells.map { _ in .behind(after) }
                asked.isOfEach = true
                guard limit * cells.count <= Router.limitMax else {
                    return call.answer(
                        .refusal(
                            ParameterError(
                                detail: "limit: of so many cells at most "
                                    + "\(Router.limitMax / cells.count) with a number")),
                        InputStats())
                }
            } else if let after {
                guard let vector = VectorCursor(after, count: cells.count) else {
                    let isOfOthers =
                        person == nil && VectorCursor.isOfOthers(after, than: cells.count)
                    // Another gateway may have heard of a newer map.
                    if isOfOthers, !call.isAnew { return beginAnew(call, after: map) }
                    if isOfOthers, list == .events {
                        return call.answer(Self.gone(cells.count), InputStats())
                    }
                    return call.answer(
                        .refusal(
                            ParameterError(
                                detail: "\(name): the next of this gateway's answer expected")),
                        InputStats())
                }
                asked.vector = vector
            }
        }
        if list == .events, let text = query.first(where: { $0.name == "wait" })?.value,
            let seconds = Int64(text), (0...Int64(EventQuery.waitMax)).contains(seconds)
        {
            asked.waitUntil = call.arrival + seconds * 1000
        }
        ask(asked)
    }

    /// True of a question for events without an end.
    static func isStream(_ request: HTTPRequest) -> Bool {
        !request.isHead && AcceptedType.names("text/event-stream", in: request.accept)
    }

    /// Passes on a cell's stream of events: at the address that answered last, since who follows comes back. If it is
    /// one that a map has chosen, and the person is another cell's, it is looked for a newer one.
    func passStream(_ call: Call, _ request: HTTPRequest, of cell: CellMap.Cell, map: CellMap?) {
        guard var passed = passed(call, request), let url = calls.urls(of: cell).first else {
            return call.answer(Self.notFound, InputStats())
        }
        if let last = request.lastEventID {
            passed.headers.append((name: "Last-Event-ID", value: last))
        }
        streams.pass(
            CellCalls.call(passed.plain, url), of: cell,
            failed: { [calls] in calls.note($0, of: cell, at: url) },
            answer: { [self] response in
                guard response.status == 421, let map else {
                    return call.answer(response, InputStats())
                }
                if call.isAnew { return call.answer(Self.isMoving, InputStats()) }
                beginAnew(call, after: map)
            })
    }

    /// The answer to a place in the events of other cells than there are now.
    private static func gone(_ count: Int) -> HTTPResponse {
        .problem(
            410, "Gone",
            detail:
                "since this cursor was told a cell was split: ask how things are, and go on from now; "
                + "the oldest that is kept is behind \(VectorCursor(count: count).text)")
    }

    private func ask(_ asked: ListCall) {
        var requests: [(request: CellRequest, cell: CellMap.Cell)] = []
        var places: [Int] = []
        for (place, cell) in asked.cells.enumerated() {
            guard let request = request(asked, at: place) else { continue }
            requests.append((request.plain, cell))
            places.append(place)
        }
        guard !requests.isEmpty else {
            return asked.call.answer(Self.merged(asked, CellAnswers(), []), InputStats())
        }
        let isWaiting = asked.waitUntil > 0
        let goOn = { @Sendable [self, places] (outcomes: [CellOutcome], newer: NewerMap) in
            let cells = places.map { asked.cells[$0] }
            var answers = Self.answers(outcomes, cells)
            if answers.refusal?.status == 421 {
                if asked.call.isAnew { return asked.call.answer(Self.isMoving, InputStats()) }
                return beginAnew(asked.call, after: asked.map)
            }
            switch newer {
            case .none: break
            case .more where !asked.call.isAnew && !hasCome(asked, answers):
                return forward(asked.call.anew)
            case .more, .untold: answers.leaveOut(Self.untold)
            }
            if !Self.isNewer(outcomes, than: asked.map) {
                answers.keepOwn(asked)
            }
            // What is wrong with a question is wrong everywhere.
            guard !answers.found.isEmpty, answers.refusal == nil else {
                return asked.call.answer(answers.failure(of: cells), InputStats())
            }
            if isWaiting, let next = waitingOn(asked, answers, places) {
                return waits.again { [self] in ask(next) }
            }
            asked.call.answer(Self.merged(asked, answers, places), InputStats())
        }
        let then = { @Sendable [self] (outcomes: [CellOutcome]) in
            // Of one person all is there, unless they are another cell's.
            if asked.isOfPerson { return goOn(outcomes, .none) }
            lookForMore(outcomes, than: asked.map) { goOn(outcomes, $0) }
        }
        if isWaiting {
            waits.send(requests, then: then)
        } else {
            calls.send(requests, arrival: asked.call.sentAt, then: then)
        }
    }

    /// True of a question for events that has a place in them which would be lost: one that a client told, or from
    /// now on if there are some since.
    private func hasCome(_ asked: ListCall, _ answers: CellAnswers) -> Bool {
        guard asked.list == .events, let places = asked.vector?.places else { return false }
        if places.allSatisfy({ $0 == .start }) { return false }
        return places.contains { $0 != .start && $0 != .behind("now") }
            || answers.found.contains { $0.tree["events"]?.elements.isEmpty == false }
    }

    /// Returns the request to the one at a place; nil if nothing of it is left.
    private func request(_ asked: ListCall, at place: Int) -> CellRequest? {
        var request = asked.call.request
        if let name = asked.list.cursorName, let vector = asked.vector {
            request.query.removeAll { $0.name == name }
            switch vector.places[place] {
            case .start: break
            case .behind(let text): request.query.append((name: name, value: text))
            case .end, .leftOut: return nil
            }
        }
        let isTable = request.query.contains { $0.name == "by" }
        if asked.list.isPaged, !isTable, !asked.isOfEach, asked.limit > Self.shareMin * 2,
            asked.cells.count > 2
        {
            // People are spread by chance: nobody is likely to have half of a page.
            let share = max(Self.shareMin, 2 * asked.limit / asked.cells.count)
            request.query.removeAll { $0.name == "limit" }
            request.query.append(
                (name: "limit", value: "\(min(share, asked.limit, Router.limitMax))"))
        }
        if asked.list == .responders {
            let isOrdered = request.query.contains { $0.name == "sort" || $0.name == "q" }
            if !isOrdered { request.query.append((name: "sort", value: "id")) }
            request.query.append((name: "cursors", value: "true"))
        }
        // It is waited here, where that holds no thread.
        if asked.list == .events { request.query.removeAll { $0.name == "wait" } }
        return passed(asked.call, request)
    }

    /// Returns the question that goes on where nobody had an event yet; nil if it is over.
    private func waitingOn(
        _ asked: ListCall, _ answers: CellAnswers, _ places: [Int]
    ) -> ListCall? {
        let isEmpty = answers.found.allSatisfy { $0.tree["events"]?.elements.isEmpty ?? true }
        guard isEmpty, asked.waitUntil > ClockReading.now().elapsed, !accessPolicy.isClosing
        else { return nil }
        var next = asked
        for found in answers.found {
            guard let cursor = found.tree["next"]?.text else { continue }
            next.vector?.places[places[found.place]] = .behind(cursor)
        }
        return next
    }
}

extension MergedList {
    /// The name of its parameter that says where a page begins, if it has a cursor of each cell.
    var cursorName: String? {
        switch self {
        case .gaps, .nudges, .events: "after"
        case .incidents: "before"
        case .responders, .alerts, .silences, .inputs: nil
        }
    }

    /// True of those that come page by page.
    var isPaged: Bool { cursorName != nil || self == .responders }

    /// Rows of a page without a limit.
    var limitStandard: Int {
        switch self {
        case .incidents: AlertHistoryQuery.limitStandard
        default: Router.limitStandard
        }
    }

    /// The member that holds its rows.
    var member: String {
        switch self {
        case .responders: "responders"
        case .gaps: "gaps"
        case .nudges: "nudges"
        case .events: "events"
        case .alerts: "alerts"
        case .silences: "silences"
        case .incidents: "incidents"
        case .inputs: "inputs"
        }
    }
}
