import Foundation
import Testing

@testable import RollcallClient

/// The client's queue when a cell takes nothing: who waits for it, and who does not. What it is with a
/// server, the acceptance tests say (`test_client_swift.py`, `test_client_cells.py`). Source: K5.
@Suite struct RollcallClientCellTests {
    private let now = ContinuousClock.now
    private let b = ItemQueue.Name.cell("b")

    private func queue(items: Int = 100, body: Int = 10) -> WaitingQueue {
        var options = RollcallClient.Options()
        options.queueItems = items
        options.bodyItems = body
        return WaitingQueue(options)
    }

    /// Queues items such as "41:1": a person, and what they say.
    private func put(_ queue: inout WaitingQueue, _ texts: String...) {
        for text in texts {
            let person = text.prefix { $0 != ":" }
            _ = queue.append(Data(text.utf8), .batches, person: String(person))
        }
    }

    private func body(_ queue: inout WaitingQueue, of name: ItemQueue.Name = .fresh) -> [String] {
        queue.nextBody(of: name)?.lines.map { String(decoding: $0, as: UTF8.self) } ?? []
    }

    /// Ends the body; cells did not take what stands at these places, which waits so many seconds longer
    /// each time.
    private func settle(_ queue: inout WaitingQueue, away: [Int: String] = [:]) {
        queue.settle(away: away) { now + .seconds($0) }
    }

    private func next(_ queue: WaitingQueue, after seconds: Int) -> ItemQueue.Name? {
        let next = queue.next(at: now + .seconds(seconds), freshAt: nil)
        return next.flatMap { $0.due <= now + .seconds(seconds) ? $0.name : nil }
    }

    @Test func `who waits for a cell holds up nobody else, and their own news goes behind`() {
        var queue = queue()
        put(&queue, "1:1", "2:1", "3:1")
        #expect(body(&queue) == ["1:1", "2:1", "3:1"])
        settle(&queue, away: [1: "b"])
        #expect((queue.count, queue.bytes) == (1, 3))
        put(&queue, "2:2", "3:2", "2:3", "1:2")
        #expect(next(queue, after: 0) == .fresh)
        #expect(body(&queue) == ["3:2", "1:2"])
        settle(&queue)
        // Nothing is due before its pause is over.
        #expect(next(queue, after: 0) == nil)
        #expect(next(queue, after: 1) == b)
        #expect(body(&queue, of: b) == ["2:1", "2:2", "2:3"])
        put(&queue, "2:4")
        settle(&queue)
        // Nobody waits for the cell any more.
        #expect(body(&queue) == ["2:4"])
        settle(&queue)
        #expect(queue.isEmpty && queue.bytes == 0)
    }

    @Test func `a body of news that all goes behind is none`() {
        var queue = queue()
        put(&queue, "1:1")
        _ = body(&queue)
        settle(&queue, away: [0: "b"])
        put(&queue, "1:2", "1:3")
        #expect(body(&queue).isEmpty)
        #expect(queue.count == 3)
        #expect(!queue.hasFresh)
    }

    @Test func `pauses of a cell grow until it takes something`() {
        var queue = queue(body: 2)
        put(&queue, "1:1", "2:1")
        _ = body(&queue)
        settle(&queue, away: [0: "b", 1: "b"])
        for failures in 2...4 {
            #expect(next(queue, after: failures - 2) == nil)
            #expect(next(queue, after: failures - 1) == b)
            #expect(body(&queue, of: b) == ["1:1", "2:1"])
            settle(&queue, away: [0: "b", 1: "b"])
        }
        put(&queue, "1:2")
        #expect(body(&queue).isEmpty)
        _ = body(&queue, of: b)
        settle(&queue)
        // It is there again: what is left goes at once.
        #expect(next(queue, after: 0) == b)
        #expect(body(&queue, of: b) == ["1:2"])
    }

    @Test func `an attempt without an answer is repeated, but what was put aside steps back`() {
        var queue = queue()
        put(&queue, "1:1", "2:1")
        _ = body(&queue)
        settle(&queue, away: [0: "b"])
        put(&queue, "2:2", "1:2")
        #expect(body(&queue, of: b) == ["1:1"])
        queue.fail { now + .seconds($0) }
        #expect(body(&queue) == ["2:2"])
        queue.fail { now + .seconds($0) }
        put(&queue, "2:3")
        #expect(next(queue, after: 1) == .fresh)
        #expect(body(&queue) == ["2:2"])
        settle(&queue)
        #expect(next(queue, after: 2) == b)
        #expect(body(&queue, of: b) == ["1:1", "1:2"])
    }

    @Test func `of queues that are due the one goes that was sent longest ago`() {
        var queue = queue(body: 1)
        put(&queue, "1:1", "2:1", "3:1", "3:2")
        for cell in ["b", "c"] {
            _ = body(&queue)
            settle(&queue, away: [0: cell])
        }
        put(&queue, "1:2", "2:2")
        _ = body(&queue)
        settle(&queue)
        _ = body(&queue)
        settle(&queue)
        // What goes behind its own makes no body.
        #expect(body(&queue).isEmpty)
        put(&queue, "3:3", "3:4")
        var names: [ItemQueue.Name] = []
        while let name = next(queue, after: 9) {
            names.append(name)
            _ = body(&queue, of: name)
            settle(&queue)
        }
        #expect(names == [b, .cell("c"), .fresh, b, .cell("c"), .fresh])
    }

