import Glibc
import RollcallBasis
import RollcallCore
import RollcallSupport

/// The story of `rollcall demo --members 3`: newcomers report, one phone falls silent, and whoever
/// leads is killed. What was acknowledged is counted here, and looked for at each member afterwards.
struct DemoWatch {
    /// The reason why the story ends before its end.
    enum End: Error {
        /// A signal.
        case stopped
        /// Rollcall did not do this in time.
        case missed(String)
    }

    /// The phone that falls silent, and where it is.
    static let silent = (id: "r-07", region: "harbour")
    /// Between two newcomers.
    private static let tick = timespec(tv_sec: 0, tv_nsec: 20_000_000)
    /// A request that takes longer is sent again, to another.
    private static let patience = Milliseconds(1000)

    private let members: DemoMembers
    private let receivers: DemoReceivers
    private let caller: HTTPCaller
    private let style: ConsoleStyle
    private let program: String
    private let signals: sigset_t
    private let beginning = ClockReading.now().elapsed
    /// Newcomers whom somebody acknowledged.
    private var taken: [String] = []
    /// The instants of the last acknowledgement and of the one before, and the longest time between
    /// two since it was last asked for.
    private var lastTaken = ClockReading.now().elapsed
    private var longest: Int64 = 0
    /// The index of the member that took the last one; members are asked in turn from there on.
    private var taker = 0
    private var newcomers = 0
    private var nextReport: Int64? = 0
    /// The messages to the pager about the silent phone.
    private var pages: [DemoSign: Int] = [:]

    /// A story of these, which ends at a signal of `signals`.
    init(
        _ members: DemoMembers, _ receivers: DemoReceivers, _ caller: HTTPCaller,
        _ style: ConsoleStyle, program: String, signals: sigset_t
    ) {
        self.members = members
        self.receivers = receivers
        self.caller = caller
        self.style = style
        self.program = program
        self.signals = signals
    }

    // MARK: - The story

    /// Tells it from its beginning to its end.
    /// - Throws: `End` if a signal came, or Rollcall did not do what it should.
    mutating func play() throws(End) {
        let names = members.all.map(\.name).joined(separator: ", ")
        say(.demo, "members \(names) share a log in etcd; each has a store of its own")
        let first = try waitForLeader(other: nil, 30)
        say(.rollcall, "member \(first.name) leads, at \(first.url)")
        say(.try, "\(program) cluster --server \(members.all[0].url)")
        let start = ClockReading.now().elapsed
        try wait("200 newcomers are taken", 30) {
            $0.taken.count >= 200 && ClockReading.now().elapsed > start + 4000
        }
        say(.rollcall, "\(taken.count) newcomers are acknowledged, one after the other")
        let id = Self.silent.id
        say(.truth, "\(id): the app is swiped away, on a mission in \(Self.silent.region)")
        nextReport = nil
        try pause(1000)
        try goOn(without: first)
        try waitForPage(id)
        say(.truth, "member \(first.name) is started again, with what is on its disk")
        try restart(first.name)
        try waitForFollower(first)
        try compare()
    }

    /// Kills who leads, and tells what came of it.
    private mutating func goOn(without first: DemoMembers.Member) throws(End) {
        let before = taken.count
        longest = 0
        members.kill(first.name)
        say(.truth, "member \(first.name) leads, and is killed (SIGKILL)")
        try wait("another member takes newcomers", 30) { $0.taken.count > before + 20 }
        let gap = longest
        let next = try waitForLeader(other: first.name, 10)
        say(.rollcall, "member \(next.name) leads now")
        say(.demo, "nothing was acknowledged for \(Self.seconds(gap))")
        let missing = missing(at: next)
        guard missing == 0 else { throw .missed("\(missing) acknowledged newcomers are lost") }
        say(
            .rollcall,
            "nothing acknowledged was lost: member \(next.name) knows all \(taken.count) newcomers")
    }

    /// The phone fell silent under one leader; another tells of it.
    private mutating func waitForPage(_ id: String) throws(End) {
        let page = DemoSign.page("NoOnlineResponders", of: Self.silent.region, state: "firing")
        try wait("\(id) OFFLINE at whoever leads now", 40) {
            let next = $0.members.all[$0.taker]
            let person = $0.members.ask("\(next.url)/v1/responders/\(id)")
            return person?["status"]?.text == "OFFLINE"
        }
        say(.rollcall, "\(id) OFFLINE, says the member that had never led before")
        try wait(page.words, 40) { $0.pages[page, default: 0] > 0 }
    }

    private mutating func waitForFollower(_ member: DemoMembers.Member) throws(End) {
        let began = ClockReading.now().elapsed
        try wait("member \(member.name) follows", 40) {
            let standing = $0.members.ask("\(member.url)\(Resource.cluster.path)")
            return standing?["confirmed"]?.isTrue == true
        }
        let span = ClockReading.now().elapsed - began
        say(.rollcall, "member \(member.name) follows, \(Self.seconds(span)) after its start")
    }

