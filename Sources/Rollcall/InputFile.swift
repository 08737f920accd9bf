import Glibc
import RollcallCore

/// Files to be read.
package enum InputFile {
    /// Bytes read at a time.
    private static let chunkBytes = 1 << 20
    /// Bytes of a file that is read whole at most.
    private static let bytesMax = 4 << 20

    /// The text of the file at `path`, its first 4 MiB.
    static func text(_ path: String) throws(InputFileError) -> String {
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

    /// The settings in the file at `path`.
    package static func configuration(_ path: String) throws(InputFileError) -> Configuration {
        let text = try text(path)
        do throws(ConfigurationError) {
            return try Configuration(yaml: text)
        } catch {
            throw .wrongConfiguration(path: path, error)
        }
    }

    /// The next bytes; none at the end.
    static func chunk(_ descriptor: CInt, path: String) throws(InputFileError) -> [UInt8] {
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

/// Why a file could not be read and used.
package enum InputFileError: Error, CustomStringConvertible {
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
