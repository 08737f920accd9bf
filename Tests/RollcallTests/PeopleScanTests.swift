import RollcallCore
import Testing

@testable import Rollcall
@testable import RollcallBasis
@testable import RollcallStore
@testable import RollcallSupport

/// The queue of questions about everybody. Source: V12.
@Suite struct PeopleScanTests {
    private let directory = TemporaryDirectory()

    /// A question that notes each of its slices.
    private struct NotedScan: PeopleScan {
        let name: String
        let slices: ReplyCounter
        /// People who are enough.
        var enough = Int.max
        private var looked = 0

        init(_ name: String, _ slices: ReplyCounter, enough: Int = .max) {
            self.name = name
            self.slices = slices
            self.enough = enough
        }

        var isFull: Bool { false }
        var isDone: Bool { looked >= enough }
        mutating func begin(_: Engine) { slices.add(name) }
        mutating func look(at _: Int, _: Engine) { looked += 1 }
        mutating func end(_: Engine) {}
        mutating func answer(_: Engine) -> HTTPResponse { .text("\(name) \(looked)") }
    }

    /// A queue whose state writer stands still until it is let go.
    private final class Queue {
        let server: HistoryServer
        let scans: PeopleScans
        let slices = ReplyCounter()
        let answers = ReplyCounter()
        private let gate = ReplyCounter()

        init(_ directory: TemporaryDirectory, people: Int, _ limits: PeopleScans.Limits) throws {
            var story = try HistoryStory(directory)
            let ids = (0..<people).map { "p\($0)" }
            try story.turn(at: 0, [try HistoryStory.batches(ids, sequence: 1, captured: 0)])
            try story.store.journal.close()
            server = try HistoryServer(directory)
            scans = PeopleScans(writer: server.writer, limits: limits)
        }

        /// Makes the state writer wait.
        func hold() {
            let isHeld = ReplyCounter()
            server.writer.ask { [gate] _ in
                isHeld.add("held")
                _ = isTrueSoon { !gate.all.isEmpty }
            }
            #expect(isTrueSoon { !isHeld.all.isEmpty })
        }

        func letGo() { gate.add("open") }

        func ask(_ name: String, by caller: String = "", enough: Int = .max) {
            scans.ask(
                PeopleScans.Question(
                    scan: NotedScan(name, slices, enough: enough), text: name, caller: caller,
                    isAwaited: { true }
                ) { [answers] response in
                    let body = String(decoding: response.body, as: UTF8.self)
                    answers.add(response.status == 200 ? body : "\(name) \(response.status)")
                })
        }
    }

    @Test func `too many, too slow and given up are answered 503 without a look`() throws {
        let queue = try Queue(directory, people: 2, PeopleScans.Limits())
        defer { queue.server.stop() }
        let query = try ResponderQuery.parameters.read([("sort", "id")])
        let listing = ResponderListing(query, ResponderOrder(sort: .id), after: nil)
        func status(_ limits: PeopleScans.Limits, isAwaited: Bool = true) -> Int? {
            let answers = Mailbox<Int>()
            PeopleScans(writer: queue.server.writer, limits: limits).ask(
                PeopleScans.Question(
                    scan: listing, text: "", caller: "", isAwaited: { isAwaited }
                ) { answers.put($0.status) })
            return answers.takeAll(waiting: 10_000).first
        }
        #expect(status(PeopleScans.Limits()) == 200)
        #expect(status(PeopleScans.Limits(waiting: 0)) == 503)
        #expect(status(PeopleScans.Limits(waiting: 1)) == 200)
        #expect(status(PeopleScans.Limits(time: .zero)) == 503)
        #expect(status(PeopleScans.Limits(), isAwaited: false) == 503)
        // A slice of no time still comes to an end, and its answer in a turn of its own.
        #expect(status(PeopleScans.Limits(slice: .zero)) == 200)
    }

