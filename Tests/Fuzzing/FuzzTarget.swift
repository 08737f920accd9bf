/// One reader of what comes from outside, and what must hold of it whatever comes.
struct FuzzTarget: Sendable {
    let name: String
    /// Inputs that get far, so that the first ones need not be found by chance.
    let samples: [[UInt8]]
    /// Reads an input. Whatever traps, runs out of memory or takes seconds is a defect.
    let run: @Sendable ([UInt8]) -> Void

    init(
        _ name: String, samples: [[UInt8]], run: @escaping @Sendable ([UInt8]) -> Void
    ) {
        self.name = name
        self.samples = samples
        self.run = run
    }

    /// The same with samples that are text.
    init(
        _ name: String, texts: [String], run: @escaping @Sendable ([UInt8]) -> Void
    ) {
        self.init(name, samples: texts.map { Array($0.utf8) }, run: run)
    }

    static let all = [
        ItemFuzz.target, InputFuzz.target, BodyFuzz.target, ReplayFuzz.target, JournalFuzz.target,
        CheckpointFuzz.target, RequestFuzz.target, WireFuzz.target, SettingsFuzz.target,
        ExpositionFuzz.target, AnswerFuzz.target, MQTTFuzz.target,
    ]
}

/// Ends the process, as a trap does, unless something holds that must hold for every input.
func require(_ holds: Bool, _ what: @autoclosure () -> String) {
    if !holds { fatalError("does not hold: \(what())") }
}

/// An input that is taken apart from its front.
struct FuzzInput {
    private(set) var rest: ArraySlice<UInt8>

    init(_ bytes: [UInt8]) { rest = bytes[...] }

    /// The next byte; 0 at the end.
    mutating func byte() -> UInt8 { rest.popFirst() ?? 0 }

    /// The next bytes, as many as the next two bytes say, or as there are.
    mutating func part() -> [UInt8] {
        let count = Int(byte()) | Int(byte()) << 8
        defer { rest = rest.dropFirst(count) }
        return Array(rest.prefix(count))
    }

    /// What is left.
    mutating func all() -> [UInt8] {
        defer { rest = [] }
        return Array(rest)
    }

    /// What `part` takes off again.
    static func part(_ bytes: [UInt8]) -> [UInt8] {
        [UInt8(truncatingIfNeeded: bytes.count), UInt8(truncatingIfNeeded: bytes.count >> 8)]
            + bytes
    }
}
