import Glibc
import Testing

/// A directory that goes with its test. Without Foundation, as the journal itself.
final class TemporaryDirectory: Sendable {
    let path: String

    init(below folder: String = "/tmp") {
        var template = Array("\(folder)/rollcall-tests-XXXXXX".utf8CString)
        let made = mkdtemp(&template).flatMap { realpath($0, nil) }
        path = made.map { String(cString: $0) } ?? ""
        free(made)
        precondition(!path.isEmpty, "mkdtemp")
    }

    deinit {
        for name in names { unlink(path + "/" + name) }
        rmdir(path)
    }

    /// Where a store may be made.
    var store: String { path + "/rollcall.db" }

    /// The files in it.
    var names: [String] {
        guard let folder = opendir(path) else { return [] }
        defer { closedir(folder) }
        var names: [String] = []
        while let entry = readdir(folder) {
            let name = withUnsafeBytes(of: entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            if name != "." && name != ".." { names.append(name) }
        }
        return names
    }

    func size(_ name: String) -> Int {
        var status = stat()
        return stat(path + "/" + name, &status) == 0 ? Int(status.st_size) : -1
    }

    func bytes(_ name: String) -> [UInt8] {
        let file = open(path + "/" + name, O_RDONLY)
        defer { close(file) }
        return [UInt8](unsafeUninitializedCapacity: max(0, size(name))) { buffer, count in
            count = max(0, read(file, buffer.baseAddress, buffer.count))
        }
    }

    func write(_ name: String, _ text: String, mode: mode_t = 0o600) {
        write(name, Array(text.utf8), mode: mode)
    }

    func remove(_ name: String) { unlink(path + "/" + name) }

    func makeFIFO(_ name: String) { mkfifo(path + "/" + name, 0o600) }

    func copy(_ name: String, to other: TemporaryDirectory) {
        other.write(name, bytes(name))
    }

    func write(_ name: String, _ bytes: [UInt8], mode: mode_t = 0o600) {
        let file = open(path + "/" + name, O_WRONLY | O_CREAT | O_TRUNC, mode)
        defer { close(file) }
        fchmod(file, mode)
        #expect(Glibc.write(file, bytes, bytes.count) == bytes.count)
    }
}
