import Glibc
import RollcallCore

/// A day of a fleet as a file: each phone reports once a minute, and some fall silent.
struct TuneDay {
    /// 2026-11-21T00:00:00Z
    private static let zero: Int64 = 1_795_219_200_000
    private static let chunkBytes = 1 << 20

    /// People.
    let people: Int
    /// Minutes that it lasts.
    let minutes: Int

    /// When each of them is back, in minutes; up to then they are silent.
    private var backAt: [Int32]
    /// The next sequence of each.
    private var sequences: [Int64]
    private var random: UInt64 = 0x2545_F491_4F6C_DD1D
    /// Lines so far.
    private(set) var lines = 0

    /// A day of so many people.
    init(people: Int, minutes: Int) {
        self.people = people
        self.minutes = minutes
        backAt = [Int32](repeating: 0, count: people)
        sequences = [Int64](repeating: 1, count: people)
    }

    /// Writes it to the file at `path`; returns its bytes.
    mutating func write(to path: String) throws(BenchmarkError) -> Int {
        let file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw .system(call: "open \(path)", errno: errno) }
        defer { close(file) }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(Self.chunkBytes + 1024)
        var written = 0
        for minute in 0..<minutes {
            for person in 0..<people where reports(person, Int32(minute)) {
                append(person, minute, to: &bytes)
                if bytes.count >= Self.chunkBytes { written += try flush(&bytes, file, path) }
            }
        }
        bytes += Array("{\"at\":\(Self.zero + Int64(minutes) * 60_000),\"kind\":\"end\"}\n".utf8)
        lines += 1
        return try written + flush(&bytes, file, path)
    }

    /// Every fourth hour somebody falls silent: mostly for a few minutes, now and then for long.
    private mutating func reports(_ person: Int, _ minute: Int32) -> Bool {
        if backAt[person] > minute { return false }
        let number = next()
        guard number % 240 == 0, minute > 0 else { return true }
        let isLong = number / 240 % 5 == 0
        backAt[person] =
            minute + (isLong ? 10 + Int32(number / 1200 % 50) : 1 + Int32(number / 1200 % 4))
        return false
    }

    private mutating func next() -> UInt64 {
        random ^= random << 13
        random ^= random >> 7
        random ^= random << 17
        return random >> 8
    }

    private mutating func append(_ person: Int, _ minute: Int, to bytes: inout [UInt8]) {
        let at = Self.zero + Int64(minute) * 60_000 + Int64(person) * 60_000 / Int64(people)
        JSONWriter.raw("{\"at\":", to: &bytes)
        JSONWriter.integer(at, to: &bytes)
        JSONWriter.raw(",\"kind\":\"batch\",\"body\":{\"responder_id\":\"r-", to: &bytes)
        JSONWriter.integer(Int64(person), to: &bytes)
        JSONWriter.raw("\",\"duty_state\":\"ON_DUTY\",\"region\":\"region-", to: &bytes)
        JSONWriter.integer(Int64(person % 20), to: &bytes)
        JSONWriter.raw("\",\"platform\":", to: &bytes)
        JSONWriter.raw(person % 2 == 0 ? "\"ios\"" : "\"android\"", to: &bytes)
        JSONWriter.raw(
            ",\"telemetry\":{\"app_state\":\"background\",\"network_type\":\"cellular\"}",
            to: &bytes)
        JSONWriter.raw(",\"updates\":[{\"sequence\":", to: &bytes)
        JSONWriter.integer(sequences[person], to: &bytes)
        sequences[person] += 1
        JSONWriter.raw(",\"captured_at\":", to: &bytes)
        JSONWriter.integer(at - 2000, to: &bytes)
        JSONWriter.raw("}]}}\n", to: &bytes)
        lines += 1
    }

    private func flush(
        _ bytes: inout [UInt8], _ file: Int32, _ path: String
    ) throws(BenchmarkError) -> Int {
        var at = 0
        while at < bytes.count {
            let count = bytes[at...].withUnsafeBytes { Glibc.write(file, $0.baseAddress, $0.count) }
            if count < 0 && errno != EINTR { throw .system(call: "write \(path)", errno: errno) }
            at += max(0, count)
        }
        defer { bytes.removeAll(keepingCapacity: true) }
        return bytes.count
    }
}
