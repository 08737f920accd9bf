import RollcallCore

/// Bodies of phones and other servers, by each preset and by a mapping of one's own. What is taken must
/// be items that an engine folds, and the same of the same.
enum InputFuzz {
    private static let itemsMax = 32
    private static let arrival = Timestamp(milliseconds: 1_795_230_005_000)

    /// Every mapping that there is, and one with values of the body around its items.
    private static let mappings: [InputMapping] = {
        var own = InputDescription()
        let place: (String, Bool) -> InputDescription.Place = { text, isOfRoot in
            guard let pointer = try? InputPointer(text) else { fatalError("no pointer") }
            return InputDescription.Place(pointer, isOfRoot: isOfRoot)
        }
        own.ids = [.place(place("/who", false)), .place(place("/id", true))]
        own.items = [place("/points", true).pointer]
        own.capture = .at([place("/t", false), place("/sent", true)], .auto)
        own.sequence = place("/n", false)
        own.facts = [
            .init(.queueDepth, [place("/queue", true)]), .init(.region, [place("/r", false)]),
            .init(.batteryLevel, [place("/s/[k=b]/v", false)]),
        ]
        let all = InputPreset.allCases.flatMap(\.descriptions) + [own]
        return all.map { description in
            guard let mapping = try? InputMapping(description) else { fatalError("no mapping") }
            return mapping
        }
    }()

    static let target = FuzzTarget("inputs", samples: samples) { bytes in
        var input = FuzzInput(bytes)
        let mapping = mappings[Int(input.byte()) % mappings.count]
        let choice = input.byte()
        let body = input.all()
        var request = InputRequest(arrival: arrival)
        request.path = choice & 1 == 0 ? nil : Array("hook".utf8)
        request.isForwarded = choice & 2 != 0
        request.isFresh = choice & 4 == 0
        request.enrols = choice & 8 == 0
        let limits = ScanLimits(itemsMax: itemsMax)
        let read = { try? InputReader.read(body.span, request, by: mapping, limits: limits) }
        guard let reading = read() else { return }
        let items = reading.scan.items
        require(items.count <= itemsMax, "no more items than allowed")
        require(reading.scan.places.count == items.count, "each item has its place")
        require(items.ends.last ?? 0 == items.bytes.count, "nothing else is kept")
        for index in 0..<items.count {
            guard let item = items.item(index) else { fatalError("damaged when it is made") }
            require((1...128).contains(item.responderID.indices.count), "somebody is meant")
            require(items.text(index) != nil, "an item has a text")
        }
        require(read()?.scan.items.bytes == items.bytes, "the same of the same")
        var engine = Engine()
        let instant = RunningTime(milliseconds: arrival.milliseconds)
        _ = engine.fold(.start(), at: instant)
        _ = engine.fold(.items(items, source: EventSource.standard), at: instant)
        engine.advance(to: instant + .seconds(3600))
        let broken = engine.brokenInvariants()
        require(broken.isEmpty, "\(broken)")
    }

    /// The first two bytes choose as above.
    private static let samples: [[UInt8]] = {
        let bodies: [(UInt8, String)] = [
            (0, #"{"_type":"location","tst":1795230000,"batt":87,"conn":"w","tid":"JJ"}"#),
            (0, #"{"_type":"lwt","tst":1795230000,"topic":"owntracks/jane/phone"}"#),
            (
                1,
                #"{"locations":[{"geometry":{},"properties":{"timestamp":"2026-11-21T04:00:00"#
                    + #"-0700","device_id":"a","battery_level":0.8}}]}"#
            ),
            (
                2,
                #"{"location":[{"timestamp":1795230000,"coords":{},"battery":{"level":-1},"#
                    + #""provider":{"enabled":true,"status":3}}],"device_id":"41"}"#
            ),
            (3, #"{"location":{"timestamp":1795230000000},"device_id":"41"}"#),
            (4, "id=7&timestamp=2026-11-21+03%3A00%3A00&lat=1&batt=87"),
            (
                5,
                #"{"device":{"uniqueId":"7"},"position":{"serverTime":1795230000,"fixTime":"#
                    + #""2026-11-21T03:00:00.000+00:00","attributes":{"batteryLevel":64}}}"#
            ),
            (6, #"{"user_id":"a","data":{"locations":[{"coords":{},"timestamp":1795230000}]}}"#),
            (7, #"{"type":"update_location","data":{"gps":[],"battery":45}}"#),
            (
                7,
                #"{"type":"update_sensor_states","data":[{"unique_id":"battery_level","state":7}]}"#
            ),
            (
                8,
                #"{"points":[{"who":"a","t":1,"n":2,"r":"x","s":[{"k":"b","v":0.5}]}],"queue":3}"#
            ),
        ]
        return bodies.flatMap { [[$0.0, 1] + Array($0.1.utf8), [$0.0, 7] + Array($0.1.utf8)] }
    }()
}
