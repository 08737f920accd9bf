import Glibc
import RollcallCore

/// The lines of a replay, from a file or standard input.
package struct ReplayInput: ~Copyable {
    private let path: String
    private let descriptor: CInt
    /// Bytes of the file; nil if nobody knows before its end.
    package let byteCount: Int64?
    /// Bytes read so far.
    package private(set) var bytesRead: Int64 = 0
    private var buffer: [UInt8] = []
    /// Where the next line begins in it.
    private var start = 0
    private var isAtEnd = false

    /// Opens the file at `path`; `-` is standard input. Errors: `cannotRead`.
    package init(path: String) throws(InputFileError) {
        self.path = path
        descriptor = path == "-" ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC)
        if descriptor < 0 { throw .cannotRead(path: path, errno: errno) }
        var status = stat()
        let isFile = fstat(descriptor, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
        byteCount = isFile ? Int64(status.st_size) : nil
    }

    deinit { if descriptor != STDIN_FILENO { close(descriptor) } }

    /// The next line without its line feed; nil at the end. Errors: `cannotRead`.
    package mutating func next() throws(InputFileError) -> [UInt8]? {
        var searched = start
        while true {
            if let end = Self.lineFeed(in: buffer, from: searched) {
                defer { start = end + 1 }
                return Array(buffer[start..<end])
            }
            searched = buffer.count
            if isAtEnd {
                guard start < buffer.count else { return nil }
                defer { start = buffer.count }
                return Array(buffer[start...])
            }
            let chunk = try InputFile.chunk(descriptor, path: path)
            isAtEnd = chunk.isEmpty
            bytesRead += Int64(chunk.count)
            buffer.removeFirst(start)
            searched -= start
            start = 0
            buffer.append(contentsOf: chunk)
        }
    }

    private static func lineFeed(in bytes: [UInt8], from start: Int) -> Int? {
        bytes.withUnsafeBytes { buffer in
            guard start < buffer.count, let base = buffer.baseAddress,
                let found = memchr(base + start, 0x0A, buffer.count - start)
            else { return nil }
            return UnsafeRawPointer(found) - base
        }
    }
}
