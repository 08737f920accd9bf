import RollcallCore
import RollcallSupport
import Testing

@testable import Rollcall
@testable import RollcallBasis

/// One answer made of those of several cells. Source: K5.
@Suite("Answers of several cells (K5)")
struct GatewayMergeTests {
    private static let cells = ["a", "b"].map {
        CellMap.Cell(name: Array($0.utf8), urls: [Array("http://\($0)".utf8)])
    }

    private func part(_ cell: Int, _ places: [Int], head: Bool = false) -> BodyParts.Part {
        BodyParts.Part(
            cell: cell, body: [], places: places, itemCount: places.count - (head ? 1 : 0))
    }

    private func answer(_ status: Int, _ text: String) -> CellOutcome {
        .answered(
            HTTPCallAnswer(
                status: status, contentType: "application/json", body: Array(text.utf8)))
    }

    private func tree(_ response: HTTPResponse) throws -> JSONTree {
        try JSONTree(reading: response.body)
    }

    private func verdict(_ outcomes: [(BodyParts.Part, CellOutcome)]) -> VerdictMerge {
        var merge = VerdictMerge()
        for (part, outcome) in outcomes { merge.add(part, of: Self.cells[part.cell], outcome) }
        return merge
    }

    // MARK: - Verdicts

    @Test("numbers are added up, and notes stand at the places of the whole")
    func addsUp() throws {
        let first = """
            {"accepted":1,"duplicates":1,"rejected":[{"index":1,"pointer":"/x","detail":"d"}],
            "problems":[{"index":0,"pointer":"/y","detail":"e"}],
            "updates":{"accepted":2,"duplicate":3,"late":4}}
            """
        let second = """
            {"accepted":1,"duplicates":0,"rejected":[],"problems":[{"index":0,"pointer":"/z","detail":"f"}],
            "updates":{"accepted":1,"duplicate":0,"late":0}}
            """
        let merge = verdict([
            (part(0, [0, 2, 4]), answer(200, first)), (part(1, [1]), answer(200, second)),
        ])
        let response = merge.response(isPartialTaken: false)
        let tree = try self.tree(response)
        #expect(response.status == 200)
        #expect(tree["accepted"] == 2 && tree["duplicates"] == 1)
        #expect(tree["rejected"]?.elements.map { $0["index"] } == [2])
        #expect(tree["problems"]?.elements.map { $0["pointer"] } == ["/y", "/z"])
        #expect(tree["updates"] == ["accepted": 3, "duplicate": 3, "late": 4])
        #expect(tree["unavailable"] == nil)
    }

