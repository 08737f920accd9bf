import Glibc
import RollcallBasis
import RollcallCore
import RollcallSupport
import Synchronization

/// The demo's own loop, a thread: asks the server, tells what is new, lets the script go on.
final class DemoDirector: Sendable {
    /// The outcome of a story.
    struct Outcome: Sendable {
        /// The number of signs that Rollcall had to give, and gave.
        var seen = 0
        /// The signs that it did not give within their time.
        var missing: [DemoSign] = []
        var gaps = 0
        var verdicts = 0
        /// Seconds from the beginning to the end.
        var seconds: Int64 = 0
        /// True once the script was through; what comes after it are rounds.
        var isScriptOver = false
    }

    /// Between two rounds of questions.
    private static let pollMicroseconds: UInt32 = 200_000
    /// A round that takes so long is told: the machine, or its disk, stood still.
    private static let stallMin = Milliseconds.seconds(3)

    private let address: ServerAddress
    private let backend: DemoBackend
    private let receivers: DemoReceivers
    private let style: ConsoleStyle
    private let names: DemoNames
    private let endsAfterScript: Bool
    private let isStopping = Atomic(false)
    private let isOver = Atomic(false)
    private let result = Mutex(Outcome())

    /// A director of these; with `endsAfterScript` it ends when the script does.
    init(
        _ address: ServerAddress, _ backend: DemoBackend, _ receivers: DemoReceivers,
        names: DemoNames, style: ConsoleStyle, endsAfterScript: Bool
    ) {
        self.address = address
        self.backend = backend
        self.receivers = receivers
        self.names = names
        self.style = style
        self.endsAfterScript = endsAfterScript
    }

    /// Starts its thread; false if the system has none left.
    func start() -> Bool {
        DetachedThread.start {
            if let server = try? ServerQuestions(self.address) { self.run(server) }
            self.isOver.store(true, ordering: .releasing)
        }
    }

    /// Ends its thread soon.
    func stop() { isStopping.store(true, ordering: .relaxed) }

    /// True once its thread does nothing any more.
    var isIdle: Bool { isOver.load(ordering: .acquiring) }

    /// The outcome so far.
    var outcome: Outcome { result.withLock { $0 } }

    private var goesOn: Bool { !isStopping.load(ordering: .relaxed) }

    // MARK: - The loop

    /// The story that the loop keeps.
    private struct Story {
        var narrator: DemoNarrator
        var script: DemoScript
        let beginning: Int64
        var last: Int64
        var round = 0
        var trouble: String?

        var seconds: Int64 { (last - beginning) / 1000 }
    }

    private func run(_ server: ServerQuestions) {
        let cast = backend.look { $0 }
        let now = ClockReading.now().elapsed
        var story = Story(
            narrator: DemoNarrator(people: cast.everybody.map(\.id)),
            script: DemoScript(DemoScenes.script(cast)), beginning: now, last: now)
        while goesOn {
            guard goRound(server, cast, &story) else { return }
            usleep(Self.pollMicroseconds)
        }
    }

    /// Once round; false at the end.
    private func goRound(
        _ server: ServerQuestions, _ cast: DemoCast, _ story: inout Story
    ) -> Bool {
        // Before the questions: what brought a message about is in the answers then.
        let messages = receivers.take()
        var news = DemoNarrator.News()
        do throws(QuestionError) {
            let answers = try DemoAnswers(from: server)
            let silent = backend.look { cast in
                Set(cast.everybody.map(\.id).filter { cast.isMeantToBeOffline($0) })
            }
            news = story.narrator.follow(answers, silent: silent)
            story.trouble = nil
        } catch {
            if goesOn { complain("\(error)", &news, &story) }
        }
        if let trouble = backend.trouble { complain(trouble, &news, &story) }
        for message in messages { news = news + DemoNarrator.follow(message) }
        let now = ClockReading.now().elapsed
        let span = Milliseconds(now - story.last)
        story.last = now
        if span >= Self.stallMin { news = stall(span, server, &story) + news }
        story.script.hear(news.signs)
        var isHeard = print(news.lines, story)
        for cue in story.script.pass(span, isWatching: story.narrator.isWatching) {
            isHeard = isHeard && play(cue, server, &story)
        }
        note(story)
        return isHeard && goOn(cast, &story)
    }

    /// Returns what is said of a time in which nothing went on.
    private func stall(
        _ span: Milliseconds, _ server: ServerQuestions, _ story: inout Story
    ) -> DemoNarrator.News {
        let words = "this machine stood still for \(ConsoleStyle.span(span))"
        let news = DemoNarrator.News(lines: [DemoLine(.demo, words)])
        guard let timeline = try? server.ask("/v1/responders/\(DemoScenes.swiped)/timeline")
        else { return news }
        return news + story.narrator.followBlindness(timeline)
    }

    /// Says once what does not work.
    private func complain(_ text: String, _ news: inout DemoNarrator.News, _ story: inout Story) {
        guard story.trouble == nil else { return }
        story.trouble = text
        news.lines.append(DemoLine(.demo, text))
    }

    /// False if nobody listens any more.
    private func play(_ cue: DemoScript.Cue, _ server: ServerQuestions, _ story: inout Story)
        -> Bool
    {
        switch cue {
        case .act(let act): backend.apply(act)
        case .line(let line): return print([line], story)
        case .askForNoGap(let id):
            guard let person = try? server.ask("/v1/responders/\(id)"),
                let gaps = try? server.ask("/v1/gaps", [("responder", id)])
            else { return true }
            let news = DemoNarrator.noGap(id, person: person, gaps: gaps)
            story.script.hear(news.signs)
            return print(news.lines, story)
        }
        return true
    }

    /// False once the demo is over.
    private func goOn(_ cast: DemoCast, _ story: inout Story) -> Bool {
        guard story.script.isOver else { return true }
        if story.round == 0 {
            result.withLock { $0.isScriptOver = true }
            guard !endsAfterScript else { return false }
            let words = "That was the script. It goes on more quietly, with others, until Ctrl-C."
            guard print([DemoLine(.demo, words)], story) else { return false }
        }
        story.round += 1
        story.script.add(DemoScenes.round(story.round, cast))
        return true
    }

    private func note(_ story: Story) {
        let gaps = story.narrator.gapsReported
        result.withLock {
            $0.seen = story.script.seen
            $0.missing = story.script.missing
            ($0.gaps, $0.verdicts) = (gaps.all, gaps.evaluated)
            $0.seconds = story.seconds
        }
    }

    private func print(_ lines: [DemoLine], _ story: Story) -> Bool {
        guard !lines.isEmpty else { return true }
        var bytes: [UInt8] = []
        for line in lines {
            let filled = DemoLine(line.voice, names.filled(line.text))
            bytes += filled.printed(seconds: story.seconds, style).utf8
        }
        do throws(InputFileError) {
            try StandardOutput.write(&bytes)
            return true
        } catch {
            return false
        }
    }
}

extension DemoNarrator.News {
    static func + (news: Self, more: Self) -> Self {
        Self(lines: news.lines + more.lines, signs: news.signs + more.signs)
    }
}

/// The names that the reader is told to call.
struct DemoNames: Sendable {
    /// The URL of the server.
    let server: String
    /// The program, as it was called.
    let program: String

    /// A command with these in it. Commands that ask a server are told which, if it is not the usual
    /// one.
    func filled(_ command: String) -> String {
        var text = command.replacing("{server}", with: server)
        if text.hasPrefix("{rollcall} "), server != ServerAddress.standard {
            text += " --server \(server)"
        }
        return text.replacing("{rollcall}", with: program)
    }
}
