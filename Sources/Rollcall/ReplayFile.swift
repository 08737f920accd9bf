import Glibc
import RollcallCore

/// A replay from a file to standard output.
package struct ReplayFile {
    /// Bytes printed at a time.
    private static let chunkBytes = 1 << 20

    private let path: String
    private let configurationPath: String?
    private let reportsUpdates: Bool

    /// A replay of the file at `path` (`-`: standard input) by the settings of the file at
    /// `configurationPath`, else by its own `policy` lines.
    package init(path: String, configurationPath: String?, reportsUpdates: Bool) {
        self.path = path
        self.configurationPath = configurationPath
        self.reportsUpdates = reportsUpdates
    }

    /// Reads, folds and prints until the file ends.
    ///
    /// Errors: `ReplayFileError` for files that cannot be read and lines that are wrong. What was
    /// decided before the wrong line has been printed by then.
    package func run() throws(ReplayFileError) {
        var replay = try makeReplay()
        let descriptor = path == "-" ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC)
        if descriptor < 0 { throw .cannotRead(path: path, errno: errno) }
        defer { if descriptor != STDIN_FILENO { close(descriptor) } }
        var rest: [UInt8] = []
        var output: [UInt8] = []
        while true {
            let chunk = try InputFile.chunk(descriptor, path: path)
            rest.append(contentsOf: chunk)
            var start = 0
            while let end = rest[start...].firstIndex(of: 0x0A) {
                try fold(Array(rest[start..<end]), &replay, &output)
                start = end + 1
            }
            rest.removeFirst(start)
            if chunk.isEmpty { break }
        }
        if !rest.isEmpty { try fold(rest, &replay, &output) }
        replay.finish(to: &output)
        try StandardOutput.write(&output)
    }

    private func fold(
        _ line: [UInt8], _ replay: inout Replay, _ output: inout [UInt8]
    ) throws(ReplayFileError) {
        do throws(ReplayError) {
            try replay.fold(line, to: &output)
        } catch {
            try StandardOutput.write(&output)
            throw .wrongLine(error)
        }
        if output.count > Self.chunkBytes { try StandardOutput.write(&output) }
    }

    private func makeReplay() throws(ReplayFileError) -> Replay {
        guard let configurationPath else {
            return Replay(policy: Policy(), reportsUpdates: reportsUpdates) { body in
                try Configuration(
                    yaml: String(decoding: body, as: UTF8.self),
                    ignoringSections: Configuration.laterSections
                ).policy
            }
        }
        let text = try InputFile.text(configurationPath)
        do throws(ConfigurationError) {
            return Replay(
                policy: try Configuration(yaml: text).policy, reportsUpdates: reportsUpdates)
        } catch {
            throw .wrongConfiguration(path: configurationPath, error)
        }
    }
}

/// Why a replay could not be run to its end.
package enum ReplayFileError: Error, CustomStringConvertible {
    case cannotRead(path: String, errno: CInt)
    case cannotWrite(errno: CInt)
    case wrongLine(ReplayError)
    case wrongConfiguration(path: String, ConfigurationError)

    package var description: String {
        switch self {
        case .cannotRead(let path, let code):
            "\(path): cannot be read: \(String(cString: strerror(code)))"
        case .cannotWrite(let code): "standard output: \(String(cString: strerror(code)))"
        case .wrongLine(let error): "line \(error.line): \(error.message)"
        case .wrongConfiguration(let path, let error): "\(path): \(error)"
        }
    }
}

/// Files to be read.
package enum InputFile {
    /// Bytes read at a time.
    private static let chunkBytes = 1 << 20
    /// Bytes of a file that is read whole at most.
    private static let bytesMax = 4 << 20

    /// The text of the file at `path`, its first 4 MiB.
    package static func text(_ path: String) throws(ReplayFileError) -> String {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        if descriptor < 0 { throw .cannotRead(path: path, errno: errno) }
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        while bytes.count < bytesMax {
            let chunk = try chunk(descriptor, path: path)
            if chunk.isEmpty { break }
            bytes.append(contentsOf: chunk)
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// The next bytes; none at the end.
    static func chunk(_ descriptor: CInt, path: String) throws(ReplayFileError) -> [UInt8] {
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

/// Standard output, written whole.
enum StandardOutput {
    /// Writes and empties `bytes`.
    static func write(_ bytes: inout [UInt8]) throws(ReplayFileError) {
        var failure: CInt = 0
        bytes.withUnsafeBytes { buffer in
            var at = 0
            while at < buffer.count, failure == 0 {
                let count = Glibc.write(
                    STDOUT_FILENO, buffer.baseAddress.map { $0 + at }, buffer.count - at)
                if count < 0 && errno != EINTR { failure = errno }
                at += max(0, count)
            }
        }
        bytes.removeAll(keepingCapacity: true)
        if failure != 0 { throw .cannotWrite(errno: failure) }
    }
}