    @Test("what did not land is a 503 that says what did, or a part of a 200")
    func saysWhatIsMissing() throws {
        let taken = #"{"accepted":1,"duplicates":0,"rejected":[],"problems":[]}"#
        let parts = [
            (part(0, [0]), answer(200, taken)), (part(1, [1, 2]), CellOutcome.unavailable("gone")),
        ]
        let refused = verdict(parts).response(isPartialTaken: false)
        #expect(refused.status == 503)
        #expect(refused.headers.contains { $0 == ("Retry-After", "1") })
        #expect(try tree(refused)["accepted"] == 1)
        let partial = verdict(parts).response(isPartialTaken: true)
        #expect(partial.status == 200)
        #expect(
            try tree(partial)["unavailable"]
                == [["cell": "b", "reason": "gone", "items": [1, 2]]])
        let whole = verdict([parts[0]]).response(isPartialTaken: true)
        #expect(try tree(whole)["unavailable"] == .list([]))
    }

    @Test("items are named without the word about when the body was sent")
    func headIsNoItem() throws {
        let merge = verdict([(part(1, [0, 2], head: true), .unavailable("gone"))])
        let list = try tree(merge.response(isPartialTaken: true))["unavailable"]
        #expect(list?.elements.first?["items"] == [2])
    }

    @Test("a refusal by all is that of the whole, and one by some a part that did not land")
    func refusals() throws {
        let no = answer(401, #"{"status":401,"detail":"a token is needed"}"#)
        let all = verdict([(part(0, [0]), no), (part(1, [1]), no)]).response(isPartialTaken: true)
        #expect(all.status == 401)
        let taken = answer(200, #"{"accepted":1,"duplicates":0,"rejected":[],"problems":[]}"#)
        let some = verdict([(part(0, [0]), taken), (part(1, [1]), no)])
        #expect(some.response(isPartialTaken: false).status == 503)
        let reason = try tree(some.response(isPartialTaken: true))["unavailable"]?.elements.first?[
            "reason"]
        #expect(reason == "it answers 401: a token is needed")
        // Whose somebody is, is no question to the client.
        let elsewhere = verdict([(part(0, [0]), answer(421, "{}"))]).response(isPartialTaken: false)
        #expect(elsewhere.status == 503)
        let failing = verdict([
            (part(0, [0]), answer(503, "{}")), (part(1, [1]), answer(503, "{}")),
        ])
        #expect(failing.response(isPartialTaken: false).status == 503)
        #expect(failing.response(isPartialTaken: true).status == 200)
    }

    @Test("K5: a cell that is busy does not take its part, be it all of it", arguments: [408, 429])
    func busy(status: Int) throws {
        let busy = answer(status, #"{"detail":"too much of this source is waiting"}"#)
        let alone = verdict([(part(1, [0, 1]), busy)]).response(isPartialTaken: false)
        #expect(alone.status == 503)
        #expect(try tree(alone)["unavailable"]?.elements.map { $0["items"] } == [[0, 1]])
        let all = verdict([(part(0, [0]), busy), (part(1, [1]), busy)])
        #expect(all.response(isPartialTaken: false).status == 503)
        #expect(all.response(isPartialTaken: true).status == 200)
        #expect(!all.isRefused)
    }

    @Test("S19, K5: what one cell will never take under its name is not to be sent again under it")
    func otherBody() throws {
        let other = answer(422, #"{"detail":"something else was done under this name"}"#)
        let taken = answer(200, #"{"accepted":1,"duplicates":0,"rejected":[],"problems":[]}"#)
        let some = verdict([(part(0, [0]), taken), (part(1, [1]), other)])
        #expect(some.response(isPartialTaken: false).status == 422)
        #expect(some.response(isPartialTaken: true).status == 200)
        let away = verdict([(part(0, [0]), answer(503, "{}")), (part(1, [1]), other)])
        #expect(away.response(isPartialTaken: false).status == 422)
        // Whoever sent it learns what was taken, and what was not.
        let told = try tree(away.response(isPartialTaken: false))
        #expect(told["detail"] == "something else was done under this name")
        #expect(told["unavailable"]?.elements.count == 2)
    }

    @Test("K5: a body that is wrong is refused whole only if nobody took any of it")
    func wrongBody() {
        let large = answer(413, #"{"detail":"too large"}"#)
        let none = #"{"accepted":0,"duplicates":0,"rejected":[],"problems":[]}"#
        let kept = answer(200, none.replacing(#""duplicates":0"#, with: #""duplicates":1"#))
        let rejected = answer(
            422, none.replacing(#""rejected":[]"#, with: #""rejected":[{"index":0}]"#))
        for other in [kept, rejected] {
            let some = verdict([(part(0, [0]), other), (part(1, [1]), large)])
            #expect(some.response(isPartialTaken: true).status != 413)
        }
        let away = verdict([(part(0, [0]), .unavailable("gone")), (part(1, [1]), large)])
        #expect(away.response(isPartialTaken: true).status == 413)
    }

    @Test("K5: standings are as many as the body has items, whichever part ends last")
    func standings() throws {
        let you = #"{"accepted":1,"duplicates":0,"rejected":[],"problems":[],"you":[{"s":1}]}"#
        let merge = verdict([
            (part(0, [2]), answer(200, you)), (part(1, [0]), answer(200, you)),
        ])
        let list = try tree(merge.response(isPartialTaken: false))["you"]?.elements
        #expect(list?.map { $0["s"] } == [1, nil, 1])
    }

    @Test(
        "K5: who is busy, or lets nobody in, is left out, and fails nobody else",
        arguments: [401, 403, 429])
    func leftOut(status: Int) {
        let some = Gateway.answers([answer(200, "{}"), answer(status, "{}")], Self.cells)
        #expect(some.refusal == nil)
        #expect(some.unavailable.map(\.name) == [Array("b".utf8)])
        #expect(Gateway.answers([answer(status, "{}")], Self.cells).refusal?.status == status)
        #expect(
            Gateway.answers([answer(200, "{}"), answer(400, "{}")], Self.cells).refusal?.status
                == 400)
    }

    @Test("if all is rejected everywhere it is a 422")
    func allRejected() {
        let none =
            #"{"accepted":0,"duplicates":0,"rejected":[{"index":0,"pointer":"","detail":""}],"problems":[]}"#
        let merge = verdict([
            (part(0, [0]), answer(422, none)), (part(1, [1]), answer(422, none)),
        ])
        #expect(merge.response(isPartialTaken: false).status == 422)
        let kept = #"{"accepted":0,"duplicates":1,"rejected":[],"problems":[]}"#
        let some = verdict([
            (part(0, [0]), answer(422, none)), (part(1, [1]), answer(200, kept)),
        ])
        #expect(some.response(isPartialTaken: false).status == 200)
    }

    @Test("numbers that nobody can have counted end nothing")
    func hugeNumbers() throws {
        let huge = #"{"accepted":9223372036854775807,"duplicates":1,"rejected":[],"problems":[]}"#
        let merge = verdict([(part(0, [0]), answer(200, huge)), (part(1, [1]), answer(200, huge))])
        #expect(try tree(merge.response(isPartialTaken: false))["duplicates"] == 2)
        #expect(Gateway.sum([.max, 1, nil, 2]) == .max)
    }

    @Test("what is no answer of ours is none")
    func notOurs() {
        let page = HTTPCallAnswer(
            status: 200, contentType: "text/html", body: Array("<p>hello</p>".utf8))
        #expect(!Gateway.isDocument(page))
        let some = verdict([(part(0, [0]), .answered(page))])
        #expect(some.response(isPartialTaken: false).status == 503)
        let answers = Gateway.answers([.answered(page)], [Self.cells[0]])
        #expect(answers.found.isEmpty && answers.unavailable.count == 1 && answers.refusal == nil)
    }

    @Test("a part that is wrong is the whole's fault only while nobody took anything")
    func wrongBodies() throws {
        let taken = answer(200, #"{"accepted":1,"duplicates":0,"rejected":[],"problems":[]}"#)
        let large = answer(413, #"{"status":413,"detail":"too many"}"#)
        let some = verdict([(part(0, [0]), taken), (part(1, [1]), large)])
        let partial = some.response(isPartialTaken: true)
        #expect(partial.status == 200)
        #expect(
            try tree(partial)["unavailable"]?.elements.first?["reason"]
                == "it answers 413: too many")
        let away = verdict([(part(0, [0]), .unavailable("gone")), (part(1, [1]), large)])
        #expect(away.response(isPartialTaken: true).status == 413)
        // A roster is taken whole or not at all.
        let conflict = answer(409, #"{"status":409,"detail":"it has ended"}"#)
        var roster = VerdictMerge(isWhole: true)
        roster.add(part(0, [0]), of: Self.cells[0], taken)
        roster.add(part(1, [1]), of: Self.cells[1], conflict)
        #expect(roster.response(isPartialTaken: false).status == 409)
    }

    // MARK: - Lists

    private func merge(_ lists: [(rows: [Int64], isEnd: Bool)], limit: Int) -> (
        rows: [Int64], counts: [Int]
    ) {
        let sources = lists.map { list in
            ListMerge.Source(rows: list.rows.map { JSONTree.integer($0) }, isEnd: list.isEnd)
        }
        func value(_ row: ListMerge.Row) -> Int64 { lists[row.source].rows[row.place] }
        let merge = ListMerge(sources, limit: limit) { value($0) < value($1) }
        return (merge.rows.map(value), merge.counts)
    }

    @Test("rows come in one order, up to the limit")
    func mergesRows() {
        let both = merge([([1, 4, 5], true), ([2, 3, 9], true)], limit: 4)
        #expect(both.rows == [1, 2, 3, 4] && both.counts == [2, 2])
        let all = merge([([1], true), ([], true), ([0, 2], true)], limit: 9)
        #expect(all.rows == [0, 1, 2])
    }

    @Test("nobody goes on beyond a list that has more behind its rows")
    func waitsForMore() {
        let cut = merge([([1, 2], false), ([3, 4], true)], limit: 9)
        #expect(cut.rows == [1, 2] && cut.counts == [2, 0])
        let none = merge([([], false), ([3], true)], limit: 9)
        #expect(none.rows.isEmpty)
    }

    @Test("what stands before the rest of a used up list goes on")
    func passesWhatComesBefore() {
        let sources = [
            ListMerge.Source(rows: [], isEnd: false),
            ListMerge.Source(rows: [1, 2, 9], isEnd: true),
        ]
        let values: [Int64] = [1, 2, 9]
        let merge = ListMerge(
            sources, limit: 9, precedes: { values[$0.place] < values[$1.place] },
            isBefore: { row, _ in values[row.place] < 5 })
        #expect(merge.counts == [0, 2])
    }

    @Test("a cursor over cells is read as it was written")
    func readsVectors() throws {
        var vector = VectorCursor(count: 3)
        #expect(vector.text == "-~-~-")
        vector.places = [.behind("1795.17"), .leftOut, .start]
        #expect(vector.text == "1795.17~!~-")
        #expect(VectorCursor(vector.text, count: 3) == vector)
        #expect(!vector.isEnd)
        vector.places = [.leftOut, .end, .end]
        #expect(vector.isEnd)
        for text in ["", "1~2", "1~2~3~4", "1~~3"] {
            #expect(VectorCursor(text, count: 3) == nil, "\(text)")
        }
    }

    // MARK: - Tables

    @Test("what counts is added up by its keys, and what no sum says is null")
    func addsTables() throws {
        let first = try JSONTree(
            reading: Array(
                """
                {"by":["region"],"rows":[{"region":"x","gaps":1,"open":1,"seconds":{"median":3,"longest":5,
                "total":6},"verdicts":{"battery":1}},{"region":"y","gaps":1,"open":0,"seconds":null,"share":1,
                "verdicts":{}}],"gaps":2,"truncated":false,"as_of":"2026-11-29T10:00:00.000Z"}
                """.utf8))
        let second = try JSONTree(
            reading: Array(
                """
                {"by":["region"],"rows":[{"region":"x","gaps":4,"open":2,"seconds":{"median":1,"longest":2,
                "total":4},"verdicts":{"battery":1,"network":2}}],"gaps":4,"truncated":true,
                "as_of":"2026-11-29T10:00:01.000Z"}
                """.utf8))
        let merged = TableMerge.gaps([first, second])
        #expect(merged["gaps"] == 6 && merged["truncated"] == true)
        #expect(merged["by"] == ["region"])
        let row = try #require(merged["rows"]?.elements.first)
        #expect(row["region"] == "x" && row["gaps"] == 5 && row["open"] == 3)
        #expect(row["seconds"] == ["median": nil, "longest": 5, "total": 10])
        #expect(row["verdicts"] == ["battery": 2, "network": 2])
        #expect(merged["rows"]?.elements.count == 2)
        #expect(
            merged["rows"]?.elements.last?["share"] == nil, "of one cell it says nothing of all")
        #expect(merged["as_of"] == "2026-11-29T10:00:00.000Z")
    }

    @Test("each route is somebody's at a gateway")
    func routesGoSomewhere() {
        #expect(Route.all.count { $0.forwarding == .items } == 3)
        for route in Route.all where route.resource.isPage { #expect(route.forwarding == .fleet) }
        // Who writes goes to no list.
        for route in Route.all where route.method != .get {
            if case .list = route.forwarding { Issue.record("\(route.name)") }
        }
    }
}
