import RollcallCluster
import RollcallCore
import RollcallStore
import RollcallTools

/// Three members of a watch, their log, people who report, receivers that count, and everything that
/// may go wrong between them. It notes what happened by its own means and fails a story that breaks a
/// promise.
final class ClusterWorld: @unchecked Sendable {
    /// Few, so that stories come around the ring.
    static let slots: Int64 = 128
    static let hosts = 3
    /// People of whom each reports until the end.
    static let living = 8
    /// People of whom each goes silent at some time.
    static let leaving = 8
    /// The beginning of people's names: long enough to be found nowhere by chance.
    private static let name = "someone-"
    private static let epoch: Int64 = 1_795_219_200_000

    let time = VirtualTime()
    let etcd = VirtualEtcd()
    let fault: ClusterFault?
    var dice: Dice
    var disks = [ClusterDisk](repeating: ClusterDisk(), count: hosts)
    private(set) var processes = [ClusterProcess?](repeating: nil, count: hosts)
    private(set) var failure: String?
    private(set) var marks: [String: Int] = [:]

    // The present troubles.
    var isShaky = false
    var isEtcdDown = false
    var cut = [Bool](repeating: false, count: hosts)
    var stalledUntil = [Int64](repeating: 0, count: hosts)
    private var wokenAt = [Int64](repeating: 0, count: hosts)
    var walls = [Int64](repeating: 0, count: hosts)
    /// Erasures that were acknowledged: the person, and the turn and place of it.
    var erasures: [(person: Int, turn: Int64, position: Int64)] = []
    /// Those that were asked for.
    var erasing: Set<Int> = []
    /// The members, as those who look on note it.
    var membership: [(position: Int64, isClosed: Bool, names: [[UInt8]])] = []
    /// The newest position that somebody kept, and the number of the newest decision up to it.
    var numbered: (position: Int64, decision: Int64) = (0, 0)
    /// The leader that was drained last, and when.
    var drained: (host: Int, at: Int64)?
    /// True once a lost log was begun anew.
    var isAdopted = false
    /// When the last trouble of each host was over.
    var troubledAt = [Int64](repeating: 0, count: hosts)
    /// True once the log went back to an older state.
    var isRestored = false

    // The ledger.
    private(set) var landed: [Int64: UInt64] = [:]
    private(set) var revisions: [Int64: Int64] = [:]
    /// The engine's revision of the last head, and the one that each entry was to follow.
    private var head: Int64?
    private var proposed: [UInt64: Int64] = [:]
    /// The reign that landed last, as its own leader tells.
    private(set) var reign: (at: Int64, member: [UInt8])?
    private(set) var tail: Int64 = 0
    private var lostDisks: [(at: Int64, position: Int64)] = []
    private var reigns: [(at: Int64, host: Int)] = []
    private(set) var lost: [Int: LogLoss] = [:]
    var trims: [Int64: Bool] = [:]
    /// Bodies of batches that were answered with a 2xx.
    private var acknowledged: [[UInt8]] = []
    /// Bodies of batches that stand in turns that landed.
    private var kept: Set<[UInt8]> = []
    private var decided: Set<Int64> = []
    private var pushed: Set<Int64> = []
    private var watch: UInt64?
    private(set) var people = [(sequence: Int64, isWaiting: Bool, leavesAt: Int64)]()

    init(seed: UInt64, fault: ClusterFault?) {
        self.fault = fault
        dice = Dice(seed: seed)
        people = (0..<(Self.living + Self.leaving)).map { number in
            (0, false, number < Self.living ? .max : dice.number(60_000...180_000))
        }
        for host in walls.indices { walls[host] = dice.number(-200...200) }
        etcd.onChange = { [weak self] rows in self?.observe(rows) }
    }

    /// What the members are told by their files: shortest times, so that a story of minutes has
    /// alerts, pages and nudges.
    static let policy: Policy = {
        var policy = Policy()
        policy.onDuty = Policy.Profile(expected: 5, degradedAfter: 15, offlineAfter: 30)
        policy.alerts.highOfflineRate.pendingFor = .seconds(5)
        policy.alerts.offlineAbove = 500
        var pager = Receiver(name: Array("pager".utf8), kind: .pagerduty)
        pager.repeatInterval = .seconds(30)
        policy.receivers = [pager]
        policy.nudges.mode = .live
        policy.nudges.sink = .webhook
        policy.nudges.staleAfter.standard = .seconds(40)
        policy.nudges.minInterval = .seconds(40)
        return policy
    }()

    /// The name of a person.
    static func name(_ person: Int) -> String { "\(name)\(person)" }

    // MARK: - The story

    func start(_ host: Int) {
        guard processes[host] == nil, failure == nil else { return }
        troubledAt[host] = time.now
        processes[host] = ClusterProcess(self, host: host)
    }

