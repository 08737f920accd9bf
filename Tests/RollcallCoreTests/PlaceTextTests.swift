import RollcallCore
import Testing

/// Coordinates where a name is asked for. Source: I7.
@Suite struct PlaceTextTests {
    @Test(arguments: [
        "52.5200, 13.4050", "52.52;13.40", "52.52, 13.40", "-33.8688,151.2093", "52.520 13.405",
        "geo:52.5,13.4", "GEO:-1,2", "Lager (52.5200, 13.4050)", "52.5200-13.4050", "N52.52 E13.40",
        "52.52N 13.40E", "52,5200 13,4050", "52,5200;13,4050", "POINT(13.4050 52.5200)",
        "lat 52.5200 lon 13.4050", "52°31′12″N 13°24′18″E", "52.520/13.405", "+52.5200+013.4050",
        "@52.5200066,13.404954,15z", "circle-9 52.5200 13.4050", "179.99, 89.99",
        "90.00, 120.00", "180.00, 45.00", "4.5,52.5",
        // With one decimal it is a place within some kilometres.
        "52.5,13.4", "52.5;13.4", "52.5, 13.4", "-3.5,4.5", "[13.4,52.5]", "at 52.5,13.4 or so",
        "51.5,-0.1",
        // Called so.
        "lat52.5200lon13.4050", "lat=52.52 lng=13.40", "Latitude: 52.5, longitude: 13.4",
        "LAT52.5LON13.4", "lat 52.52 lon 13.40", "lat:-3.5,lon:-60.2", "x_lat_52.52_long_13.40",
        // In other letters.
        "52.52%2C13.40", "52.5200%2c13.4050", "52.5200%2C%2013.4050", "52%2E52%3B13%2E40",
        "52.52%252C13.40", "geo%3A52,13", "５２.５２, １３.４０", "52.52，13.40", "５２．５２，１３．４０",
        "52.52\u{A0}13.405\u{A0}52.520", "52.520\u{202F}13.405", "52.52、13.40", "٥٢٫٥٢،١٣٫٤٠",
        "\u{2212}33.86;\u{2009}151.20", "52.5\u{FF0C}13.4",
    ])
    func `what looks like a place is one`(text: String) {
        #expect(PlaceText.isIn(Array(text.utf8)))
    }

    @Test(arguments: [
        "north", "", "52.5200", "12.30-14.30", "12.30 - 14.30", "12.30/14.30", "1.20 2.30",
        "21.11.2026 22.11.2026", "10.52.20.13", "10.0.0.1, 10.0.0.2", "v1.2.3, v1.2.4", "1, 2",
        "100,200 300,400", "3.5, 4.5", "99.50, 120.75", "a.b, c.d", "geo: north", "geometry:1",
        "GEOSTRADA", "20° warm", "Köln 1.5, 2.5", "52.52", "7.25, 400.10", "Haus 5, Zimmer 12",
        "v52.5200, v13.4050", "2026-11-23T03:00:00.120Z", "1.2,3", "1.2,3.4", "3.5,4.5",
        "Köln 12.5, 13.5", "100%", "100%2C", "50%-60%", "%", "%2", "%zz", "１", "Ω 1.5", "12.5,13",
        "flat 3.5, salon 4.5", "flat52.5200", "lat 52.52", "plat 1.5 lon 2.5", "lat 1, lon 2",
        "%FF%FE", "x12.5,13.5", "1.2.3,4.5.6", "12.300-14.300", "52.5,,13.4",
        "91.00, 120.00", "181.00, 45.00", "北 1.5 南 2.5",
    ])
    func `shifts, versions, dates and addresses are names`(text: String) {
        #expect(!PlaceText.isIn(Array(text.utf8)))
    }

    private func scan(_ body: String, _ kind: ItemKind = .batch) throws -> ScanResult {
        try ItemScanner.scan(Array(body.utf8).span, kind: kind)
    }

    @Test(arguments: [ItemKind.batch, .responder, .rosterEntry])
    func `a region or a circle that looks like a place is refused, named and counted`(
        kind: ItemKind
    ) throws {
        let body =
            #"{"responder_id":"a","region":"52.5200, 13.4050","circles":["c","#
            + #""52.52\u003b13.40"]}"#
        let result = try scan(body, kind)
        let item = try #require(result.items.item(0))
        #expect(item.region == nil)
        let circles = try #require(item.circles)
        #expect(CircleNames.names(Array(result.items.bytes[circles.indices])) == [[99]])
        #expect(result.problems.map(\.pointer) == ["/region", "/circles/1"])
        #expect(result.problems.map(\.fault) == [.coordinate, .coordinate])
        #expect(result.problemCount(.coordinate) == 2)
        #expect(result.problems.allSatisfy { !$0.detail.contains("5") })
    }

    @Test func `a version that looks like a place is refused too, and nothing else of its batch`()
        throws
    {
        let body =
            #"{"responder_id":"a","os_version":"52.5200%2C13.4050","app_version":"1.2,3","#
            + #""region":"north"}"#
        let result = try scan(body)
        #expect(result.problems.map(\.pointer) == ["/os_version"])
        #expect(result.problemCount(.coordinate) == 1)
        #expect(result.items.count == 1)
    }

    /// P1: however small, and up to the last that a date can tell.
    @Test(
        arguments: [(0, true), (253_402_300_799_999, true), (253_402_300_800_000, false)]
            as [(Int64, Bool)])
    func `a replay's line is of any millisecond`(at: Int64, isTaken: Bool) {
        var reader = ReplayReader()
        let line = #"{"at":\#(at),"kind":"batch","body":{"responder_id":"a"}}"#
        let step = try? reader.read(Array(line.utf8))
        #expect((step != nil) == isTaken)
    }

    /// J3: an older store may hold such names, and what is read from it is what it was.
    @Test func `a replay takes the names that were stored`() throws {
        let line =
            #"{"at":1795230000000,"kind":"batch","body":{"responder_id":"a","#
            + #""region":"52.5200, 13.4050"}}"#
        var reader = ReplayReader()
        guard case .event(.items(let items, _), _) = try reader.read(Array(line.utf8)) else {
            Issue.record("no items")
            return
        }
        #expect(items.item(0)?.region?.count == 16)
    }
}
