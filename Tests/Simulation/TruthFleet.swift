import Glibc
import RollcallCore

/// A seeded day of a fleet: its truth, and what Rollcall hears of it.
struct TruthFleet: Sendable {
    let plan: TruthPlan
    /// The day for `rollcall replay`, in time order.
    let lines: [String]

    /// Draws the truth of `seed` and lets the phones live it.
    init(seed: UInt64) {
        plan = TruthPlan(seed: seed)
        var told: [(at: Int64, text: String)] = []
        for (number, person) in plan.people.enumerated() {
            var phone = TruthPhone(person, seed: (seed << 16) ^ UInt64(number))
            phone.live()
            told += phone.lines
        }
        let order = told.indices.sorted { (told[$0].at, $0) < (told[$1].at, $1) }
        lines = order.map { told[$0].text }
    }

    /// Folds the day by the engine, as `rollcall replay` would; what it printed. Errors: the line
    /// that it cannot read.
    func decide() throws(ReplayError) -> [Substring] {
        var replay = Replay(policy: Policy())
        var output: [UInt8] = []
        for line in lines { try replay.fold(Array(line.utf8), to: &output) }
        replay.finish(to: &output)
        return String(decoding: output, as: UTF8.self).split(separator: "\n")
    }

    // MARK: - For people

    /// The truth as text: a line for each silence, by responder and time.
    func truth() -> String {
        var text = "The truth of seed \(plan.seed): who was silent when, and why. Times are UTC.\n"
        text += "Of 1000 silences, by our estimate:\n"
        for (cause, perMille, why) in TruthCause.drawn {
            text += "  \(perMille) \(cause.rawValue): \(why)\n"
        }
        for outage in plan.outages {
            text += "outage in \(outage.region), \(clock(outage.begin)) to \(clock(outage.end)), "
            text += "for \(outage.perMille / 10) % of the phones\n"
        }
        for person in plan.people {
            text += "\(person.id) in \(person.region), \(person.platform)"
            text += ", \(person.app.rawValue) app"
            if abs(person.clockOffset) > 2000 {
                text += ", its clock is off by \(person.clockOffset / 1000) s"
            }
            text += "\n"
            for episode in person.episodes { text += "  " + sentence(episode) + "\n" }
        }
        return text
    }

    private func sentence(_ episode: TruthEpisode) -> String {
        var text = "\(clock(episode.begin)) to \(clock(episode.end)) \(episode.cause.rawValue)"
        if episode.twist != .plain { text += ", \(episode.twist.rawValue)" }
        if !episode.isTold { text += ", without a sign" }
        if episode.endsByDuty { text += ", until off duty" }
        return text
    }

    /// Writes the day to `path` and its truth beside it; false if that fails.
    func write(to path: String) -> Bool {
        let day = lines.joined(separator: "\n") + "\n"
        return put(day, path) && put(truth(), path + ".truth.txt")
    }

    private func clock(_ at: Int64) -> String {
        String(JSON.time(at).dropFirst(12).prefix(8))
    }

    private func put(_ text: String, _ path: String) -> Bool {
        let file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0o644)
        guard file >= 0 else { return false }
        let bytes = Array(text.utf8)
        let written = bytes.withUnsafeBytes { buffer in
            var done = 0
            while done < buffer.count {
                let count = Glibc.write(
                    file, buffer.baseAddress.map { $0 + done }, buffer.count - done)
                if count <= 0 { break }
                done += count
            }
            return done
        }
        return close(file) == 0 && written == bytes.count
    }
}