    func kill(_ host: Int) {
        processes[host]?.kill()
        processes[host] = nil
        troubledAt[host] = time.now
    }

    /// A process ends, and begins again at once.
    func beginAgain(_ host: Int) {
        processes[host]?.kill()
        processes[host] = nil
        start(host)
    }

    /// True if some member's state has drifted.
    var hasDrifted: Bool { processes.contains { $0?.hasDrifted ?? false } }

    /// A member's disk is gone with what it held.
    func loseDisk(_ host: Int) {
        lostDisks.append((time.now, disks[host].place.position))
        disks[host] = ClusterDisk()
    }

    func pause(_ host: Int, for span: Int64) { wokenAt[host] = time.now + span }

    /// Until when a host is stopped; nil if it runs.
    func pausedUntil(_ host: Int) -> Int64? { wokenAt[host] > time.now ? wokenAt[host] : nil }

    func isCut(_ host: Int) -> Bool { cut[host] || isEtcdDown }

    func isStalled(_ host: Int) -> Bool { stalledUntil[host] > time.now }

    /// The wall clock of a host.
    func wall(_ host: Int) -> Int64 { Self.epoch + time.now + walls[host] }

    func mark(_ what: String) { marks[what, default: 0] += 1 }

    func fail(_ what: String) {
        if failure == nil { failure = "at \(time.now) ms: \(what)" }
    }

    /// Watches pump what they have, also what came while they stalled.
    func pump() {
        for process in processes { process?.link?.pump() }
        time.after(5) { [self] in pump() }
    }

    /// People report every five seconds, and again until they are answered.
    func report(_ number: Int) {
        let person = people[number]
        guard time.now < person.leavesAt else { return mark("somebody fell silent") }
        time.after(5000) { [self] in report(number) }
        guard !person.isWaiting else { return }
        people[number].sequence += 1
        people[number].isWaiting = true
        let body = """
            {"responder_id":"\(Self.name(number))","duty_state":"ON_DUTY","last_sequence":\(person.sequence + 1),\
            "updates":[{"sequence":\(person.sequence + 1),"captured_at":\(Self.epoch + time.now)}]}
            """
        send(number, Array(body.utf8), to: Int(dice.number(0...2)))
    }

    /// Sends a batch to a member, and to the next one as long as it is not answered.
    private func send(_ number: Int, _ body: [UInt8], to host: Int) {
        // Who was erased is refused, and says nothing any more.
        guard !erasing.contains(number) else { return }
        guard let scan = try? ItemScanner.scan(body.span, kind: .batch), scan.rejected.isEmpty
        else {
            preconditionFailure("a world writes what can be read")
        }
        // Who is not answered in time asks again, elsewhere; a later answer counts all the same.
        var isOver = false
        let again = { [self] in
            if isOver { return }
            isOver = true
            time.after(300) { [self] in send(number, body, to: (host + 1) % Self.hosts) }
        }
        time.after(1500) { again() }
        guard let process = processes[host] else { return again() }
        let bytes = scan.items.bytes
        process.deliver { [self] in
            guard process.member.role == .leading else { return again() }
            process.inbox.append(
                ClusterProcess.Write(
                    event: .items(scan.items, source: EventSource.standard),
                    reply: { [self] isTaken in
                        guard isTaken else { return again() }
                        acknowledged.append(bytes)
                        if isOver { return }
                        isOver = true
                        people[number].isWaiting = false
                    }))
        }
    }

    /// A member answers its writes.
    func answer(
        _ writes: [ClusterProcess.Write], by process: ClusterProcess, _ isTaken: Bool
    ) {
        for write in writes { write.reply(isTaken) }
        guard isTaken, !writes.isEmpty, !isRestored else { return }
        if landed[process.disk.place.position] != process.disk.place.hash {
            fail("S1: m\(process.host) answered 2xx to what has not landed")
        }
    }

    // MARK: - Members among each other

    /// The places of the other members that answer.
    func places(for host: Int) -> [PeerPlace] {
        processes.indices.compactMap { other in
            guard other != host, let process = processes[other], pausedUntil(other) == nil else {
                return nil
            }
            return PeerPlace(member: process.member.settings.name, place: disks[other].place)
        }
    }

    /// A copy of the store of another member that runs.
    func copy(for host: Int) -> ClusterDisk? {
        mark("a store was copied")
        return processes.indices.filter {
            $0 != host && pausedUntil($0) == nil && gives(processes[$0])
        }.map { disks[$0] }.max { $0.place.position < $1.place.position }
    }

    // MARK: - What is noted

