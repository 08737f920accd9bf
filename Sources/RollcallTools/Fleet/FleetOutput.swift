import Glibc
import RollcallCore
import RollcallStore
import RollcallSupport

/// The reason why a simulated history could not be left where it was wanted.
package enum FleetError: Error, CustomStringConvertible {
    case exists(path: String)
    case cannotWrite(path: String, errno: CInt)
    case store(path: String, StoreError)
    /// An option makes no sense.
    case wrongOption(String)
    /// The server that was aimed at does not take what is sent.
    case target(String)

    package var description: String {
        switch self {
        case .exists(let path):
            "\(ConsoleText.safe(path)) is there already: name a new file, or remove it"
        case .cannotWrite(let path, let code):
            "\(ConsoleText.safe(path)): cannot be written: \(String(cString: strerror(code)))"
        case .store(let path, let error): "\(ConsoleText.safe(path)): \(error)"
        case .wrongOption(let text), .target(let text): text
        }
    }

    /// 64 for wrong options and files that cannot be used, 69 for a server that does not answer.
    package var exitCode: CInt {
        if case .target = self { return 69 }
        return 64
    }
}

/// A new file that is written from beginning to end; `-` is standard output.
struct FleetOutput: ~Copyable {
    /// Bytes that are written at a time.
    private static let chunkBytes = 1 << 20

    private let path: String
    private let descriptor: CInt
    private(set) var bytesWritten = 0
    var buffer: [UInt8] = []

    /// Makes the file.
    /// - Throws: `FleetError.exists` for a file that holds something, `cannotWrite` if the system
    ///   refuses.
    init(path: String) throws(FleetError) {
        descriptor = try Self.make(path)
        self.path = path
    }

    private static func make(_ path: String) throws(FleetError) -> CInt {
        if path == "-" { return STDOUT_FILENO }
        var status = stat()
        if stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG {
            throw .exists(path: path)
        }
        let descriptor = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0o644)
        if descriptor < 0 { throw .cannotWrite(path: path, errno: errno) }
        return descriptor
    }

    deinit { if descriptor != STDOUT_FILENO { close(descriptor) } }

    /// Writes what waits once it is enough, or in any case at the end.
    /// - Throws: `FleetError.cannotWrite` if the system refuses.
    mutating func flush(isLast: Bool = false) throws(FleetError) {
        guard isLast || buffer.count >= Self.chunkBytes else { return }
        var failure: CInt = 0
        buffer.withUnsafeBytes { bytes in
            var at = 0
            while at < bytes.count, failure == 0 {
                let count = write(descriptor, bytes.baseAddress.map { $0 + at }, bytes.count - at)
                if count < 0, errno != EINTR { failure = errno }
                at += max(0, count)
            }
        }
        bytesWritten += buffer.count
        buffer.removeAll(keepingCapacity: true)
        if failure != 0 { throw .cannotWrite(path: path, errno: failure) }
    }
}

/// The truth about a fleet's silences, a line each, in the order of their beginnings.
package struct FleetTruth: ~Copyable {
    private var output: FleetOutput?
    private let clock: FleetClock
    /// Silences so far.
    package private(set) var count = 0
    /// The number of silences by cause.
    package private(set) var causes: [FleetCause: Int] = [:]
    /// Those that are not long over.
    private var recent: [FleetGap] = []

    /// A truth that is written to `path`, or only counted.
    /// - Throws: `FleetError` if the file cannot be made.
    package init(path: String?, clock: FleetClock = .own) throws(FleetError) {
        output = try path.map { (path) throws(FleetError) in try FleetOutput(path: path) }
        self.clock = clock
    }

    /// Takes what `stream` knows by now of silences that began before `limit`; if nothing follows,
    /// `isLast`, all of it.
    /// - Throws: `FleetError.cannotWrite` if the system refuses.
    package mutating func take(
        from stream: inout FleetStream, before limit: Timestamp = .distantFuture,
        isLast: Bool = false
    ) throws(FleetError) {
        let new = stream.takeGaps(before: limit, isLast: isLast)
        if new.isEmpty { return }
        recent.removeAll { [now = new[0].from] in $0.to < now }
        recent += new
        for gap in new {
            count += 1
            causes[gap.cause, default: 0] += 1
            guard output != nil else { continue }
            let text = Self.line(gap, stream, clock)
            output?.buffer += text.utf8
            try output?.flush()
        }
    }

    /// Returns the silences at an instant, as far as they were taken.
    package func silent(at now: Timestamp) -> [FleetGap] {
        recent.filter { $0.from <= now && now < $0.to }
    }

    /// Writes what is left.
    /// - Throws: `FleetError.cannotWrite` if the system refuses.
    package mutating func finish() throws(FleetError) { try output?.flush(isLast: true) }

    /// A silence as it stands in the file, with its line feed.
    package static func line(
        _ gap: FleetGap, _ stream: FleetStream, _ clock: FleetClock
    ) -> String {
        let person = stream.person(gap.person)
        func time(_ at: Timestamp) -> String {
            RFC3339.string(Timestamp(milliseconds: clock.written(at.milliseconds)))
        }
        return
            "{\"responder_id\":\"\(person.id)\",\"region\":\"\(stream.plan.regions[person.region])\""
            + ",\"platform\":\"\(person.platform.rawValue)\",\"cause\":\"\(gap.cause.rawValue)\""
            + ",\"from\":\"\(time(gap.from))\",\"to\":\"\(time(gap.to))\""
            + ",\"heals\":\(gap.cause.heals),\"told\":\(gap.isReported)}\n"
    }
}

/// The counts of a history that was written.
package struct FleetHistory: Sendable {
    package var lines = 0
    package var batches = 0
    package var gaps = 0
    /// Of the file; 0 for a store.
    package var bytes = 0
    package var causes: [FleetCause: Int] = [:]
}

/// A fleet's history as a file for `rollcall replay`.
package enum FleetFile {
    /// Lines between two looks at how far it is.
    private static let glance = 4096

    /// Writes the history of `settings` to `path`, and its truth. `policy` is a configuration as
    /// JSON that decides in a replay; nil for the defaults.
    /// - Throws: `FleetError` if a file is there, or cannot be written.
    package static func write(
        _ settings: FleetSettings, to path: String, truth: String?, policy: String? = nil,
        progress: inout ProgressLine
    ) throws(FleetError) -> FleetHistory {
        var output = try FleetOutput(path: path)
        var reported = try FleetTruth(path: truth)
        var stream = FleetStream(settings)
        var writer = FleetWriter(stream)
        var history = FleetHistory()
        writer.append(kind: "start", at: settings.start, to: &output.buffer)
        if let policy {
            let time = RFC3339.string(settings.start)
            output.buffer += "{\"at\":\"\(time)\",\"kind\":\"policy\",\"body\":\(policy)}\n".utf8
        }
        while let line = stream.line() {
            writer.append(line, to: &output.buffer)
            try output.flush()
            history.lines += 1
            history.batches += line.batchCount
            guard history.lines % glance == 0 else { continue }
            try reported.take(from: &stream)
            progress.update(
                done: (line.at - settings.start).count / FleetPlan.minute,
                note: "\(history.lines) lines")
        }
        writer.append(kind: "end", at: settings.end, to: &output.buffer)
        try output.flush(isLast: true)
        try reported.take(from: &stream)
        try reported.finish()
        progress.finish()
        history.lines += policy == nil ? 2 : 3
        history.bytes = output.bytesWritten
        history.gaps = reported.count
        history.causes = reported.causes
        return history
    }
}
