import Glibc
import RollcallBasis
import RollcallCore
import RollcallStore
import RollcallSupport

/// An export from a store to a file or to standard output.
package struct ExportFile {
    /// The options: what is exported, and to where.
    package struct Options {
        /// The store; nil for what the environment says, else `./rollcall.db`.
        package var path: String?
        /// From when, and up to when: spans or times.
        package var since: String?
        package var until: String?
        /// The file; nil for standard output.
        package var output: String?

        package init() {}
    }

    private let path: String
    private let since: Timestamp?
    private let until: Timestamp?
    private let output: String?

    /// Reads the options; spans end now. Throws `QuestionError.wrongOption` if one is no time, or
    /// they end before they begin.
    package init(_ options: Options) throws(QuestionError) {
        let now = ClockReading.now().wall
        path =
            options.path ?? SettingsSource.environment["ROLLCALL_STORAGE_PATH"]
            ?? Configuration().storagePath
        output = options.output == "-" ? nil : options.output
        since = try GapQuestion.instant("--since", options.since, now)
        until = try GapQuestion.instant("--until", options.until, now)
        if let since, let until, since >= until {
            throw .wrongOption("--until: must be later than --since")
        }
    }

    /// Reads the store and writes the lines; `say` is given what a person may want to know.
    ///
    /// A file takes its name once all of it is written: what is cut off leaves none.
    /// - Throws: `InputFileError` if the store cannot be exported, or the file not written.
    package func run(say: (String) -> Void) throws(InputFileError) {
        var export = try Self.opened(path, since, until)
        if let note = export.note { say(note) }
        var progress = ProgressLine(total: export.turnCount, unit: "turns")
        defer { progress.finish() }
        var target = try ExportTarget(path: output)
        while true {
            let chunk = try Self.chunk(&export)
            if chunk.isEmpty { break }
            try target.write(chunk)
            progress.update(done: export.turnsDone)
        }
        try target.finish()
    }

    private static func opened(
        _ path: String, _ since: Timestamp?, _ until: Timestamp?
    ) throws(InputFileError) -> StoreExport {
        do throws(ExportError) {
            return try StoreExport(path: path, since: since, until: until)
        } catch {
            throw .export(error)
        }
    }

    private static func chunk(_ export: inout StoreExport) throws(InputFileError) -> [UInt8] {
        do throws(ExportError) { return try export.chunk() } catch { throw .export(error) }
    }
}

/// The place that an export is written to: a file that gets its name at the end, or standard
/// output.
private struct ExportTarget: ~Copyable {
    private let path: String
    /// The name of it until it is whole; nil for what is no regular file.
    private let partial: String?
    private let descriptor: CInt
    private var isDone = false

    /// Opens the file at `path`; nil is standard output.
    /// - Throws: `InputFileError` if it cannot be opened.
    init(path: String?) throws(InputFileError) {
        guard let path else {
            (self.path, partial, descriptor) = ("standard output", nil, STDOUT_FILENO)
            return
        }
        var status = stat()
        let isThere = stat(path, &status) == 0
        let isFile = !isThere || status.st_mode & S_IFMT == S_IFREG
        let name = isFile ? path + ".partial" : path
        // It holds ids of people: for its owner alone, as the store is.
        let flags = O_WRONLY | O_CLOEXEC | (isFile ? O_CREAT | O_TRUNC : 0)
        let descriptor = open(name, flags, 0o600)
        if descriptor < 0 { throw .cannotWriteFile(path: name, errno: errno) }
        (self.path, partial, self.descriptor) = (path, isFile ? name : nil, descriptor)
    }

    deinit {
        if descriptor != STDOUT_FILENO { close(descriptor) }
        if let partial, !isDone { unlink(partial) }
    }

    mutating func write(_ bytes: [UInt8]) throws(InputFileError) {
        let failure = StandardOutput.write(bytes, to: descriptor)
        if failure != 0 { throw .cannotWriteFile(path: path, errno: failure) }
    }

    mutating func finish() throws(InputFileError) {
        guard let partial else { return }
        if fsync(descriptor) != 0 || rename(partial, path) != 0 {
            throw .cannotWriteFile(path: path, errno: errno)
        }
        isDone = true
        // A name is durable once its directory is.
        do throws(StoreError) {
            try StoreDirectory(storePath: path).sync()
        } catch {
            throw .cannotWriteFile(path: path, errno: errno)
        }
    }
}
