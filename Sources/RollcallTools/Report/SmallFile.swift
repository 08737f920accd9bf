import Glibc

/// Files of the system that are read whole.
enum SmallFile {
    private static let bytesMax = 256 << 10

    /// Returns the text of a file, or the system's error number.
    static func text(_ path: String) -> Result<String, SmallFileError> {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
        guard descriptor >= 0 else { return .failure(SmallFileError(number: errno)) }
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        var part = [UInt8](repeating: 0, count: 16 << 10)
        while bytes.count < bytesMax {
            let count = read(descriptor, &part, part.count)
            if count < 0 { return .failure(SmallFileError(number: errno)) }
            if count == 0 { break }
            bytes += part.prefix(count)
        }
        return .success(String(decoding: bytes, as: UTF8.self))
    }

    /// Returns the lines of a file; none if it cannot be read.
    static func lines(_ path: String) -> [String] {
        guard case .success(let text) = text(path) else { return [] }
        return text.split(separator: "\n").map(String.init)
    }

    /// Returns the first line of a file without blanks around it; nil if it cannot be read.
    static func line(_ path: String) -> String? {
        lines(path).first.map { $0.split(separator: " ").joined(separator: " ") }
    }

    /// Returns the names in a folder; nil if it cannot be read.
    static func names(in folder: String) -> [String]? {
        guard let stream = opendir(folder) else { return nil }
        defer { closedir(stream) }
        var names: [String] = []
        while let entry = readdir(stream) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names.sorted()
    }
}

/// The system's refusal of a file.
struct SmallFileError: Error, CustomStringConvertible {
    let number: CInt
    var description: String { String(cString: strerror(number)) }
}
