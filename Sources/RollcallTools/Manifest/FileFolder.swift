import Glibc
import RollcallBasis
import RollcallSupport

/// A folder that a command writes files into. It is made if there is none; files of the same names are replaced.
struct FileFolder {
    let path: String

    /// Writes files, whose names may begin with one folder below, and returns their paths.
    /// - Throws: `InputFileError.cannotWriteFile` if the system does not take one.
    func write(_ files: [(name: String, text: String)]) throws(InputFileError) -> [String] {
        try make(path)
        return try files.map { (file) throws(InputFileError) in
            let path = path + (path.hasSuffix("/") ? "" : "/") + file.name
            if let slash = file.name.lastIndex(of: "/") {
                try make(self.path + "/" + file.name[..<slash])
            }
            let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
            guard descriptor >= 0 else { throw .cannotWriteFile(path: path, errno: errno) }
            let failure = StandardOutput.write(Array(file.text.utf8), to: descriptor)
            let isClosed = close(descriptor) == 0
            guard failure == 0, isClosed else {
                throw .cannotWriteFile(path: path, errno: failure == 0 ? errno : failure)
            }
            return path
        }
    }

    private func make(_ folder: String) throws(InputFileError) {
        if mkdir(folder, 0o755) != 0, errno != EEXIST {
            throw .cannotWriteFile(path: folder, errno: errno)
        }
    }
}