    /// A transaction changed keys of the log.
    private func observe(_ rows: [KeyValueRow]) {
        if rows.contains(where: { $0.key == Array("/w/adopted".utf8) }) { return adopted() }
        for row in rows {
            let key = String(decoding: row.key, as: UTF8.self)
            let words = String(decoding: row.value, as: UTF8.self).split(separator: " ")
            if key == "/w/head", words.count == 5, let position = Int64(words[2]),
                let hash = UInt64(words[3], radix: 16)
            {
                if let compared = proposed[hash], let head, compared != head {
                    fail("S2: \(position) landed after revision \(head), and compared \(compared)")
                }
                head = row.revision
                if landed[position] != nil { fail("S2: position \(position) was written twice") }
                let last = landed.keys.max() ?? 0
                if position != last + 1 { fail("S2: \(position) landed after \(last)") }
                landed[position] = hash
                revisions[position] = row.revision
            } else if key == "/w/beat", let position = words.first.flatMap({ Int64($0) }) {
                // It says where the log ended for whoever beat, or leads no more.
                if let last = landed.keys.max(), abs(position) != last {
                    fail("S8: a beat after \(position) landed after \(last)")
                }
            } else if key == "/w/emptied", let through = words.first.flatMap({ Int64($0) }) {
                if through > tail { fail("S13: \(through) was emptied and \(tail) is trimmed") }
            } else if key == "/w/tail", let through = words.first.flatMap({ Int64($0) }) {
                trimmed(through)
            }
        }
    }

    private func trimmed(_ through: Int64) {
        mark("the log was trimmed")
        tail = through
        // What a disk held that has just been lost nobody can know to be gone.
        let recent = lostDisks.filter { time.now - $0.at < 6000 && $0.position >= through }
        let holders = disks.count { $0.place.position >= through } + recent.count
        if trims[through] != true, holders < 2 {
            fail("S12: \(through) was trimmed and \(holders) member holds it")
        }
    }

    /// Nothing between the tail and the head may be missing.
    func checkSlots() {
        guard let head = landed.keys.max(), !isRestored else { return }
        let count = etcd.state.rows.keys.count {
            String(decoding: $0, as: UTF8.self).contains("/slot/")
        }
        if Int64(count) < min(head - tail, Self.slots) { fail("S12: slots are missing") }
    }

    /// A member appends.
    func note(append entry: LogEntry, after head: LogHead) {
        proposed[entry.hash] = head.revision
        if let revision = revisions[head.position], revision != head.revision, !isRestored {
            fail("S2: an append compares revision \(head.revision) of \(head.position)")
        }
    }

    /// A member keeps what landed.
    func note(commit landed: LandedEntry, by process: ClusterProcess) {
        let place = landed.entry.position
        guard !isRestored else { return }
        if self.landed[place] != landed.entry.hash {
            fail("S1: m\(process.host) keeps what has not landed at \(place)")
        }
        guard let pending = PendingTurn(logBytes: landed.entry.body) else { return }
        pending.bytes.withUnsafeBytes { bytes in
            for row in pending.rows { kept.insert(Array(bytes[row.body])) }
        }
        noteMembers(pending, at: place)
        noteNumbers(pending, at: place)
        let isReign = landed.entry.kind == .reign
        if isReign, landed.entry.origin.incarnation == process.incarnation {
            checkDrained(process, landed)
            reign = (time.now, landed.entry.origin.member)
            if !pending.rows.contains(where: { $0.kind == 35 }) {
                fail("S9: a reign does not say for how long nobody watched")
            }
            checkListed(landed)
        }
        for decision in pending.decisions {
            switch decision.decision {
            case .status(_, let number, _, let to, _) where to == .offline:
                let name = String(decoding: process.engine.roster.id(number), as: UTF8.self)
                if let living = Int(name.dropFirst(Self.name.count)), living < Self.living {
                    fail("S9: \(name) reports and is OFFLINE")
                }
                mark("somebody went OFFLINE")
            case .nudge(_, _, let report) where report.kind == .send:
                decided.insert(report.number)
            default: break
            }
        }
        if isReign, pending.rows.contains(where: { $0.kind == 24 }), pending.turn.number > 1 {
            fail("S4: a reign brought a policy of its own")
        }
    }

    /// A member begins to lead: nobody may who leads, and is well.
    func note(reignOf process: ClusterProcess) {
        mark("a reign")
        let ahead = places(for: process.host).contains {
            $0.place.position > process.disk.place.position
        }
        // Whoever came to lead meanwhile holds more, and this entry is refused.
        let isAlone = reigns.last.map { time.now - $0.at > 1000 } ?? true
        if ahead, isRestored, isAlone {
            fail("S11: m\(process.host) reigns, and another holds more")
        }
        for other in processes.compactMap(\.self) where other.host != process.host {
            let isWell =
                other.member.role == .leading && other.member.mayTouch(at: time.now)
                && pausedUntil(other.host) == nil && !isCut(other.host) && !isShaky
            // Two may stand at once: the second's entry is refused.
            let isSettled = reigns.last.map { time.now - $0.at > 1000 } ?? true
            if isWell, isSettled,
                time.now - max(troubledAt[other.host], troubledAt[process.host]) > 5000
            {
                fail("S8: m\(process.host) reigns and m\(other.host) leads, and is well")
            }
        }
        reigns.append((time.now, process.host))
    }

