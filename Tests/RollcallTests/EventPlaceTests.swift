import RollcallCore
import Testing

@testable import RollcallSupport
@testable import RollcallTools

/// The place from which `rollcall events` looks back, at one watch and at a gateway. Source: E1, K5.
@Suite struct EventPlaceTests {
    @Test(arguments: [
        ("c0ffee-1234", "c0ffee-234", false), ("c0ffee-999", "c0ffee-0", true),
        ("a-34~b-1171~c-149~d-130", "a-0~b-171~c-0~d-0", false),
        // A cell that did not answer, one that is at its beginning, and one at its end.
        ("a-34~now~-~.", "a-0~now~-~.", true), ("now", "now", true), ("", "", true),
        ("-5", "-5", true), ("a-x", "a-x", true),
    ])
    func `E1: a cursor is looked back from in each cell, and is text otherwise`(
        cursor: String, earlier: String, isBeginning: Bool
    ) {
        let place = EventPlace(cursor)
        #expect(place.text == cursor)
        #expect(place.back(by: 1000).text == earlier)
        #expect(place.back(by: 1000).isBeginning == isBeginning)
        #expect(place.isOfOne == !cursor.contains("~"))
    }

    @Test func `K5: the newest events of a gateway are behind an earlier place of each cell`()
        throws
    {
        let head = "{\"events\":[],\"next\":\"a-1500~now\",\"unavailable\":[\"b\"]}"
        let page = """
            {"events":[{"cursor":"a-501~now","at":"2026-11-21T05:50:05.000Z","kind":"status"}],
            "next":"a-1500~now","unavailable":["b"]}
            """
        let end = "{\"events\":[],\"next\":\"a-1500~now\",\"unavailable\":[\"b\"]}"
        let server = try CannedServer([
            "/v1/events?after=now&limit=1000": head,
            "/v1/events?after=a-500~now&limit=1000": page,
            "/v1/events?after=a-0~now&limit=1000": page,
            "/v1/events?after=a-1500~now&limit=1000": end,
        ])
        defer { server.stop() }
        var options = EventQuestion.Options()
        options.form = .ids
        let asked = try server.asked()
        var printed = ""
        let lack = try EventQuestion(options).run(
            from: asked, style: ConsoleStyle(), print: { printed += $0 }, complain: { _ in })
        #expect(printed == "a-501~now\n" && lack == nil)
        #expect(asked.missing.names == ["b"])
    }
}
