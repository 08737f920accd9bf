import RollcallTools

/// A body of batches that dice make: JSON without a fault, in any of the ways in which it can be
/// written. What it says is right as often as wrong.
struct RandomBatch {
    private(set) var bytes: [UInt8] = []
    private var dice: Dice

    init(_ dice: inout Dice) {
        self.dice = Dice(seed: dice.next())
        space()
        if self.dice.chance(300) {
            item()
        } else {
            list(0...3) { $0.item() }
        }
        space()
    }

    // MARK: - Members

    private mutating func item() {
        if dice.chance(30) { return strange(3) }
        let members: [(String, (inout RandomBatch) -> Void)] = [
            ("responder_id", { $0.name() }), ("received_at", { $0.time() }),
            ("duty_state", { $0.word(["ON_DUTY", "ON_MISSION", "OFF_DUTY", "LUNCH"]) }),
            ("sharing", { $0.word(["active", "paused", "ghost"]) }),
            ("platform", { $0.word(["ios", "android", "palm"]) }), ("region", { $0.name() }),
            ("circles", { body in body.list(0...4) { $0.name() } }),
            ("os_version", { $0.name() }), ("app_version", { $0.name() }),
            ("install_id", { $0.name() }), ("battery_level", { $0.fraction() }),
            (
                "next_expected_in",
                {
                    switch $0.dice.number(0...2) {
                    case 0: $0.integer()
                    case 1: $0.fraction()
                    default: $0.word(["15m", "1h30m", "2500ms", "3d", "0s", "15", "1m1h", "-1m"])
                    }
                }
            ),
            ("telemetry", { $0.telemetry() }), ("updates", { $0.updates() }),
            ("location", { $0.strange(2) }), ("strange-member", { $0.strange(4) }),
            ("\u{e9}\u{1F600}\"\\\n", { $0.strange(1) }),
        ]
        let isKept = members.indices.map { $0 == 0 ? dice.chance(970) : dice.chance(500) }
        object(members.indices.filter { isKept[$0] }.map { members[$0] })
    }

    private mutating func telemetry() {
        object([
            ("permission_status", { $0.word(["granted", "denied", "maybe"]) }),
            ("location_services", { $0.raw($0.dice.chance(500) ? "true" : "false") }),
            ("power_mode", { $0.word(["normal", "low_power", "turbo"]) }),
            (
                "app_state",
                {
                    $0.word([
                        "foreground", "background", "suspended", "terminated", "other", "asleep",
                    ])
                }
            ),
            ("network_type", { $0.word(["wifi", "cellular", "none", "pigeon"]) }),
            ("queue_depth", { $0.integer() }), ("latitude", { $0.fraction() }),
        ])
    }

    private mutating func updates() {
        list(0...3) { body in
            if body.dice.chance(50) { return body.strange(1) }
            body.object([
                ("sequence", { $0.integer() }), ("captured_at", { $0.time() }),
                ("fix", { $0.word(["cached", "live"]) }), ("lng", { $0.strange(1) }),
            ])
        }
    }

    // MARK: - Values

    /// Now and then something else altogether, as with each value below.
    private mutating func isSurprise() -> Bool {
        guard dice.chance(40) else { return false }
        dice.chance(500) ? raw("null") : strange(2)
        return true
    }

    private mutating func name() {
        if isSurprise() { return }
        let count = dice.pick([0, 1, 2, 7, 7, 7, 31, 127, 128, 129])
        let letters = ["a", "b", "9", ".", " ", "\"", "\\", "/", "\u{e9}", "\u{20ac}", "\u{1F600}"]
        var name = ""
        while name.utf8.count < count { name += dice.pick(letters) }
        if dice.chance(50) { name += dice.pick(["\n", "\u{0}", "\u{7F}", "\u{85}", "\u{A0}"]) }
        string(name)
    }

    private mutating func word(_ words: [String]) {
        if !isSurprise() { string(dice.pick(words)) }
    }

    private mutating func integer() {
        if isSurprise() { return }
        raw(
            dice.pick([
                "0", "1", "7", "4711", "4294967294", "4294967295", "4294967296", "1.5", "-1",
                "9007199254740993", "9223372036854775807", "9223372036854775808", "-7",
                "18446744073709551616", "1000000000000000000000000000000",
            ]))
    }

