import RollcallCore

/// The script of who does what, and when: pure, without a clock of its own.
///
/// Nothing here says what Rollcall says. A scene lets something happen to a phone, waits until
/// Rollcall has said what it should, and goes on; what does not come within its time is told, and
/// missing at the end.
struct DemoScript: Sendable {
    /// A step of a scene.
    enum Step: Equatable, Sendable {
        /// Something happens; with what really happened, in words.
        case act(DemoAct, String)
        /// Rollcall has to say this, within so long.
        case expect(DemoSign, within: Milliseconds)
        /// Waits for this, or so long.
        case wait(DemoSign, Milliseconds)
        case pause(Milliseconds)
        /// Has Rollcall asked whether a person has no gap.
        case askForNoGap(String)
        /// The command that shows it.
        case look(String)
        case say(String)
    }

    /// Steps one after the other. Scenes run beside each other.
    struct Scene: Equatable, Sendable {
        let name: String
        /// Scenes that have to be over before it begins.
        var after: [String] = []
        /// The time that it waits then.
        var pause = Milliseconds(0)
        var steps: [Step]
    }

    /// A thing to be done now.
    enum Cue: Equatable, Sendable {
        case act(DemoAct)
        case line(DemoLine)
        case askForNoGap(String)
    }

    /// A scene on its way.
    private struct Running: Sendable {
        let scene: Scene
        /// The step that is next; −1 before the first.
        var step = -1
        /// The instant at which this step began; nil before that.
        var since: Milliseconds?
        /// Signs with this number or a greater one came since the scene began.
        var heardFrom: Int64 = 1
    }

    /// A stall of the machine weighs no more than this on what Rollcall has time for.
    private static let stepMax = Milliseconds.seconds(1)

    private var running: [Running]
    private var over: Set<String> = []
    /// The number of each sign's last coming.
    private var heard: [DemoSign: Int64] = [:]
    private var next: Int64 = 1
    private var now = Milliseconds(0)
    /// The number of signs that came and had to.
    private(set) var seen = 0
    /// Those that did not come within their time.
    private(set) var missing: [DemoSign] = []

    /// A script of these scenes.
    init(_ scenes: [Scene]) { running = scenes.map { Running(scene: $0) } }

    /// True once all scenes are over.
    var isOver: Bool { running.isEmpty }

    /// One more scene.
    mutating func add(_ scene: Scene) {
        running.append(Running(scene: scene))
    }

    /// Rollcall said these.
    mutating func hear(_ signs: [DemoSign]) {
        for sign in signs { heard[sign] = next }
        next += 1
    }

    /// So much time passed; what is to be done. While Rollcall cannot see, nothing can be expected of
    /// it: that time does not count.
    mutating func pass(_ span: Milliseconds, isWatching: Bool) -> [Cue] {
        if isWatching { now = Milliseconds(now.count + min(span, Self.stepMax).count) }
        var cues: [Cue] = []
        for place in running.indices {
            while let step = beginStep(place) {
                let isDone = take(step, place, &cues)
                if !isDone { break }
                running[place].step += 1
                running[place].since = nil
            }
        }
        for entry in running where entry.step >= entry.scene.steps.count {
            over.insert(entry.scene.name)
        }
        running.removeAll { $0.step >= $0.scene.steps.count }
        return cues
    }

    /// The step at which a scene is; nil at its end, and before its beginning.
    private mutating func beginStep(_ place: Int) -> Step? {
        let scene = running[place].scene
        if running[place].step < 0 {
            guard over.isSuperset(of: scene.after) else { return nil }
            let since = running[place].since ?? now
            running[place].since = since
            guard now.count - since.count >= scene.pause.count else { return nil }
            running[place].step = 0
            running[place].since = nil
            running[place].heardFrom = next
        }
        guard running[place].step < scene.steps.count else { return nil }
        if running[place].since == nil { running[place].since = now }
        return scene.steps[running[place].step]
    }

    /// Does a step, or waits at it; true once it is done.
    private mutating func take(_ step: Step, _ place: Int, _ cues: inout [Cue]) -> Bool {
        let waited = Milliseconds(now.count - (running[place].since ?? now).count)
        switch step {
        case .act(let act, let words):
            cues += [.line(DemoLine(.truth, words)), .act(act)]
            return true
        case .look(let command):
            cues.append(.line(DemoLine(.try, command)))
            return true
        case .say(let words):
            cues.append(.line(DemoLine(.demo, words)))
            return true
        case .pause(let span): return waited >= span
        case .wait(let sign, let span): return isHeard(sign, place) || waited >= span
        case .expect(let sign, let span): return isDone(sign, span, waited, place, &cues)
        case .askForNoGap(let id):
            cues.append(.askForNoGap(id))
            return true
        }
    }

    private func isHeard(_ sign: DemoSign, _ place: Int) -> Bool {
        heard[sign] ?? 0 >= running[place].heardFrom
    }

    private mutating func isDone(
        _ sign: DemoSign, _ span: Milliseconds, _ waited: Milliseconds, _ place: Int,
        _ cues: inout [Cue]
    ) -> Bool {
        if isHeard(sign, place) {
            seen += 1
            return true
        }
        guard waited >= span else { return false }
        missing.append(sign)
        cues.append(
            .line(
                DemoLine(
                    .demo, "NOT SEEN within \(span.count / 1000) s of watching: \(sign.words)")))
        return true
    }
}
