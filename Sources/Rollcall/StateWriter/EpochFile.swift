import Glibc
import RollcallCore
import RollcallStore
import RollcallSupport

/// A file beside the store that tells a store which was restored from an older copy, or has lost its
/// log: one that does not know of pushes that were sent (N2), or of turns that were acknowledged. It
/// also tells that there was a store at all, and by how much the wall stepped while we were down.
///
/// It is never newer than the store but when the store is a copy: it is written after the commit
/// that claims a push, and before that push goes out; and a turn is noted once it is durable. That
/// note is not: what it misses after a power cut it misses.
final class EpochFile {
    /// The content of the file.
    struct Page: Equatable, Sendable {
        /// The store's number.
        var store: UInt64
        /// Attempts to send a push that a commit of the store ever claimed.
        var claims: Int64
        /// The number of the last turn that was noted; 0 before the first.
        var turn: Int64 = 0
        var reading: Reading
    }

    /// The machine's clocks at one instant.
    struct Reading: Equatable, Sendable {
        var wall: Timestamp
        /// Milliseconds since the machine was started, suspended or not.
        var elapsed: Int64
        /// The id of that start; empty if the system does not tell.
        var boot: String
    }

    /// The lessons of the file for a start.
    struct Verdict: Equatable, Sendable {
        /// True if pushes may have gone out that the store does not know of.
        var isRestored = false
        /// True if it is the file of another store, which stood in this one's place.
        var isAnothers = false
        /// Turns that were noted and that the store does not have.
        var turnsLost: Int64 = 0
        /// By how much the wall stepped forward since; 0 if by little, or if that cannot be known.
        var step = Milliseconds(0)
    }

    /// More than it ever holds.
    private static let bytesMax = 1024

    let path: String
    /// Of the page that was written last; -1 for none.
    private var descriptor: CInt = -1

    /// The file of the store at `path`.
    init(storePath path: String) { self.path = path + ".epoch" }

    deinit {
        if descriptor >= 0 { close(descriptor) }
    }

    // MARK: - What it tells

    /// Returns what follows from a page, nil if there is none that can be read, for a store of
    /// number `store` that knows of so many claims, and whose last turn is `turn`. Of a copy that
    /// is started for the first time nobody else can tell what the store sent since.
    static func verdict(
        _ page: Page?, store: UInt64, claims: Int64, turn: Int64, isCopy: Bool = false,
        _ now: Reading
    ) -> Verdict {
        guard let page else { return Verdict(isRestored: claims > 0 || isCopy) }
        let isSame = page.store == store
        var verdict = Verdict(isRestored: !isSame || page.claims > claims || page.turn > turn)
        verdict.isAnothers = !isSame
        if isSame { verdict.turnsLost = max(0, page.turn - turn) }
        if page.reading.boot == now.boot, !now.boot.isEmpty {
            let step = (now.wall - page.reading.wall).count &- (now.elapsed &- page.reading.elapsed)
            if step > Nudging.stepMax.count { verdict.step = Milliseconds(step) }
        }
        return verdict
    }

    // MARK: - The file

    /// True if there is such a file, whatever is in it: there was a store.
    var isThere: Bool {
        var status = stat()
        return lstat(path, &status) == 0
    }

