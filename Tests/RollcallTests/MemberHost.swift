import Foundation
import RollcallCluster
import RollcallCore
import Synchronization
import Testing

@testable import RollcallBasis
@testable import RollcallSupport

/// What is known of all members.
struct MemberLedger: Sendable {
    /// The bodies that were acknowledged, with who did it.
    var acknowledged: [[UInt8]] = []
    var leaders: [Int] = []
    var losses: [String] = []
    var longestGap: Int64 = 0
    var lastAt: Int64?
}

/// A member on a thread of its own.
final class MemberHost: @unchecked Sendable {
    private enum News: Sendable {
        case head(HeadOutcome)
        case read(ReadOutcome, request: Int64)
        case append(AppendOutcome)
        case beat(AppendOutcome)
        case log(LogNews)
        case created
    }

    let number: Int
    private let close: @Sendable () -> Void
    private let log: RingLog
    private let ledger: SharedLedger
    private let mailbox = Mailbox<News>()
    private var member: Member
    private let held = Mutex<[LandedEntry]>([])
    private var turns: UInt32 = 0
    let isPaused = Atomic(false)
    let isClosed = Atomic(false)
    let leads = Atomic(false)

    init(
        _ number: Int, _ store: any KeyValueStore, _ ledger: SharedLedger,
        close: @escaping @Sendable () -> Void
    ) {
        self.number = number
        self.ledger = ledger
        self.close = close
        log = RingLog(store, prefix: Array("/watch/".utf8))
        var own = Member.Settings(
            name: Array("m\(number)".utf8), incarnation: UInt64(number + 1))
        own.silence = Milliseconds(1000)
        own.chance = Milliseconds(Int64(number) * 100)
        member = Member(own, at: LogPlace(), now: ClockReading.now().elapsed)
    }

    var chain: [LandedEntry] { held.withLock { $0 } }

    func start() {
        _ = DetachedThread.start { [self] in run() }
    }

    private var now: Int64 { ClockReading.now().elapsed }

    private func run() {
        log.watch(after: 1) { [mailbox] in mailbox.put(.log($0)) }
        while !isClosed.load(ordering: .relaxed) {
            let news = mailbox.takeAll(waiting: 20)
            // As a process that is stopped: it wakes in the middle of what it was doing.
            while isPaused.load(ordering: .relaxed) { usleep(10_000) }
            for item in news { take(item) }
            apply(member.tick(now))
            leads.store(member.role == .leading, ordering: .relaxed)
            if member.mayPropose {
                turns += 1
                let body = withUnsafeBytes(of: (UInt32(number), turns)) { Array($0) }
                apply(member.propose(body, now))
            }
        }
        close()
    }

    private func take(_ news: News) {
        switch news {
        case .head(let outcome): apply(member.take(head: outcome, now))
        case .read(let outcome, let request):
            apply(member.take(read: outcome, request: request, now))
        case .append(let outcome): apply(member.take(append: outcome, now))
        case .beat(let outcome): apply(member.take(beat: outcome, now))
        case .log(let news): apply(member.take(news: news, now))
        case .created: member.didCreate()
        }
    }

    private func apply(_ effects: [MemberEffect]) { for effect in effects { apply(effect) } }

    private func apply(_ effect: MemberEffect) {
        let mailbox = mailbox
        switch effect {
        case .readHead: log.head { mailbox.put(.head($0)) }
        case .read(let request, let after, let limit):
            log.read(after: after, limit: limit) { mailbox.put(.read($0, request: request)) }
        case .create:
            let entry = LogEntry(
                .creation, at: 1, after: 0,
                origin: LogOrigin(
                    member: member.settings.name, incarnation: member.settings.incarnation,
                    reign: 0, serial: 0),
                body: [])
            log.create(log: UInt64(number) + 7, entry) { _ in mailbox.put(.created) }
        case .append(let entry, let after):
            log.append(entry, after: after) { mailbox.put(.append($0)) }
        case .beat(let head): log.beat(after: head) { mailbox.put(.beat($0)) }
        case .release(let head): log.release(after: head) { _ in }
        case .askPeers: apply(member.take(peers: [], now))
        case .fold(let landed):
            held.withLock { $0.append(landed) }
            apply(member.didFold(landed))
        case .reign:
            ledger.state.withLock { [number] in $0.leaders.append(number) }
            apply(member.propose([], now))
        case .landed(let landed):
            held.withLock { $0.append(landed) }
            let now = now
            ledger.state.withLock {
                $0.acknowledged.append(landed.entry.body)
                if let last = $0.lastAt { $0.longestGap = max($0.longestGap, now - last) }
                $0.lastAt = now
            }
        case .rebuild:
            let last = chain.last
            apply(
                member.didRebuild(
                    at: last.map {
                        LogPlace(behind: $0.entry, revision: $0.revision, log: member.log)
                    } ?? LogPlace()))
        case .stepDown: break
        case .join, .rejoin: note("m\(number) must join")
        case .adopted: note("m\(number) began a log in the place of another")
        case .lost(let loss): note("m\(number) has lost the log: \(loss)")
        case .note(let position):
            log.note(
                MemberNote(
                    member: member.settings.name, position: position,
                    wall: ClockReading.now().wall))
        case .trim(let through, let view, _): log.trim(through: through, view)
        }
    }

    private func note(_ words: String) { ledger.state.withLock { $0.losses.append(words) } }
}

/// A ledger that several threads write.
final class SharedLedger: Sendable {
    let state = Mutex(MemberLedger())

    /// How many turns were acknowledged.
    var count: Int { state.withLock { $0.acknowledged.count } }

    /// Waits for so many more.
    func goesOn(_ seconds: Int) -> Bool {
        let before = count
        return Self.wait(seconds) { count >= before + 20 }
    }

    static func wait(
        _ seconds: Int, until isDone: () -> Bool
    ) -> Bool {
        let end = ClockReading.now().elapsed + Int64(seconds) * 1000
        while ClockReading.now().elapsed < end {
            if isDone() { return true }
            usleep(20_000)
        }
        return isDone()
    }

    /// Holds what members of one watch must have come to.
    func judge(_ hosts: [MemberHost]) throws {
        let told = state.withLock { $0 }
        #expect(told.losses.isEmpty, "\(told.losses)")
        // One chain; whatever was acknowledged is in it, once, at everybody who holds so much. The
        // chains are taken once, since they grow while they are compared, and a difference is told
        // by its place: a failed comparison of thousands of entries takes minutes to print.
        let chains = hosts.map(\.chain)
        let longest = try #require(chains.max { $0.count < $1.count })
        for (number, chain) in chains.enumerated() {
            let difference = zip(chain, longest).enumerated().first { $1.0 != $1.1 }?.offset
            #expect(difference == nil, "m\(number) holds another chain")
        }
        let isWhole = longest.enumerated().allSatisfy { $1.entry.position == Int64($0 + 1) }
        #expect(isWhole, "an entry is missing")
        let bodies = longest.map(\.entry.body).filter { !$0.isEmpty }
        let acknowledged = told.acknowledged.filter { !$0.isEmpty }
        let lost = Set(acknowledged).subtracting(bodies).count
        #expect(Set(bodies).count == bodies.count, "a turn stands there twice")
        #expect(lost == 0, "what was acknowledged is lost")
    }
}
