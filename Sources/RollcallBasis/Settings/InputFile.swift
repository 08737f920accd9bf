import Glibc
import RollcallCore
import RollcallStore

/// Files to be read.
package enum InputFile {
    /// Bytes read at a time.
    private static let chunkBytes = 1 << 20
    /// Bytes of a file that is read whole at most.
    private static let bytesMax = 4 << 20

    /// Returns the text of the file at `path`; `-` is standard input.
    ///
    /// `isAgain` tells that it was read before and that a running server depends on it: then only a
    /// regular file will do, which never makes anybody wait, and one that is not just being written.
    /// - Throws: `InputFileError` if it cannot be read, is too large or not UTF-8, or, if
    ///   `isAgain`, is no regular file, empty, or changes meanwhile.
    package static func text(_ path: String, isAgain: Bool = false) throws(InputFileError) -> String
    {
        let more = isAgain ? O_NONBLOCK : 0
        let descriptor = path == "-" ? dup(STDIN_FILENO) : open(path, O_RDONLY | O_CLOEXEC | more)
        if descriptor < 0 { throw .cannotRead(path: path, errno: errno) }
        defer { close(descriptor) }
        let before = isAgain ? try regular(descriptor, path) : nil
        var bytes: [UInt8] = []
        while bytes.count <= bytesMax {
            let chunk = try chunk(descriptor, path: path)
            if chunk.isEmpty { break }
            bytes.append(contentsOf: chunk)
        }
        guard bytes.count <= bytesMax else {
            throw .unusable(path: path, "larger than \(bytesMax >> 20) MiB")
        }
        if let before {
            let after = try regular(descriptor, path)
            guard before.st_mtim.tv_sec == after.st_mtim.tv_sec,
                before.st_mtim.tv_nsec == after.st_mtim.tv_nsec, Int64(bytes.count) == after.st_size
            else {
                throw .unusable(path: path, "it changed while it was read")
            }
        }
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw .unusable(path: path, "not UTF-8")
        }
        return text
    }

    /// True if every user of this machine can read the file at `path`.
    static func isOpenToAll(_ path: String) -> Bool {
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & S_IROTH != 0
    }

    /// Returns what the system knows of a file that can be read as often as one likes.
    /// - Throws: `InputFileError` if it is no regular file, or empty.
    private static func regular(
        _ descriptor: CInt, _ path: String
    ) throws(InputFileError) -> stat {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw .cannotRead(path: path, errno: errno) }
        guard path != "-", status.st_mode & S_IFMT == S_IFREG else {
            throw .unusable(path: path, "no regular file cannot be read again: restart")
        }
        guard status.st_size > 0 else {
            throw .unusable(path: path, "empty: is it being written?")
        }
        return status
    }

    /// Returns the settings in the file at `path` and nothing else: no variables, no secrets (a
    /// replay decides by its input alone).
    /// - Throws: `InputFileError` if it cannot be read, or its settings are wrong.
    package static func configuration(_ path: String) throws(InputFileError) -> Configuration {
        let text = try text(path)
        do throws(ConfigurationError) {
            return try Configuration(yaml: text)
        } catch {
            throw .wrongConfiguration(path: path, error)
        }
    }

    /// Returns the next bytes; none at the end.
    /// - Throws: `InputFileError.cannotRead` if the system does not read them.
    package static func chunk(_ descriptor: CInt, path: String) throws(InputFileError) -> [UInt8] {
        var failure: CInt = 0
        let chunk = [UInt8](unsafeUninitializedCapacity: chunkBytes) { buffer, count in
            let got = read(descriptor, buffer.baseAddress, buffer.count)
            failure = got < 0 ? errno : 0
            count = max(0, got)
        }
        if failure != 0 { throw .cannotRead(path: path, errno: failure) }
        return chunk
    }
}

/// The reason why a file could not be read and used.
package enum InputFileError: Error, CustomStringConvertible {
    case cannotRead(path: String, errno: CInt)
    /// It can be read and is still not what was asked for.
    case unusable(path: String, String)
    case cannotWrite(errno: CInt)
    case cannotWriteFile(path: String, errno: CInt)
    /// A store, where lines were to be read from one.
    case export(ExportError)
    case wrongLine(ReplayError)
    /// `path` is nil where there is no file but flags and variables.
    case wrongConfiguration(path: String?, ConfigurationError)

    /// The exit code: 75 if the same works a little later (sysexits.h EX_TEMPFAIL), else 64.
    package var exitCode: CInt {
        if case .export(let error) = self, error.isTemporary { 75 } else { 64 }
    }

    /// The description in one line, for logs and answers.
    package var sentence: String {
        description.split(separator: "\n").joined(separator: "; ")
    }

    private static func line(_ path: String?, _ error: ConfigurationError) -> String {
        guard let path, error.origin.rank == 0 else { return "\(error)" }
        return "\(path == "-" ? "standard input" : path): \(error)"
    }

    package var description: String {
        switch self {
        case .cannotRead(let path, let code):
            "\(path): cannot be read: \(String(cString: strerror(code)))"
        case .unusable(let path, let reason):
            "\(path == "-" ? "standard input" : path): \(reason)"
        case .cannotWrite(let code): "standard output: \(String(cString: strerror(code)))"
        case .cannotWriteFile(let path, let code):
            "\(path): cannot be written: \(String(cString: strerror(code)))"
        case .export(let error): "\(error)"
        case .wrongLine(let error): "line \(error.line): \(error.message)"
        case .wrongConfiguration(let path, let error):
            error.all.map { Self.line(path, $0) }.joined(separator: "\n")
        }
    }
}
