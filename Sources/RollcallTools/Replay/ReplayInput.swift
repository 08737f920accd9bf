import Glibc
import RollcallBasis
import RollcallCore
import RollcallStore

/// The lines of a replay, from a file, standard input or a store, which is read as `rollcall export`
/// writes it.
package struct ReplayInput: ~Copyable {
    private let path: String
    /// -1 for a store.
    private let descriptor: CInt
    private var export: StoreExport?
    /// Bytes of the file; nil if nobody knows before its end. Of a store, its size.
    package let byteCount: Int64?
    /// Bytes read so far. Of a store, the part of its size that its turns read so far are of all.
    package private(set) var bytesRead: Int64 = 0
    private var buffer: [UInt8] = []
    /// The place at which the next line begins in it.
    private var start = 0
    private var isAtEnd = false

    /// Opens the file at `path`; `-` is standard input. `since` is where a store's lines begin, as
    /// `rollcall export` has it; `mindsErasures` is as in `StoreExport`.
    /// - Throws: `InputFileError.cannotRead` if the system does not open it, `export` if the store
    ///   cannot be exported.
    package init(
        path: String, since: Timestamp? = nil, mindsErasures: Bool = true
    ) throws(InputFileError) {
        self.path = path
        if path != "-", ExportReader.isDatabase(path) {
            descriptor = -1
            do throws(ExportError) {
                let export = try StoreExport(
                    path: path, since: since, mindsErasures: mindsErasures)
                byteCount = try export.byteCount()
                self.export = export
            } catch {
                throw .export(error)
            }
            return
        }
        descriptor = path == "-" ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC)
        if descriptor < 0 { throw .cannotRead(path: path, errno: errno) }
        var status = stat()
        let isFile = fstat(descriptor, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
        byteCount = isFile ? Int64(status.st_size) : nil
    }

    deinit { if descriptor > STDIN_FILENO { close(descriptor) } }

    /// Returns the next line without its line feed; nil at the end.
    /// - Throws: `InputFileError.cannotRead` if the system does not read it, `export` if the store
    ///   cannot be exported.
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
            let chunk = try chunk()
            isAtEnd = chunk.isEmpty
            searched -= start
            if start > 0 { buffer.removeFirst(start) }
            start = 0
            buffer.append(contentsOf: chunk)
        }
    }

    /// Returns the next bytes; none at the end.
    /// - Throws: `InputFileError.cannotRead` if the system does not read them, `export` if the
    ///   store cannot be exported.
    private mutating func chunk() throws(InputFileError) -> [UInt8] {
        guard export != nil else {
            let chunk = try InputFile.chunk(descriptor, path: path)
            bytesRead += Int64(chunk.count)
            return chunk
        }
        do throws(ExportError) {
            let chunk = try export?.chunk() ?? []
            bytesRead = Int64(Double(byteCount ?? 0) * (export?.progress ?? 1))
            return chunk
        } catch {
            throw .export(error)
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
