import RollcallCore

/// Bodies of items: of each kind, as JSON and as lines. What is taken must be an item, must come back
/// from the line of a replay as the same bytes, and must leave the engine whole.
enum ItemFuzz {
    private static let kinds: [ItemKind] = [.batch, .transition, .responder, .rosterEntry]
    /// More items say nothing new, and each is folded.
    private static let itemsMax = 32

    static let target = FuzzTarget("items", samples: samples) { bytes in
        var input = FuzzInput(bytes)
        let choice = input.byte()
        let kind = kinds[Int(choice & 3)]
        let limits = ScanLimits(itemsMax: itemsMax, depthMax: choice & 8 == 0 ? 16 : 64)
        let body = input.all()
        let scan = try? ItemScanner.scan(
            body.span, kind: kind, format: choice & 4 == 0 ? .json : .lines, limits: limits)
        guard let scan else { return }
        check(scan)
        comesBack(scan.items, kind)
        fold(scan.items, kind)
    }

    private static func check(_ scan: ScanResult) {
        require(scan.itemCount <= itemsMax, "no more items than allowed")
        require(scan.places.count == scan.items.count, "each item has its place")
        require(zip(scan.places, scan.places.dropFirst()).allSatisfy { $0 < $1 }, "in order")
        require(scan.items.ends.last ?? 0 == scan.items.bytes.count, "nothing else is kept")
        for index in 0..<scan.items.count {
            guard let item = scan.items.item(index) else { fatalError("damaged when it is made") }
            require(
                (1...ItemScanner.nameBytesMax).contains(item.responderID.indices.count),
                "somebody is meant")
            var reader = UpdateReader(item)
            var count = 0
            while let update = reader.next(scan.items.bytes.span) {
                require(
                    update.sequence >= 0 || update.capturedAt != nil, "an update can be told apart")
                count += 1
            }
            require(count == item.updateCount, "each update is there")
        }
        let listed = scan.problems.count
        let counted = ItemFault.allCases.map(scan.problemCount).reduce(0, +)
        let most = min(counted, ItemScanner.notesMax)
        // Of unknown fields only some are named.
        let isPart = scan.problemCount(.unknownField) > 0 && listed < most
        require(listed == most || isPart, "problems are listed and counted")
    }

    /// Push tokens are secrets, and a replay's line has something else in their place.
    private static func comesBack(_ items: ItemList, _ kind: ItemKind) {
        let hasToken = (0..<items.count).contains { items.item($0)?.pushToken != nil }
        if hasToken || items.count == 0 { return }
        let source = Array("somebody".utf8)
        let event: Event =
            kind == .rosterEntry
            ? .roster(items, source: source, RosterTerms()) : .items(items, source: source)
        var line: [UInt8] = []
        let isWhole = EventLine.append(
            event, at: Timestamp(milliseconds: 1_795_230_000_000), policy: { _ in [] }, to: &line)
        require(isWhole && line.popLast() == 0x0A, "the items have a line")
        var reader = ReplayReader()
        guard case .event(let told, _) = try? reader.read(line) else { fatalError("no line") }
        switch told {
        case .items(let list, let from), .roster(let list, let from, _):
            require(list.bytes == items.bytes && list.ends == items.ends, "the same comes back")
            require(from == source, "from the same source")
        default: fatalError("another event comes back")
        }
    }

    private static func fold(_ items: ItemList, _ kind: ItemKind) {
        var engine = Engine()
        let instant = RunningTime(milliseconds: 1_795_230_000_000)
        _ = engine.fold(.start(), at: instant)
        let event: Event =
            kind == .rosterEntry
            ? .roster(items, source: EventSource.standard, RosterTerms())
            : .items(items, source: EventSource.standard)
        _ = engine.fold(event, at: instant)
        engine.advance(to: instant + .seconds(3600))
        let broken = engine.brokenInvariants()
        require(broken.isEmpty, "\(broken)")
    }

    /// The first byte chooses as above.
    private static let samples: [[UInt8]] = {
        let bodies: [(UInt8, String)] = [
            (0, ItemSamples.batch), (0, "[\(ItemSamples.batch),{\"responder_id\":\"b\"},7]"),
            (1, ItemSamples.transition), (2, ItemSamples.fact), (3, "[\(ItemSamples.fact)]"),
            (4, "\(ItemSamples.batch)\n{\"responder_id\":01}\r\n\n{\"responder_id\":\"c\"}"),
            (8, "[{\"responder_id\":\"\\u0041\\uD83D\\uDE00é\",\"x\":[[[{\"lat\":[1e5]}]]]}]"),
            (0, "{\"responder_id\":\"a\",\"received_at\":1795230005120.5,\"battery_level\":1e-3}"),
            (0, "{\"responder_id\":\"a\",\"received_at\":1795230005.12,\"dutyState\":\"ON_DUTY\"}"),
            (
                0,
                "{\"responder_id\":\"a\",\"received_at\":17.95230005120e11,\"region\":\"5２.5%2C１3,4\"}"
            ),
            (
                0,
                "{\"responder_id\":\"a\",\"updates\":[{\"sequence\":1,\"fix\":null,\"sequence\":2}]}"
            ),
            (
                0,
                "{\"app_state\":\"background\",\"telemetry\":{\"queueDepth\":1,\"queue_depth\":2}}"
            ),
        ]
        let sending = "{\"sent_at\":1795230000.5}"
        let several: [(UInt8, String)] = [
            (0, "[\(sending),\(ItemSamples.batch)]"), (4, "\(sending)\n\(ItemSamples.batch)\n"),
        ]
        return (bodies + several).map { [$0.0] + Array($0.1.utf8) }
    }()
}

/// Items with all that they can say.
enum ItemSamples {
    static let batch = """
        {"responder_id":"r-17","received_at":"2026-11-21T03:00:05.120Z","duty_state":"ON_DUTY",\
        "region":"north","circles":["c-9","c-1"],"sharing":"active","platform":"ios",\
        "os_version":"18.2","app_version":"4.1.0","install_id":"b1f0","battery_level":0.62,\
        "telemetry":{"permission_status":"granted","location_services":true,\
        "power_mode":"low_power","app_state":"background","queue_depth":5,\
        "network_type":"cellular"},"updates":[{"sequence":4711,"captured_at":\
        "2026-11-21T03:00:01+01:00"},{"sequence":4712,"captured_at":1795230004000,\
        "fix":"cached","lat":48.2},{"sequence":9223372036854775807,"captured_at":null}]}
        """
    static let transition = """
        {"responder_id":"41","from":"ONLINE","to":"OFFLINE","at":"2026-11-21T03:00:00Z",\
        "reason":"x","id":"t-1"}
        """
    static let fact = """
        {"responder_id":"41","duty_state":"OFF_DUTY","region":"n","circles":[],\
        "sharing":"paused","paused_until":1795230000000,"platform":"android",\
        "push_token":"token","nudge_sound":"silent","at":"2026-11-21T03:00:00Z"}
        """
}
