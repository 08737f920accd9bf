import RollcallCore
import Testing

@testable import RollcallSupport

/// Names beyond the limits, as a backend is told of them. Source: style 15.
@Suite struct NameLimitTests {
    private let directory = TemporaryDirectory()

    @Test func `a name without room is a named problem, beside those of the body`() throws {
        var policy = Policy()
        policy.regionNamesMax = 2
        policy.circleNamesMax = 1
        let server = try HistoryServer(directory, policy: policy)
        defer { server.stop() }
        let body = """
            [{"responder_id":"a","region":"n","circles":["x"]},
             {"responder_id":7.5},
             {"responder_id":"b","region":"s","circles":["y"],"battery_level":2},
             {"responder_id":"c","region":"n","circles":["x"],"updates":[1]}]
            """
        let answer = try server.answer("/v1/batches", "POST", body: body)
        let tree = try JSONTree(reading: Array(answer.body.utf8))
        #expect(tree["accepted"] == 3)
        let problems = (tree["problems"]?.elements ?? []).map { problem in
            "\(problem["index"]?.whole ?? -1) \(problem["pointer"]?.text ?? "")"
        }
        #expect(
            Set(problems) == ["2 /battery_level", "2 /region", "2 /circles", "3 /updates/0"])
        #expect(problems.last == "3 /updates/0", "in the body's order")
        #expect(answer.body.contains("see limits.region_names"))
        #expect(answer.body.contains("see limits.circle_names"))
        let page = try server.answer("/metrics").body
        for series in [
            "rollcall_item_problems_total{reason=\"name_limit\"} 2",
            "rollcall_names{kind=\"region\"} 2", "rollcall_names{kind=\"circle\"} 1",
            "rollcall_names{kind=\"version\"} 0",
        ] {
            #expect(page.contains(series + "\n"), "\(series)")
        }
        let person = try server.get("/v1/responders/b")
        #expect(person["region"] as? String == "default")
    }
}
