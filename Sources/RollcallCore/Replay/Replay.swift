/// Why a replay ends before its file does.
package struct ReplayError: Error, Equatable, Sendable {
    /// The line, from 1.
    package var line: Int
    /// What is wrong with it.
    package var message: String
}

/// Folds the lines of a file in virtual time and prints every decision as a line.
///
/// The very engine that runs live: what it prints is what would have been decided. Source: design
/// §9, fine print F1, F5.
package struct Replay {
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
    private var engine: Engine
    private var state = State.running
    private var line = 0
    private var last: RunningTime?
    private var steps = Milliseconds(0)

    /// A replay under `policy`. `decodePolicy` reads the body of `policy` lines; nil ignores them.
    package init(
        policy: Policy, reportsUpdates: Bool = false,
        decodePolicy: (([UInt8]) throws -> Policy)? = nil
    ) {
        engine = Engine(policy: policy)
        engine.reportsUpdates = reportsUpdates
        self.decodePolicy = decodePolicy
    }

    /// Folds one line (without its line feed) and appends what it made the engine decide.
    package mutating func fold(
        _ bytes: [UInt8], to output: inout [UInt8]
    ) throws(ReplayError) {
        line += 1
        var cursor = JSONCursor(range: 0..<bytes.count, depthMax: 64)
        if cursor.isAtEnd(bytes.span) { return }
        let parsed: ReplayLine
        do throws(JSONError) {
            parsed = try ReplayLine(bytes.span)
        } catch {
            throw ReplayError(line: line, message: "not JSON: \(error.message)")
        }
        guard let at = parsed.at else { throw fault("\"at\" is missing or no time") }
        if state == .ended { throw fault("a line after \"end\"") }
        if state == .stopped, parsed.kind != "start", parsed.kind != "end" {
            throw fault("a line between \"stop\" and \"start\"")
        }
        let event = try event(parsed, bytes)
        if case .clock(let step) = event { steps.count &+= step.count }
        let told = RunningTime(milliseconds: at.milliseconds &- steps.count)
        let instant = last.map { max($0, told) } ?? told
        if let last, instant > last { close(&output) }
        last = instant
        if parsed.kind == "end" {
            if state == .running { engine.advance(to: instant) }
            state = .ended
            return drain(&output)
        }
        if case .erase = event {
            // What was decided before must be printed while the name is known.
            engine.arrive(at: instant)
            drain(&output)
        }
        if let event { _ = engine.fold(event, at: instant) } else { engine.arrive(at: instant) }
        state = parsed.kind == "stop" ? .stopped : .running
        drain(&output)
    }

    /// Closes the last line's instant.
    package mutating func finish(to output: inout [UInt8]) {
        if state != .ended, last != nil { close(&output) }
        state = .ended
    }

    private mutating func close(_ output: inout [UInt8]) {
        engine.settle()
        drain(&output)
    }

    private mutating func drain(_ output: inout [UInt8]) {
        for decision in engine.decisions { DecisionLine.append(decision, engine, to: &output) }
        engine.decisions.removeAll(keepingCapacity: true)
        // Rows of a store that a replay does not have.
        _ = engine.takeDarkBookings()
    }

    private func fault(_ message: String) -> ReplayError {
        ReplayError(line: line, message: message)
    }

    // MARK: - Events

    /// The event of a line; nil if the line changes nothing.
    private func event(_ line: ReplayLine, _ bytes: [UInt8]) throws(ReplayError) -> Event? {
        switch line.kind {
        case "batch":
            return .items(try scan(.batch, line, bytes).items, source: line.source)
        case "transition":
            return .items(try scan(.transition, line, bytes).items, source: line.source)
        case "responder":
            return .items(try scan(.responder, line, bytes).items, source: line.source)
        case "roster":
            let roster = try scan(.rosterEntry, line, bytes)
            // One of which nothing can be read says nothing about anybody.
            guard roster.items.count > 0 || roster.itemCount == 0 else {
                return .items(ItemList(), source: line.source)
            }
            return .roster(roster.items, source: line.source, line.terms)
        case "stop": return .stop
        case "end", "outcome": return nil
        // Writes all the same: beats of their source, and counted against the refused (B1, B2).
        case "wake", "silence", "drill": return .items(ItemList(), source: line.source)
        case "state": throw fault("\"state\" lines cannot be read yet")
        case "policy":
            guard let decodePolicy else { return nil }
            do {
                return .policy(try decodePolicy(Array(bytes[line.body ?? 0..<0])))
            } catch {
                throw fault("policy: \(error)")
            }
        default: return try bodied(line, bytes)
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
            guard let id = body.responderID else { throw fault("body has no responder_id") }
            return .erase(.id(id), source: line.source)
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
        case "turn":
            return .turn(lateness: body.lateMilliseconds.map { Milliseconds($0) })
        default: throw fault("unknown kind \"\(line.kind)\"")
        }
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