    /// Looks for everybody at every member.
    private mutating func compare() throws(End) {
        let count = taken.count
        try wait("every member knows all \(count) newcomers", 20) { story in
            story.members.all.allSatisfy { story.missing(at: $0) == 0 }
        }
        say(.rollcall, "every member knows all \(taken.count) newcomers")
        let page = DemoSign.page("NoOnlineResponders", of: Self.silent.region, state: "firing")
        let times = pages[page, default: 0]
        guard times == 1 else { throw .missed("one page of \(Self.silent.region), not \(times)") }
        say(.demo, "the pager heard of \(Self.silent.region) once")
    }

    // MARK: - What goes on meanwhile

    /// Goes on until the others say who leads; `other` did before.
    private mutating func waitForLeader(
        other: String?, _ seconds: Int64
    ) throws(End) -> DemoMembers.Member {
        var found: DemoMembers.Member?
        try wait("a member leads", seconds) {
            found = $0.members.leader()
            return found != nil && found?.name != other
        }
        guard let found else { throw .missed("a member leads") }
        return found
    }

    /// Goes on until it is so; throws `End.missed` after so many seconds.
    private mutating func wait(
        _ what: String, _ seconds: Int64, until isSo: (inout DemoWatch) -> Bool
    ) throws(End) {
        let end = ClockReading.now().elapsed + seconds * 1000
        var next: Int64 = 0
        while ClockReading.now().elapsed < end {
            try turn()
            guard ClockReading.now().elapsed >= next else { continue }
            if isSo(&self) { return }
            next = ClockReading.now().elapsed + 200
        }
        throw .missed(members.lastWords().map { "\(what) (\($0))" } ?? what)
    }

    private mutating func pause(_ span: Int64) throws(End) {
        let end = ClockReading.now().elapsed + span
        while ClockReading.now().elapsed < end { try turn() }
    }

    /// Goes on until a signal comes.
    mutating func stay() {
        while true {
            do throws(End) { try turn() } catch { return }
        }
    }

    /// A newcomer reports, the phone on its mission does, and messages are told.
    private mutating func turn() throws(End) {
        var pause = Self.tick
        var signals = signals
        guard sigtimedwait(&signals, nil, &pause) < 0 else { throw .stopped }
        let now = ClockReading.now().elapsed
        if let due = nextReport, now >= due {
            let (id, region) = Self.silent
            if post(#"{"responder_id":"\#(id)","region":"\#(region)","duty_state":"ON_MISSION"}"#) {
                nextReport = now + 500
            }
        }
        let id = "n-\(newcomers + 1)"
        if post(#"{"responder_id":"\#(id)","region":"north"}"#) {
            newcomers += 1
            taken.append(id)
            let now = ClockReading.now().elapsed
            longest = max(longest, now - lastTaken)
            lastTaken = now
        }
        for message in receivers.take() {
            let news = DemoNarrator.follow(message)
            for sign in news.signs { pages[sign, default: 0] += 1 }
            for line in news.lines { say(line.voice, line.text) }
        }
    }

    /// Posts a batch to whoever took the last one; false if it was not taken, and the next one is
    /// asked next time.
    private mutating func post(_ body: String) -> Bool {
        var call = HTTPCall(.post, members.all[taker].url + Resource.batches.path)
        call.body = Array(body.utf8)
        call.headers = [("Content-Type", "application/json")]
        call.timeout = Self.patience
        if (try? caller.answer(to: call))?.status == 200 { return true }
        taker = (taker + 1) % members.all.count
        return false
    }

    /// Returns how many of those who were acknowledged a member does not know.
    private func missing(at member: DemoMembers.Member) -> Int {
        var rest = Set(taken)
        var after = ""
        while true {
            let page = members.ask("\(member.url)\(Resource.responders.path)?limit=1000\(after)")
            guard let page else { return rest.count }
            for person in page["responders"]?.elements ?? [] {
                if let id = person["responder_id"]?.text { rest.remove(id) }
            }
            guard let next = page["next"]?.text else { return rest.count }
            after = "&after=\(ServerQuestions.escaped(next))"
        }
    }

    private mutating func restart(_ name: String) throws(End) {
        do throws(Demo.Fault) {
            try members.start(name)
        } catch {
            throw .missed(error.description)
        }
    }

    // MARK: - As text

    /// Says a line.
    func say(_ voice: DemoLine.Voice, _ text: String) {
        let seconds = (ClockReading.now().elapsed - beginning) / 1000
        var bytes = Array(DemoLine(voice, text).printed(seconds: seconds, style).utf8)
        try? StandardOutput.write(&bytes)
    }

    private static func seconds(_ span: Int64) -> String { "\(span / 1000).\(span % 1000 / 100) s" }
}
