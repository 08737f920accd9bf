/// What a line of a replay asks for.
package enum ReplayStep: Sendable {
    /// The watch goes on from this state.
    case state(Engine, at: RunningTime)
    /// Something arrives; nil is an instant at which nothing is folded.
    case event(Event?, at: RunningTime)
    /// The instant is closed and nothing follows. `advances` unless the watch had stopped before.
    case end(at: RunningTime, advances: Bool)
}

/// Reads the lines of a replay, each as what it asks for. Source: design §9, fine print F5.
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

    /// A reader; `decodePolicy` reads the body of `policy` lines, nil ignores them.
    package init(decodePolicy: (([UInt8]) throws -> Policy)? = nil) {
        self.decodePolicy = decodePolicy
    }

    /// Reads one line (without its line feed); nil for one that is blank.
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
        if state == .stopped, parsed.kind != "start", parsed.kind != "end" {
            throw fault("a line between \"stop\" and \"start\"")
        }
        let event = try event(parsed, bytes)
        if case .clock(let step) = event { steps.count &+= step.count }
        let told = RunningTime(milliseconds: at.milliseconds &- steps.count)
        let instant = last.map { max($0, told) } ?? told
        last = instant
        if parsed.kind == "end" {
            defer { state = .ended }
            return .end(at: instant, advances: state == .running)
        }
        state = parsed.kind == "stop" ? .stopped : .running
        return .event(event, at: instant)
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
