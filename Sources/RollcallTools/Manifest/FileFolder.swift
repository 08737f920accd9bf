import Glibc
import RollcallBasis
import RollcallSupport

/// A folder that a command writes files into. It is made if there is none.
struct FileFolder {
    let path: String
    /// True if files of the same names are replaced; else none is written where one has other content.
    var replaces = true

    /// Writes files, whose names may begin with one folder below, and returns their paths.
    /// - Throws: `InputFileError.cannotWriteFile` if the system does not take one, `unusable` if one is there
    ///   and must not be replaced.
    func write(_ files: [(name: String, text: String)]) throws(InputFileError) -> [String] {
        if !replaces { try checkUnchanged(files) }
        try make(path)
        return try files.map { (file) throws(InputFileError) in
            let path = path(of: file.name)
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

    private func path(of name: String) -> String {
        path + (path.hasSuffix("/") ? "" : "/") + name
    }

    private func checkUnchanged(_ files: [(name: String, text: String)]) throws(InputFileError) {
        let changed = files.filter { file in
            let path = path(of: file.name)
            guard access(path, F_OK) == 0 else { return false }
            return (try? InputFile.text(path, isAgain: true)) != file.text
        }
        guard let first = changed.first else { return }
        let others = changed.count == 1 ? "" : " (and \(changed.count - 1) more)"
        throw .unusable(
            path: path(of: first.name),
            "is there already with other content\(others), and nothing is overwritten: name another folder, "
                + "and compare the two")
    }

    private func make(_ folder: String) throws(InputFileError) {
        if mkdir(folder, 0o755) != 0, errno != EEXIST {
            throw .cannotWriteFile(path: folder, errno: errno)
        }
    }
}