    /// The log went back to an older state.
    func restored(to state: VirtualEtcd.State) {
        isRestored = true
        guard let row = state.rows[Array("/w/head".utf8)] else { return }
        head = row.revision
        let words = String(decoding: row.value, as: UTF8.self).split(separator: " ")
        guard words.count == 5, let position = Int64(words[2]),
            let hash = UInt64(words[3], radix: 16)
        else { return }
        begin(at: position, hash, row.revision)
    }

    /// The log begins anew, or went back.
    func begin(at position: Int64, _ hash: UInt64, _ revision: Int64) {
        landed = [position: hash]
        revisions = [position: revision]
        head = revision
    }

    func note(_ loss: LogLoss, of host: Int) {
        mark("a member noticed that the log was lost")
        lost[host] = loss
        if !isRestored { fail("S11: m\(host) finds the log lost: \(loss)") }
    }

    // MARK: - What reaches the world

    private func touch(by process: ClusterProcess, _ what: String) {
        if isRestored { return }
        if let reign, reign.member != process.member.settings.name, time.now - reign.at > 1000 {
            fail("S6: m\(process.host) sends \(what), and another reigns")
        }
        guard let proven = process.provenAt else {
            return fail("S6: m\(process.host) sends \(what) after an outcome that nobody knew")
        }
        let late = time.now - proven
        // What was proposed later is proven by nothing yet.
        if late > 1000 {
            fail("S6: m\(process.host) sends \(what) \(late) ms after its last proof")
        }
        let position = process.disk.place.position
        if !isRestored, landed[position] != process.disk.place.hash {
            fail("S1: m\(process.host) sends \(what) of a turn that has not landed")
        }
    }

    func page(_ sending: OutboxSending, key: UInt64, by process: ClusterProcess) {
        guard case .message(let message, _, _) = sending.content else { return }
        mark("a page")
        touch(by: process, "a page")
        if watch == nil { watch = process.disk.watch }
        if key != watch { fail("S7: a page went out under a key of m\(process.host)") }
        let isKept = process.disk.open.messages.contains { $0.number == message.number }
        if !isKept { fail("S1: page \(message.number) went out and no store holds it") }
    }

    func push(_ sending: PushSending, by process: ClusterProcess) {
        mark("a push")
        touch(by: process, "a push")
        for message in sending.messages {
            if isRestored { continue }
            if !decided.contains(message.number) {
                fail("S1: push \(message.number) was sent and no turn had decided it")
            }
            if !pushed.insert(message.number).inserted {
                fail("S7: push \(message.number) was sent twice")
            }
        }
    }

    // MARK: - The end

    /// True if every member knows that it holds all there is.
    var isEvenAtTheEnd: Bool {
        processes.allSatisfy { $0?.member.isConfirmed(at: time.now) ?? false }
    }

    /// What must be true once nothing is wrong any more.
    func checkEnd() {
        guard failure == nil else { return }
        let running = processes.compactMap(\.self)
        if isRestored {
            if isAdopted { checkAdopted() }
            return
        }
        checkErased()
        let leaders = running.filter { $0.member.role == .leading }
        guard leaders.count == 1, let leader = leaders.first else {
            let roles = running.map { "m\($0.host) \($0.member.role)" }.joined(separator: ", ")
            return fail("S8: \(leaders.count) lead of \(roles)")
        }
        for body in acknowledged where !kept.contains(body) {
            return fail("S1: a batch was acknowledged and is in no turn")
        }
        for process in running {
            guard process.member.isConfirmed(at: time.now) else {
                return fail("S15: m\(process.host) is not confirmed")
            }
            let recovered = process.disk.recover().map { Self.state($0) }
            if process.open == nil, recovered != Self.state(process.engine) {
                fail("S10: m\(process.host) holds another state than its store")
            }
            if process.disk.place == leader.disk.place,
                Self.state(process.engine) != Self.state(leader.engine), leader.open == nil
            {
                fail("S10: m\(process.host) holds another state than m\(leader.host)")
            }
        }
        if acknowledged.count < 20 { fail("only \(acknowledged.count) batches were taken") }
    }

    static func state(_ engine: Engine) -> [[UInt8]] {
        let checkpoint = Checkpoint(engine)
        return (0..<checkpoint.sliceCount).map { checkpoint.slice($0) }
    }
}