    private mutating func fraction() {
        if isSurprise() { return }
        let digits = (0..<dice.number(1...17)).map { _ in "\(dice.number(0...9))" }.joined()
        raw(dice.pick(["0.\(digits)", "0.\(digits)", "0.\(digits)", "1.\(digits)", "0", "1", "2"]))
    }

    private mutating func time() {
        if isSurprise() { return }
        if dice.chance(300) {
            let milliseconds = dice.pick([
                0, 1, dice.number(1_795_000_000_000...1_796_000_000_000), 253_402_300_799_999,
                253_402_300_800_000,
            ])
            return raw("\(milliseconds)")
        }
        func two(_ number: Int64) -> String { number < 10 ? "0\(number)" : "\(number)" }
        let year = dice.pick(["1969", "1970", "2000", "2024", "2026", "2100", "9999", "0000"])
        let date = "\(year)-\(two(dice.number(0...13)))-\(two(dice.number(0...32)))"
        let hour = two(dice.pick([0, 3, 12, 23, 24]))
        let minute = two(dice.pick([0, 1, 59, 60]))
        let second = two(dice.pick([0, 5, 59, 60, 61]))
        let fraction = dice.pick(["", "", ".1", ".120", ".999999999", "."])
        let offset = dice.pick(["Z", "Z", "z", "+01:00", "-23:59", "+24:00", "", "+0100"])
        string(
            date + dice.pick(["T", "T", "t", " ", "_"]) + "\(hour):\(minute):\(second)"
                + fraction + offset)
    }

    /// Any value, nested so deep at most.
    private mutating func strange(_ depth: Int) {
        switch dice.number(0...(depth > 0 ? 8 : 6)) {
        case 0: raw("null")
        case 1: raw("true")
        case 2: raw("false")
        case 3: integer()
        case 4:
            raw(dice.pick(["-12.75", "0.1", "-0.5"] + (dice.chance(40) ? ["1e5", "2.5E-3"] : [])))
        case 5...6: string(dice.pick(["", "x", "48.2", "\u{1F600}\u{0}", "lat"]))
        case 7: list(0...3) { $0.strange(depth - 1) }
        default:
            object([
                ("first-of-two", { $0.strange(depth - 1) }),
                ("heading", { $0.strange(depth - 1) }),
            ])
        }
    }

    // MARK: - JSON

    private mutating func list(
        _ counts: ClosedRange<Int64>, _ element: (inout RandomBatch) -> Void
    ) {
        raw("[")
        for place in 0..<dice.number(counts) {
            if place > 0 { raw(",") }
            space()
            element(&self)
            space()
        }
        space()
        raw("]")
    }

    private mutating func object(_ members: [(String, (inout RandomBatch) -> Void)]) {
        var rest = members.filter { _ in dice.chance(900) }
        raw("{")
        space()
        var isFirst = true
        while !rest.isEmpty {
            if !isFirst { raw(",") }
            isFirst = false
            let (name, value) = rest.remove(at: Int(dice.number(0...Int64(rest.count - 1))))
            space()
            string(name)
            space()
            raw(":")
            space()
            value(&self)
            space()
        }
        raw("}")
    }

    /// Each character as itself where that may be, or as one of its escapes.
    private mutating func string(_ text: String) {
        raw("\"")
        for scalar in text.unicodeScalars {
            let short: [Unicode.Scalar: String] = [
                "\"": "\\\"", "\\": "\\\\", "/": "\\/", "\u{8}": "\\b", "\u{C}": "\\f", "\n": "\\n",
                "\r": "\\r", "\t": "\\t",
            ]
            let mustEscape = scalar.value < 0x20 || scalar == "\"" || scalar == "\\"
            if let escape = short[scalar], mustEscape || dice.chance(300), dice.chance(700) {
                raw(escape)
            } else if mustEscape || dice.chance(60) {
                for unit in String(scalar).utf16 {
                    let digits = String(unit, radix: 16, uppercase: dice.chance(500))
                    raw("\\u" + String(repeating: "0", count: 4 - digits.count) + digits)
                }
            } else {
                raw(String(scalar))
            }
        }
        raw("\"")
    }

    private mutating func space() {
        if dice.chance(150) { raw(dice.pick([" ", "\t", "\n", "\r\n", "  "])) }
    }

    private mutating func raw(_ text: String) { bytes += Array(text.utf8) }
}
