import Glibc

/// The server's process as the system tells of it: limits, memory, and what its threads do.
struct ReportProcess {
    /// Between the two looks at the threads.
    private static let lookEvery: UInt32 = 1_000_000
    private static let threadsMax = 256

    let number: Int
    private var folder: String { "/proc/\(number)" }

    /// Lines about it; one that says why there are none.
    func say(_ lines: ReportLines) {
        switch SmallFile.text("\(folder)/comm") {
        case .failure(let error):
            lines.say("not had: process \(number) cannot be looked at: \(error)")
            return
        case .success(let name) where !name.contains("rollcall"):
            lines.say("not had: process \(number) is another program by now")
            return
        case .success: lines.say("process: \(number)")
        }
        for line in SmallFile.lines("\(folder)/status") where Self.isShown(line) {
            lines.say(line.split { $0 == "\t" || $0 == " " }.joined(separator: " "))
        }
        for line in SmallFile.lines("\(folder)/limits").dropFirst() {
            lines.say("limit: \(line.split(separator: " ").joined(separator: " "))")
        }
        let open = SmallFile.names(in: "\(folder)/fd")?.count
        lines.say("open descriptors: \(open.map { "\($0)" } ?? "not permitted")")
        for name in ["oom_score", "oom_score_adj"] {
            if let line = SmallFile.line("\(folder)/\(name)") { lines.say("\(name): \(line)") }
        }
        for line in SmallFile.lines("\(folder)/io") { lines.say("io: \(line)") }
        ReportMachine.sayGroup(of: "\(folder)/cgroup", lines)
        sayThreads(lines)
    }

    private static func isShown(_ line: String) -> Bool {
        [
            "State", "VmPeak", "VmSize", "VmHWM", "VmRSS", "RssAnon", "RssFile", "VmSwap",
            "Threads",
            "NoNewPrivs", "Seccomp", "SigQ", "voluntary_ctxt", "nonvoluntary_ctxt", "TracerPid",
        ].contains { line.hasPrefix($0) }
    }

    // MARK: - Threads

    /// A look at a thread.
    private struct Look {
        var name: String
        var state: String
        /// Ticks of the processor, for itself and in the system.
        var own: Int64
        var system: Int64
        var processor: String
        var waitsIn: String
    }

    private func sayThreads(_ lines: ReportLines) {
        guard let before = looks() else { return lines.say("not had: its threads may not be read") }
        usleep(Self.lookEvery)
        guard let after = looks() else { return lines.say("not had: its threads may not be read") }
        let ticks = max(1, sysconf(CInt(_SC_CLK_TCK)))
        lines.say("threads, twice, a second apart: number, name, state, processor, busy, waits in")
        for (number, look) in after.sorted(by: { $0.key < $1.key }) {
            let first = before[number]
            let busy = (look.own + look.system - (first?.own ?? 0) - (first?.system ?? 0)) * 100
            lines.say(
                "\(number) \(look.name) \(first?.state ?? "-")\(look.state) cpu\(look.processor) "
                    + "\(first == nil ? "new" : "\(busy / Int64(ticks)) %") "
                    + "\(first?.waitsIn ?? "-") \(look.waitsIn)")
        }
        for number in before.keys.sorted() where after[number] == nil {
            lines.say("\(number) ended meanwhile")
        }
    }

    private func looks() -> [Int: Look]? {
        guard let names = SmallFile.names(in: "\(folder)/task"), !names.isEmpty else { return nil }
        var looks: [Int: Look] = [:]
        for name in names.prefix(Self.threadsMax) {
            guard let number = Int(name), let look = look("\(folder)/task/\(name)") else {
                continue
            }
            looks[number] = look
        }
        return looks
    }

    private func look(_ folder: String) -> Look? {
        // "(2) comm: The filename of the executable, in parentheses", which may hold any of them.
        guard let stat = SmallFile.line("\(folder)/stat"), let open = stat.firstIndex(of: "("),
            let close = stat.lastIndex(of: ")")
        else { return nil }
        let fields = stat[stat.index(after: close)...].split(separator: " ").map(String.init)
        guard fields.count > 36 else { return nil }
        let name = stat[stat.index(after: open)..<close].filter { $0.isASCII && !$0.isWhitespace }
        let waits = SmallFile.line("\(folder)/wchan") ?? ""
        return Look(
            name: String(name.prefix(15)), state: fields[0], own: Int64(fields[11]) ?? 0,
            system: Int64(fields[12]) ?? 0, processor: fields[36],
            waitsIn: waits.isEmpty || waits == "0" ? "-" : String(waits.prefix(40)))
    }
}
