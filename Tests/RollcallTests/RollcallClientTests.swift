import Foundation
import Testing

@testable import RollcallClient

/// The client for backends: its queue, its pauses and its lines. What it is with a server, the
/// acceptance tests say (`test_client_swift.py`).
@Suite struct RollcallClientTests {
    private func queue(
        items: Int = 100, bytes: Int = 10_000, body: Int = 10, bodyBytes: Int = 1000
    ) -> WaitingQueue {
        var options = RollcallClient.Options()
        options.queueItems = items
        options.queueBytes = bytes
        options.bodyItems = body
        options.bodyBytes = bodyBytes
        return WaitingQueue(options)
    }

    private func text(_ lines: [Data]?) -> [String] {
        (lines ?? []).map { String(decoding: $0, as: UTF8.self) }
    }

    // MARK: The queue

    @Test func `a body is of one route, in order, and stays until it is settled`() {
        var queue = queue()
        for (number, route) in [Route.batches, .batches, .facts, .batches].enumerated() {
            #expect(queue.append(Data("\(number)".utf8), route, person: "p").isQueued)
        }
        let first = queue.nextBody()
        #expect(text(first?.lines) == ["0", "1"])
        #expect(first.map { String(decoding: $0.bytes, as: UTF8.self) } == "0\n1")
        #expect(queue.nextBody() == first)
        #expect((queue.count, queue.bytes) == (4, 4))
        queue.settle()
        #expect((queue.count, queue.bytes) == (2, 2))
        #expect(text(queue.nextBody()?.lines) == ["2"])
        queue.settle()
        #expect(text(queue.nextBody()?.lines) == ["3"])
        queue.settle()
        #expect(queue.nextBody() == nil && queue.isEmpty && queue.bytes == 0)
    }

    @Test func `one past the limit the oldest gives way, but nothing that is being sent`() {
        var queue = queue(items: 4, body: 2)
        for number in 0..<4 {
            #expect(queue.append(Data([UInt8(number)]), .batches, person: "p") == (true, []))
        }
        #expect(queue.nextBody()?.lines == [Data([0]), Data([1])])
        #expect(queue.append(Data([4]), .batches, person: "p") == (true, [Data([2])]))
        #expect(queue.append(Data([5]), .batches, person: "p") == (true, [Data([3])]))
        #expect(queue.count == 4)
        #expect(queue.takeAll() == [0, 1, 4, 5].map { Data([$0]) })
        #expect(queue.isEmpty && queue.bytes == 0)
    }

    @Test func `bytes are a limit like the count`() {
        var queue = queue(bytes: 10, body: 1)
        #expect(queue.append(Data(count: 10), .batches, person: "p").isQueued)
        #expect(queue.append(Data(count: 3), .batches, person: "p") == (true, [Data(count: 10)]))
        #expect(queue.nextBody()?.lines == [Data(count: 3)])
        #expect(queue.append(Data(count: 7), .batches, person: "p") == (true, []))
        // There is room for it only without what is being sent: the older one goes for nothing.
        let late = queue.append(Data(count: 8), .batches, person: "p")
        #expect(late == (false, [Data(count: 7), Data(count: 8)]))
        #expect((queue.count, queue.bytes) == (1, 3))
    }

    @Test func `a longer item than a body may be goes alone`() {
        var queue = queue(bodyBytes: 10)
        for size in [4, 4, 50, 4] { _ = queue.append(Data(count: size), .batches, person: "p") }
        for sizes in [[4, 4], [50], [4]] {
            #expect(queue.nextBody()?.lines.map(\.count) == sizes)
            queue.settle()
        }
    }

    @Test func `half of a body that was too large goes first, and in order`() {
        var queue = queue(body: 5)
        for number in 0..<8 { _ = queue.append(Data([UInt8(number)]), .batches, person: "p") }
        _ = queue.nextBody()
        let isHalved = queue.halve()
        #expect(isHalved)
        var sent: [[UInt8]] = []
        while let body = queue.nextBody() {
            sent.append(body.lines.map { $0[0] })
            queue.settle()
        }
        #expect(sent == [[0, 1], [2, 3], [4, 5], [6, 7]])
        _ = queue.append(Data([9]), .batches, person: "p")
        _ = queue.nextBody()
        let isHalvedAgain = queue.halve()
        #expect(!isHalvedAgain)
    }

    @Test func `a long queue forgets what has gone, and loses nothing`() {
        var queue = queue(items: 10_000, bytes: 1 << 20, body: 7)
        var next = 0
        var seen: [Int] = []
        for _ in 0..<2000 {
            for _ in 0..<8 {
                _ = queue.append(Data("\(next)".utf8), .batches, person: "p")
                next += 1
            }
            seen += text(queue.nextBody()?.lines).compactMap { Int($0) }
            queue.settle()
        }
        while let body = queue.nextBody() {
            seen += text(body.lines).compactMap { Int($0) }
            queue.settle()
        }
        #expect(seen == Array(0..<next))
        #expect(queue.bytes == 0)
    }

    // MARK: Pauses

