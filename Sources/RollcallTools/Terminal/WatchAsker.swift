import Glibc
import RollcallBasis
import RollcallCore
import RollcallSupport

/// Asks a server for what `rollcall watch` shows, again and again, on a thread of its own. What costs
/// the server little is asked at each change, lists so seldom that they take a tenth of the time at most.
struct WatchAsker {
    /// Seconds for which the server is to wait for something to happen: so often it is heard of.
    static let wait = 2
    /// Without any change numbers are asked for so often.
    static let rest = Milliseconds.seconds(10)
    /// People who are silent longest that are asked for.
    static let longestMax = 100
    /// Gaps that are looked at where the server cannot sort.
    static let silentMax = ServerQuestions.pageMax
    /// The time between two lists is so many times what they took, and so long for each item; this
    /// long at most.
    static let listsFactor: Int64 = 10
    static let itemPause = Milliseconds(10)
    static let listsPauseMax = Milliseconds.seconds(60)
    /// A question is given up after so long.
    static let patience = Milliseconds.seconds(10)
    /// The pause after one that failed.
    private static let pause: UInt32 = 1
    /// Events that change the page. Batches and decisions about nudges do not.
    private static let kinds = "status,gap,verdict,alert,blind,delivery,action,person"

    private let server: ServerQuestions
    private let interval: Milliseconds
    private let clock: () -> RunningTime
    private let put: (WatchFacts) -> Void
    private var facts: WatchFacts
    private var listsDue = RunningTime(milliseconds: 0)
    /// False of a server that tells no events.
    private var hasEvents = true

    /// Asks `server`, and hands over what it knows as it comes. `interval` lies between two changes at
    /// least.
    init(
        _ server: ServerQuestions, interval: Milliseconds, clock: @escaping () -> RunningTime,
        put: @escaping (WatchFacts) -> Void
    ) {
        self.server = server
        self.interval = interval
        self.clock = clock
        self.put = put
        server.patience = Self.patience
        facts = WatchFacts(server: server.server)
    }

    /// Asks for ever.
    mutating func run() -> Never {
        while true {
            do throws(QuestionError) {
                try round()
            } catch {
                facts.fault = error
                put(facts)
                sleep(Self.pause)
            }
        }
    }

    /// Asks once for everything, then waits until it is worth to ask again.
    /// - Throws: `QuestionError` if there is no answer, or one that is refused or strange.
    mutating func round() throws(QuestionError) {
        // The place is from before the answers, so that nothing is missed between them.
        let cursor = try cursor()
        let began = clock()
        try askForNumbers()
        if clock() >= listsDue { try askForLists() }
        put(facts)
        var hasChanged = false
        while clock() - began < (hasChanged ? interval : max(interval, Self.rest)) {
            hasChanged = try linger(cursor, hasChanged, until: began + interval) || hasChanged
            put(facts)
        }
    }

    /// Asks for what is told in a few numbers.
    /// - Throws: `QuestionError` if there is no answer, or one that is refused or strange.
    private mutating func askForNumbers() throws(QuestionError) {
        let status = try ask(Resource.status)
        let alerts = try ask(Resource.alerts)["alerts"]?.elements ?? []
        (facts.status, facts.statusAt, facts.alerts) = (status, clock(), alerts)
    }

    /// Asks for regions and for who is silent.
    /// - Throws: `QuestionError` if there is no answer, or one that is refused or strange.
    private mutating func askForLists() throws(QuestionError) {
        let began = clock()
        do throws(QuestionError) {
            facts.regions = try server.pages(
                Resource.regions.path, [], list: "regions", count: Resource.regionsLookedAtMax
            ).items
        } catch .tooOld {
            facts.regions = []
        } catch {
            throw error
        }
        hear()
        let offline = facts.status?["responders"]?["OFFLINE"]?.whole ?? 0
        if offline > 0 {
            (facts.silent, facts.isSilentWhole) = try askForSilent()
        } else {
            (facts.silent, facts.isSilentWhole) = ([], true)
        }
        hear()
        let items = Int64(facts.regions.count + facts.silent.count)
        let pause = max((clock() - began).count * Self.listsFactor, items * Self.itemPause.count)
        listsDue = clock() + min(Milliseconds(pause), Self.listsPauseMax)
    }

    /// Returns who is silent longest, and whether nobody is silent longer; of a server that cannot sort,
    /// those of its newest gaps.
    /// - Throws: `QuestionError` if there is no answer, or one that is refused or strange.
    private func askForSilent() throws(QuestionError) -> (items: [JSONTree], isLongest: Bool) {
        do throws(QuestionError) {
            let answer = try server.ask(
                Resource.responders.path,
                [
                    ("status", "OFFLINE"), ("sort", "-silent_for"),
                    ("limit", "\(Self.longestMax)"),
                ])
            // Who does not know `sort` may not mind it.
            if answer["total"] != nil { return (answer["responders"]?.elements ?? [], true) }
        } catch .refused(_, 400, _, _) {
        } catch {
            throw error
        }
        let found = try server.pages(
            Resource.gaps.path, [("state", "open")], list: "gaps", count: Self.silentMax)
        return (found.items, found.isWhole)
    }

    /// Returns the place behind the newest event; nothing from a server without events.
    /// - Throws: `QuestionError` if there is no answer, or one that is refused or strange.
    private mutating func cursor() throws(QuestionError) -> String {
        guard hasEvents else { return "" }
        do throws(QuestionError) {
            return try ask(Resource.events, [("after", "now"), ("limit", "1")])["next"]?.text ?? ""
        } catch {
            switch error {
            case .tooOld: hasEvents = false
            // Too many follow it already.
            case .refused(_, 429, _, _), .refused(_, 503, _, _): break
            default: throw error
            }
            return ""
        }
    }

    /// Waits for the next change, or a little; returns whether there was one. `hasChanged` says that
    /// one has come already: then only the interval is waited for, and the server heard of.
    /// - Throws: `QuestionError` if there is no answer, or one that is refused or strange.
    private mutating func linger(
        _ cursor: String, _ hasChanged: Bool, until: RunningTime
    ) throws(QuestionError) -> Bool {
        guard !cursor.isEmpty, !hasChanged else {
            let left = max(Milliseconds(1), until - clock())
            let span = min(left, Milliseconds.seconds(Int64(Self.wait)))
            usleep(UInt32(clamping: span.count * 1000))
            if cursor.isEmpty { return clock() >= until }
            _ = try self.cursor()
            return true
        }
        do throws(QuestionError) {
            let page = try ask(
                Resource.events,
                [
                    ("after", cursor), ("kinds", Self.kinds), ("limit", "1"),
                    ("wait", "\(Self.wait)"),
                ])
            return page["events"]?.elements.isEmpty == false
        } catch .refused(_, 410, _, _) {
            // The place is gone: it is another store.
            return true
        } catch {
            throw error
        }
    }

    private mutating func ask(
        _ resource: Resource, _ query: [(String, String)] = []
    ) throws(QuestionError) -> JSONTree {
        let answer = try server.ask(resource.path, query)
        hear()
        return answer
    }

    /// Notes that the server has answered.
    private mutating func hear() {
        facts.heardAt = clock()
        facts.fault = nil
    }
}