    @Test func `one past the limit the oldest gives way, whoever it waits for`() {
        var queue = queue(items: 4, body: 2)
        put(&queue, "1:1", "2:1")
        _ = body(&queue)
        settle(&queue, away: [0: "b"])
        put(&queue, "2:2", "2:3", "2:4")
        let full = queue.append(Data("2:5".utf8), .batches, person: "2")
        #expect(full == (true, [Data("1:1".utf8)]))
        put(&queue, "1:2")
        // Nobody waits for the cell any more.
        #expect(body(&queue) == ["2:3", "2:4"])
        #expect((queue.count, queue.bytes) == (4, 12))
    }

    @Test func `the people of a cell that was split are sorted anew, in their order`() {
        var queue = queue()
        put(&queue, "1:1", "2:1", "3:1")
        _ = body(&queue)
        settle(&queue, away: [0: "b", 1: "b", 2: "b"])
        put(&queue, "2:2", "4:1", "3:2")
        #expect(body(&queue) == ["4:1"])
        settle(&queue)
        #expect(body(&queue, of: b) == ["1:1", "2:1", "3:1", "2:2", "3:2"])
        put(&queue, "2:3", "4:2")
        settle(&queue, away: [1: "c", 3: "c"])
        #expect(body(&queue) == ["2:1", "2:2", "2:3", "4:2"])
        settle(&queue, away: [0: "c", 1: "c", 2: "c"])
        #expect(body(&queue, of: .cell("c")) == ["2:1", "2:2", "2:3"])
        settle(&queue)
        #expect(queue.isEmpty && queue.bytes == 0)
    }

    @Test func `all that is left comes out in the order in which it came in`() {
        var queue = queue(body: 2)
        put(&queue, "1:1", "2:1", "3:1", "1:2")
        _ = body(&queue)
        settle(&queue, away: [0: "b", 1: "c"])
        _ = body(&queue)
        let left = queue.takeAll().map { String(decoding: $0, as: UTF8.self) }
        #expect(left == ["1:1", "2:1", "3:1", "1:2"])
        #expect(queue.isEmpty && queue.bytes == 0)
    }

    @Test func `a part that is too large is halved where it waits`() {
        var queue = queue()
        put(&queue, "1:1", "1:2", "1:3", "1:4")
        _ = body(&queue)
        settle(&queue, away: [0: "b", 1: "b", 2: "b", 3: "b"])
        _ = body(&queue, of: b)
        let isHalved = queue.halve(isTooLarge: false)
        #expect(isHalved && queue.bodyItemsMax == 10)
        #expect(body(&queue) == ["1:1", "1:2"])
        settle(&queue)
        #expect(body(&queue, of: b) == ["1:3", "1:4"])
    }

    // MARK: What a gateway says

    private func verdict(_ status: Int, _ json: String, count: Int) -> Verdict? {
        Verdict(
            HTTPTransport.Answer(status: status, body: Data(json.utf8), retryAfter: nil),
            count: count)
    }

    private func json(_ accepted: Int, _ unavailable: String) -> String {
        #"{"accepted":\#(accepted),"duplicates":0,"rejected":[],"unavailable":[\#(unavailable)]}"#
    }

    @Test func `a 503 that says what a cell did not take is a verdict`() {
        let b = #"{"cell":"b","reason":"r","items":[1,3]}"#
        #expect(verdict(503, json(2, b), count: 4)?.away == [1: "b", 3: "b"])
        #expect(verdict(200, json(2, b), count: 4)?.away == [1: "b", 3: "b"])
        #expect(verdict(200, json(4, ""), count: 4)?.away == [:])
        #expect(verdict(503, json(0, #"{"cell":"b","items":[0]}"#), count: 1)?.away == [0: "b"])
        // Not of all, of more than all, or of nothing.
        #expect(verdict(503, json(1, b), count: 4) == nil)
        #expect(verdict(503, json(1, b), count: 3)?.away == nil)
        #expect(verdict(503, json(4, ""), count: 4) == nil)
        #expect(verdict(503, #"{"detail":"later"}"#, count: 4) == nil)
        #expect(verdict(500, json(2, b), count: 4) == nil)
    }

    @Test func `some of many rejected items are named, and that is said`() {
        let note = #"{"index":0,"pointer":"/p","detail":"d"}"#
        let answer = { (named: Int) in
            let notes = Array(repeating: note, count: named).joined(separator: ",")
            return #"{"accepted":1,"duplicates":0,"rejected":[\#(notes)]}"#
        }
        #expect(verdict(200, answer(100), count: 101)?.unnamed(of: 101) == 0)
        #expect(verdict(200, answer(100), count: 102)?.unnamed(of: 102) == 1)
        #expect(verdict(200, answer(99), count: 101) == nil)
    }

    // MARK: Whose item it is

    @Test func `an id that is a number is its digits`() throws {
        let person = { (json: String) in
            try JSONLine.stamped(Data(json.utf8), .batches).person
        }
        #expect(try person(#"{"responder_id":41}"#) == "41")
        #expect(try person(#"{"responder_id":"41"}"#) == "41")
        #expect(try person(#"{"responder_id":"\u0034\u0031"}"#) == "41")
        #expect(try person("{}") == "")
    }
}
