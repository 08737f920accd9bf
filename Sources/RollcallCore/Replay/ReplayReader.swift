/// The step that a line of a replay asks for.
package enum ReplayStep: Sendable {
    /// The watch goes on from this state.
    /// Indirect, or every step of a long list would be as large as an engine.
    indirect case state(Engine, at: RunningTime)
    /// Something arrives; nil is an instant at which nothing is folded.
    case event(Event?, at: RunningTime)
    /// The instant is closed and nothing follows. `advances` unless the watch had stopped before.
    case end(at: RunningTime, advances: Bool)
}

/// Reads the lines of a replay, each as what it asks for. Source: V7, F5.
package struct ReplayReader {
    private enum State {
        /// Events may come.
        case running
        /// A clean stop was seen; only `start` and `end` may follow.
        case stopped
        /// The last instant is closed; nothing may follow.
        case ended
    }

    /// Steps of the wall in milliseconds at most, either way: time itself must not run out.
    private static let stepMax: UInt64 = 3_155_760_000_000

    private let decodePolicy: (([UInt8]) throws -> Policy)?
    private var state = State.running
    private var line = 0
    private var last: RunningTime?
    private var steps = Milliseconds(0)
    /// The facts of a turn in the line that was read last; nil if it was another kind of line.
    private(set) var turn: TurnLine?
    /// True once something is left out because somebody was erased.
    private(set) var hasErased = false

    /// A reader; `decodePolicy` reads the body of `policy` lines, nil ignores them.
    package init(decodePolicy: (([UInt8]) throws -> Policy)? = nil) {
        self.decodePolicy = decodePolicy
    }

    /// Reads one line (without its line feed); nil for one that is blank.
    /// - Throws: `ReplayError` if the line is not JSON, has no time, is of an unknown kind or with
    ///   a body of a wrong form, or may not stand where it does.
    package mutating func read(_ bytes: [UInt8]) throws(ReplayError) -> ReplayStep? {
        line += 1
        var cursor = JSONCursor(range: 0..<bytes.count, depthMax: 64)
        if cursor.isAtEnd(bytes.span) { return nil }
        let parsed: ReplayLine
        do throws(JSONError) {
            parsed = try ReplayLine(bytes.span)
        } catch {
            throw ReplayError(line: line, message: "not JSON: \(error.message)")
        }
        guard let at = parsed.at else { throw fault("\"at\" is missing or no time") }
        if state == .ended { throw fault("a line after \"end\"") }
        turn = nil
        if parsed.kind == "state" { return try begin(parsed, bytes) }
        if parsed.kind == "turn" { turn = try turn(parsed, bytes) }
        if state == .stopped { return try afterStop(parsed, at, bytes) }
        return try step(parsed, at, bytes)
    }

    private mutating func step(
        _ parsed: ReplayLine, _ at: Timestamp, _ bytes: [UInt8]
    ) throws(ReplayError) -> ReplayStep {
        let event = try event(parsed, bytes)
        guard event?.isCredible ?? true else {
            throw fault("body: \(parsed.kind) says what nobody can have said")
        }
        if case .erase = event { hasErased = true }
        hasErased = hasErased || !parsed.erased.isEmpty
        if case .clock(let step) = event { steps.count &+= step.count }
        let given = RunningTime(milliseconds: at.milliseconds &- steps.count)
        let instant = last.map { max($0, given) } ?? given
        last = instant
        if parsed.kind == "end" {
            defer { state = .ended }
            return .end(at: instant, advances: state == .running)
        }
        state = parsed.kind == "stop" ? .stopped : .running
        return .event(event, at: instant)
    }

    /// Reads a line behind a clean stop: only `start` and `end` may follow, and what the last turn
    /// tells of itself.
    /// - Throws: `ReplayError` if another line follows, or its body cannot be read.
    private mutating func afterStop(
        _ parsed: ReplayLine, _ at: Timestamp, _ bytes: [UInt8]
    ) throws(ReplayError) -> ReplayStep {
        if let last, turn?.decided != nil, at.milliseconds &- steps.count <= last.milliseconds {
            return .event(nil, at: last)
        }
        guard parsed.kind == "start" || parsed.kind == "end" else {
            throw fault("a line between \"stop\" and \"start\"")
        }
        return try step(parsed, at, bytes)
    }

    /// Begins with the state that the first line holds.
    /// - Throws: `ReplayError` if it is not the first line, or its state is missing, damaged or of
    ///   a newer engine.
    private mutating func begin(
        _ parsed: ReplayLine, _ bytes: [UInt8]
    ) throws(ReplayError) -> ReplayStep {
        guard last == nil else { throw fault("\"state\" must be the first line") }
        guard let body = parsed.body else { throw fault("\"body\" is missing") }
        let engine: Engine
        do throws(StateLine.Fault) {
            engine = try StateLine.engine(bytes.span, body)
        } catch {
            switch error {
            case .notJSON(let error): throw fault("body: \(error.message)")
            case .newer(let version):
                throw fault(
                    "state: written by engine version \(version); this one knows "
                        + "\(Engine.version): a newer rollcall is needed")
            case .damaged: throw fault("state: it cannot be read: cut off, or changed")
            }
        }
        last = engine.clock.now
        steps = engine.clock.wallOffset
        return .state(engine, at: engine.clock.now)
    }

    private func turn(
        _ parsed: ReplayLine, _ bytes: [UInt8]
    ) throws(ReplayError) -> TurnLine? {
        guard let body = parsed.body else { return nil }
        do throws(JSONError) {
            return try TurnLine(bytes.span, body)
        } catch {
            throw fault("body: \(error.message)")
        }
    }

    private func fault(_ message: String) -> ReplayError {
        ReplayError(line: line, message: message)
    }

    // MARK: - Events

    /// Returns the event of a line; nil if the line changes nothing.
    /// - Throws: `ReplayError` if the kind is unknown or the body cannot be read.
    private func event(_ line: ReplayLine, _ bytes: [UInt8]) throws(ReplayError) -> Event? {
        if let kind = line.itemKind {
            return .items(try items(kind, line, bytes), source: line.source)
        }
        switch line.kind {
        case "roster":
            let roster = try scan(.rosterEntry, line, bytes)
            let items = try with(line.erased, roster.items)
            // One of which nothing can be read says nothing about anybody.
            guard items.count > 0 || roster.itemCount == 0 else {
                return .items(ItemList(), source: line.source)
            }
            return .roster(items, source: line.source, line.terms)
        case "stop": return .stop
        // An operator's: no sign of life of any source. A repeat of what has a name is not there.
        case "end", "silence", "take", "drill", "key", "action", "subscription": return nil
        case "policy":
            guard let decodePolicy else { return nil }
            do {
                return .policy(try decodePolicy(Array(bytes[line.body ?? 0..<0])))
            } catch {
                throw fault("policy: \(error)")
            }
        case "cells": return .cells(try cellMap(line, bytes))
        default: return try bodied(line, bytes)
        }
    }

    /// Returns the map of a fleet's cells.
    /// - Throws: `ReplayError` if the body is none.
    private func cellMap(_ line: ReplayLine, _ bytes: [UInt8]) throws(ReplayError) -> CellMap {
        guard let body = line.body else { throw fault("\"body\" is missing") }
        do throws(JSONError) {
            return try CellMap(json: bytes.span, body)
        } catch {
            throw fault("body: \(error.message)")
        }
    }

    private func bodied(_ line: ReplayLine, _ bytes: [UInt8]) throws(ReplayError) -> Event? {
        let body: ReplayBody
        do throws(JSONError) {
            body = try ReplayBody(bytes.span, line.body)
        } catch {
            throw fault("body: \(error.message)")
        }
        switch line.kind {
        case "heartbeat":
            guard let every = body.everySeconds, every == 0 || (1...3600).contains(every) else {
                return nil
            }
            return .heartbeat(
                source: body.source ?? line.source,
                every: Milliseconds(Int64((every * 1000).rounded())))
        case "erase":
            if let id = body.responderID { return .erase(.id(id), source: line.source) }
            guard let hash = body.hash.flatMap(HexText.value) else {
                throw fault("body has no responder_id")
            }
            return .erase(.number(body.person, hash: hash), source: line.source)
        // A write all the same: a beat of its source, and counted against the refused (B1, B2).
        case "wake":
            guard let people = body.people else {
                return .items(ItemList(), source: line.source)
            }
            return .wake(.members(people), source: line.source)
        case "ask": return ask(line, body)
        case "outcome":
            return try body.push.map { (push) throws(ReplayError) in
                try end(push, body)
            }
        case "skew":
            guard let skew = body.skewMilliseconds else { throw fault("body has no skew_ms") }
            return .skew(source: line.source, Milliseconds(skew))
        case "clock":
            guard let step = body.stepMilliseconds else { throw fault("body has no step_ms") }
            guard step.magnitude <= Self.stepMax else { throw fault("step_ms: beyond a century") }
            return .clock(step: Milliseconds(step))
        case "store":
            switch body.state {
            case "failing": return .store(isFailing: true)
            case "ok": return .store(isFailing: false)
            default: throw fault("body has no state \"failing\" or \"ok\"")
            }
        case "refused":
            guard let count = body.count else { throw fault("body has no count") }
            return .refused(count: count)
        case "start": return .start(isRestored: body.isRestored)
        case "reign":
            guard let number = body.number, let member = body.member,
                let unobserved = body.unobservedMilliseconds
            else { throw fault("body has no number, member or unobserved_ms") }
            return .reign(
                Reign(number: number, member: member, unobserved: Milliseconds(unobserved)))
        case "membership": return .membership(try membershipChange(body))
        case "summaries":
            guard let list = body.journalBytes.flatMap({ Summary.list(journalBytes: $0) }) else {
                throw fault("body has no bytes of summaries")
            }
            return .summaries(list)
        case "masses":
            guard let list = body.journalBytes.flatMap({ FleetMass.list(journalBytes: $0) }) else {
                throw fault("body has no bytes of masses")
            }
            return .masses(list)
        case "split":
            guard let split = body.journalBytes.flatMap({ CellSplit(journalBytes: $0) }) else {
                throw fault("body has no bytes of a split")
            }
            return .split(split)
        case "fleet_cell": return .fleetCell(isDark: body.state == "dark")
        case "company":
            return .peersElsewhere(
                .people(accompanied: body.people ?? [], alone: body.alone ?? []))
        case "turn":
            return .turn(lateness: body.lateMilliseconds.map { Milliseconds($0) })
        default: throw fault("unknown kind \"\(line.kind)\"")
        }
    }

    /// Returns whom an operator or, with `by` or a second person, a member of a circle asks for.
    private func ask(_ line: ReplayLine, _ body: ReplayBody) -> Event {
        if let id = body.responderID { return .ask(.ids(id, by: body.asker), source: line.source) }
        guard let people = body.people else {
            return .items(ItemList(), source: line.source)
        }
        return .ask(
            .numbers(people.first ?? -1, by: people.dropFirst().first), source: line.source)
    }

    /// Returns a change of a cluster's members.
    /// - Throws: `ReplayError` if the body does not name the change and what it is about.
    private func membershipChange(_ body: ReplayBody) throws(ReplayError) -> MembershipChange {
        switch (body.change, body.member, body.number) {
        case ("found", let member?, _): return .found(member)
        case ("added", let member?, _): return .added(member)
        case ("removed", let member?, _): return .removed(member)
        case ("level", _, let level?): return .level(level)
        default: throw fault("body has no change, member or number of a cluster's members")
        }
    }

    /// Returns the end of a push.
    /// - Throws: `ReplayError` if the body does not name person, kind and outcome.
    private func end(_ push: Int64, _ body: ReplayBody) throws(ReplayError) -> Event {
        guard let person = body.person,
            let kind = PushKind.allCases.first(where: { "\($0.word)" == body.kind }),
            let outcome = PushOutcome.allCases.first(where: { "\($0.word)" == body.outcome })
        else { throw fault("body has no person, kind or outcome of a push") }
        return .pushed(
            PushEnd(
                number: push, person: person, kind: kind, outcome: outcome,
                token: body.token.flatMap(HexText.value) ?? 0))
    }

    private func items(
        _ kind: ItemKind, _ line: ReplayLine, _ bytes: [UInt8]
    ) throws(ReplayError) -> ItemList {
        if let items = line.items { return try with(line.erased, items) }
        return try with(line.erased, try scan(kind, line, bytes).items)
    }

    /// Returns the items with what is left of those about people who were erased, in its places.
    /// - Throws: `ReplayError` if such a place lies beyond the items.
    private func with(
        _ erased: [(index: Int, enrols: Bool)], _ items: ItemList
    ) throws(ReplayError) -> ItemList {
        if erased.isEmpty { return items }
        var list = ItemList()
        var next = 0
        func append(_ bytes: some Sequence<UInt8>) {
            list.bytes.append(contentsOf: bytes)
            list.ends.append(list.bytes.count)
        }
        for (index, enrols) in erased {
            while list.count < index, next < items.count {
                append(items.bytes[items.range(of: next)])
                next += 1
            }
            guard list.count == index else { throw fault("erased: there is no such index") }
            append(ItemList.nobody(isEnrolment: enrols))
        }
        while next < items.count {
            append(items.bytes[items.range(of: next)])
            next += 1
        }
        return list
    }

    private func scan(
        _ kind: ItemKind, _ line: ReplayLine, _ bytes: [UInt8]
    ) throws(ReplayError) -> ScanResult {
        guard let body = line.body else { throw fault("\"body\" is missing") }
        do throws(ScanError) {
            let limits = ScanLimits(itemsMax: .max, depthMax: 64)
            return try ItemScanner.scan(bytes.span, in: body, kind: kind, limits: limits)
        } catch {
            throw fault("body: \(error)")
        }
    }
}