    @Test func `V12: what many ask at once is looked at once`() throws {
        let queue = try Queue(directory, people: 300, PeopleScans.Limits())
        defer { queue.server.stop() }
        queue.hold()
        for _ in 0..<20 { queue.ask("all") }
        queue.letGo()
        #expect(isTrueSoon { queue.answers.all.count == 20 })
        #expect(Set(queue.answers.all) == ["all 300"])
        #expect(Set(queue.slices.all) == ["all"] && queue.slices.all.count < 20)
    }

    @Test func `V12: sixteen wait, and of two callers each has half of the places`() throws {
        let queue = try Queue(directory, people: 2, PeopleScans.Limits())
        defer { queue.server.stop() }
        queue.hold()
        for place in 0..<20 { queue.ask("a\(place)", by: "a") }
        #expect(queue.answers.all == (16..<20).map { "a\($0) 503" })
        // Room is made by who has the most, until both have as much.
        for place in 0..<20 { queue.ask("b\(place)", by: "b") }
        let gone =
            (8..<16).reversed().map { "a\($0) 503" } + (8..<20).map { "b\($0) 503" }
        #expect(queue.answers.all.dropFirst(4).sorted() == gone.sorted())
        queue.letGo()
        #expect(isTrueSoon { queue.answers.all.count == 40 })
        #expect(queue.answers.all.count { $0.hasSuffix(" 2") } == 16)
    }

    @Test func `V12: turns are shared out among callers, and short questions pass by long ones`()
        throws
    {
        // 128 people a slice: four slices and one for the answer.
        let queue = try Queue(directory, people: 512, PeopleScans.Limits(slice: .zero))
        defer { queue.server.stop() }
        queue.hold()
        queue.ask("a1", by: "a")
        queue.ask("a2", by: "a")
        queue.ask("b1", by: "b")
        queue.ask("b2", by: "b", enough: 100)
        queue.letGo()
        #expect(isTrueSoon { queue.answers.all.count == 4 })
        #expect(
            queue.slices.all.joined(separator: " ")
                == "a1 b1 a2 b2 a1 b1 a1 b1 a1 b1 a1 b1 a2 b2 a2 a2 a2")
        #expect(queue.answers.all == ["a1 512", "b1 512", "b2 100", "a2 512"])
    }

    @Test func `a page of people as they were enrolled is what fits, also over several turns`()
        throws
    {
        let queue = try Queue(directory, people: 300, PeopleScans.Limits())
        defer { queue.server.stop() }
        var engine = Engine()
        for start in [0, 150] {
            let ids = (start..<start + 150).map { "p\($0)" }
            let event = try HistoryStory.batches(
                ids, sequence: 1, captured: 0, region: start == 0 ? "north" : "south")
            _ = engine.fold(event, at: RunningTime(milliseconds: HistoryStory.began))
        }
        func page(_ arguments: [(String, String)]) throws -> ([String], next: String?) {
            var scan = ResponderPage(try ResponderQuery.parameters.read(arguments))
            var number = scan.start(engine)
            while number < engine.roster.count, !scan.isDone {
                number = scan.look(from: number, engine, until: ContinuousClock.now)
            }
            let body = try JSONTree(reading: scan.answer(engine).body)
            let ids = (body["responders"]?.elements ?? []).compactMap { $0["responder_id"]?.text }
            return (ids, body["next"]?.text)
        }
        let all = try page([("limit", "1000")])
        #expect(all.0 == (0..<300).map { "p\($0)" } && all.next == nil)
        let first = try page([("region", "south"), ("limit", "7")])
        #expect(first.0 == (150..<157).map { "p\($0)" } && first.next == "p156")
        let second = try page([("region", "south"), ("after", "p156")])
        #expect(second.0 == (157..<257).map { "p\($0)" } && second.next == "p256")
        let last = try page([("region", "north"), ("after", "p140")])
        #expect(last.0 == (141..<150).map { "p\($0)" } && last.next == nil)
        var lost = ResponderPage(try ResponderQuery.parameters.read([("after", "x")]))
        #expect(lost.start(engine) == 0 && lost.isDone)
        #expect(lost.answer(engine).status == 400)
    }
}