    @Test func `pauses double up to the longest, by chance from half of it to all of it`() {
        let pauses = { (failures: Int, chance: Double) in
            BackOff.pause(
                failures: failures, longest: .seconds(30), retryAfter: nil, chance: chance)
        }
        #expect((1...8).map { pauses($0, 1) } == [0.5, 1, 2, 4, 8, 16, 30, 30])
        #expect((1...8).map { pauses($0, 0) } == [0.25, 0.5, 1, 2, 4, 8, 15, 15])
        #expect(pauses(.max, 1) == 30)
        #expect(pauses(0, 1) == 0.5)
    }

    @Test func `retry-after is a least pause, up to five minutes`() {
        let pause = { (asked: Double) in
            BackOff.pause(failures: 3, longest: .seconds(30), retryAfter: asked, chance: 0)
        }
        #expect([0, 1, 7, 300, 1e9].map(pause) == [1, 1, 7, 300, 300])
        let now = Date(timeIntervalSince1970: 784_111_777)
        #expect(BackOff.seconds("120", now: now) == 120)
        #expect(BackOff.seconds("Sun, 06 Nov 1994 08:49:47 GMT", now: now) == 10)
        #expect(BackOff.seconds("Sun, 06 Nov 1994 08:49:27 GMT", now: now) == 0)
        for nonsense in [nil, "", "-1", "soon", "1.5", "Sun, 06 Nov"] {
            #expect(BackOff.seconds(nonsense, now: now) == nil)
        }
    }

    // MARK: Lines

    @Test func `an item is stamped with what it does not say`() throws {
        let line = { (json: String, route: Route) in
            try String(decoding: JSONLine.stamped(Data(json.utf8), route).bytes, as: UTF8.self)
        }
        let before = JSONLine.milliseconds(Date())
        #expect(try line(#"{"received_at":1,"a":"}"}"#, .batches) == #"{"received_at":1,"a":"}"}"#)
        let stamped = try line(" {\n\"a\" :\r\n2} \n", .batches)
        let match = stamped.firstMatch(of: #/^\{"received_at":(\d+), "a" :  2\}$/#)
        #expect(try #require(match.flatMap { Int64($0.1) }) >= before)
        #expect(try line("{}", .facts).contains(#/^\{"at":\d+\}$/#))
        #expect(try line(#"{"at":1,"id":"x"}"#, .transitions) == #"{"at":1,"id":"x"}"#)
        let ids = try (0..<2).map { _ in try line(#"{"at":1}"#, .transitions) }
        #expect(ids[0] != ids[1] && ids[0].contains(#/^\{"id":"[0-9a-f-]{36}","at":1\}$/#))
    }

    @Test(arguments: ["", " ", "[]", "null", "{", "{}{}", "{\"a\":}", "a", "\u{FEFF}{}"])
    func `what is no object is refused`(json: String) {
        #expect(throws: RollcallClient.Invalid.notAnObject) {
            try JSONLine.stamped(Data(json.utf8), .batches)
        }
    }

    @Test func `text in another encoding is refused`() {
        for bytes: [UInt8] in [[0x7B, 0, 0x7D, 0], [0x7B, 0xFF, 0x7D]] {
            #expect(throws: RollcallClient.Invalid.notAnObject) {
                try JSONLine.stamped(Data(bytes), .batches)
            }
        }
    }

    @Test func `dates are whole milliseconds, and values without an object are refused`() throws {
        var batch = RollcallClient.Batch(responderID: "a")
        batch.receivedAt = Date(timeIntervalSince1970: 1_764_000_000.123)
        let line = try JSONLine.of(batch, .batches)
        #expect(text([line.bytes])[0].contains(#""received_at":1764000000123"#))
        #expect(line.person == "a")
        #expect(throws: RollcallClient.Invalid.notAnObject) { try JSONLine.of([1], .batches) }
        #expect(throws: RollcallClient.Invalid.notAnObject) { try JSONLine.of("a", .batches) }
    }

    // MARK: What it is made of

    @Test(arguments: [
        "ftp://a", "a", "http://u@a", "http://u:p@a", "http://a?b", "http://a#b",
    ])
    func `a url that cannot be one is refused`(text: String) throws {
        let url = try #require(URL(string: text))
        #expect(throws: RollcallClient.Invalid.url) { try Address(url, source: "s") }
    }

    @Test func `a path is kept, and the source is escaped`() throws {
        let address = try Address(
            try #require(URL(string: "https://a:8443/watch/")), source: "pod/1 ü")
        #expect(
            address.url("/v1/batches")?.absoluteString
                == "https://a:8443/watch/v1/batches?source=pod%2F1%20%C3%BC")
        #expect(throws: RollcallClient.Invalid.source) {
            try Address(#require(URL(string: "http://a")), source: "")
        }
    }

    @Test func `reports hold nothing of an item`() {
        let item = Data(#"{"responder_id":"hidden"}"#.utf8)
        let reports: [RollcallClient.Report] = [
            .dropped(.full, items: [item], detail: "d"),
            .problem(pointer: "/x", detail: "d", item: item), .failing("f", waiting: 3),
        ]
        #expect(
            reports.map(\.description) == [
                "rollcall: 1 items dropped: full (d)", "rollcall: a problem in an item: /x: d",
                "rollcall: f; 3 items wait",
            ])
    }
}