    /// Returns the page that it holds; nil if there is none, or it makes no sense.
    func page() -> Page? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        let bytes = [UInt8](unsafeUninitializedCapacity: Self.bytesMax) { buffer, count in
            count = max(0, read(descriptor, buffer.baseAddress, buffer.count))
        }
        return Page(text: String(decoding: bytes, as: UTF8.self))
    }

    /// Puts a page in its place, durable when it returns.
    /// - Throws: `StoreError.file` if the system does not open, write, sync or rename it.
    func write(_ page: Page) throws(StoreError) {
        let directory = try StoreDirectory(storePath: path)
        let new = path + ".new"
        let descriptor = open(
            new, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw .file(call: "open", path: new, errno: errno) }
        var isPut = false
        defer { if !isPut { close(descriptor) } }
        let bytes = Array(page.text.utf8)
        let written = Glibc.write(descriptor, bytes, bytes.count)
        guard written == bytes.count else {
            throw .file(call: "write", path: new, errno: written < 0 ? errno : ENOSPC)
        }
        guard fchmod(descriptor, 0o600) == 0, fsync(descriptor) == 0 else {
            throw .file(call: "fsync", path: new, errno: errno)
        }
        guard rename(new, path) == 0 else {
            throw .file(call: "rename", path: path, errno: errno)
        }
        isPut = true
        if self.descriptor >= 0 { close(self.descriptor) }
        self.descriptor = descriptor
        try directory.sync()
    }

    /// Notes a turn that is committed, in the place of the last one: that needs no space, and no
    /// sync, which would double the cost of a commit. An error is no news: the next page tells.
    func note(turn: Int64) {
        guard descriptor >= 0, turn > 0 else { return }
        var digits = [UInt8](repeating: UInt8(ascii: "0"), count: Page.turnDigits)
        var rest = turn
        for place in digits.indices.reversed() {
            digits[place] += UInt8(rest % 10)
            rest /= 10
        }
        _ = pwrite(descriptor, digits, digits.count, Page.turnOffset)
    }
}

extension EpochFile.Reading {
    /// The clocks as they were read, of this start of the machine.
    init(_ clock: ClockReading) {
        wall = clock.wall
        elapsed = clock.elapsed
        boot = Self.present
    }

    /// Read once: it does not change while we run.
    private static let present: String = {
        let descriptor = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return "" }
        defer { close(descriptor) }
        let bytes = [UInt8](unsafeUninitializedCapacity: 64) { buffer, count in
            count = max(0, read(descriptor, buffer.baseAddress, buffer.count))
        }
        return String(decoding: bytes.prefix { $0 > UInt8(ascii: " ") }, as: UTF8.self)
    }()
}

extension EpochFile.Page {
    /// The first line: what it is. The first version noted no turns.
    private static let title = "rollcall epoch 2"
    private static let titleOfVersion1 = "rollcall epoch 1"
    /// Of the greatest number.
    fileprivate static let turnDigits = 19
    /// The place at which its digits begin: the line stands second, so that nothing before it
    /// varies.
    fileprivate static let turnOffset = off_t(title.utf8.count + "\nturn ".utf8.count)

    /// As it stands in the file, a name and a value a line.
    var text: String {
        let digits = "\(max(0, turn))"
        let zeros = String(repeating: "0", count: Self.turnDigits - digits.count)
        return """
            \(Self.title)
            turn \(zeros)\(digits)
            store \(String(store, radix: 16))
            claims \(claims)
            wall_ms \(reading.wall.milliseconds)
            elapsed_ms \(reading.elapsed)
            boot \(reading.boot)

            """
    }

    /// The page of a text; nil if it makes no sense.
    init?(text: String) {
        var lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        var turn: Int64 = 0
        if lines.first == Self.title[...] {
            guard lines.count == 8, lines[1].utf8.count == 5 + Self.turnDigits,
                lines[1].hasPrefix("turn "), let noted = Int64(lines[1].dropFirst(5)), noted >= 0,
                lines[1].utf8.dropFirst(5).allSatisfy({ (0x30...0x39).contains($0) })
            else { return nil }
            turn = noted
            lines.remove(at: 1)
        } else if lines.first != Self.titleOfVersion1[...] {
            return nil
        }
        guard lines.count == 7, lines[6].isEmpty else { return nil }
        func value(_ place: Int, _ name: String) -> Substring? {
            lines[place].hasPrefix(name + " ") ? lines[place].dropFirst(name.utf8.count + 1) : nil
        }
        guard let store = value(1, "store").flatMap({ UInt64($0, radix: 16) }),
            let claims = value(2, "claims").flatMap({ Int64($0) }), claims >= 0,
            let wall = value(3, "wall_ms").flatMap({ Int64($0) }),
            let elapsed = value(4, "elapsed_ms").flatMap({ Int64($0) }),
            let boot = value(5, "boot"),
            (0...RFC3339.millisecondsMax).contains(wall),
            (0...RFC3339.millisecondsMax).contains(elapsed)
        else { return nil }
        self.init(
            store: store, claims: claims, turn: turn,
            reading: EpochFile.Reading(
                wall: Timestamp(milliseconds: wall), elapsed: elapsed, boot: String(boot)))
    }
}
