import Glibc
import RollcallBasis
import RollcallCore
import RollcallSupport

/// The file that a report is written to: for its owner alone, and no other one is overwritten.
package enum ReportFile {
    /// Its name if nobody gave one.
    package static func name(at now: Timestamp) -> String {
        let digits = RFC3339.string(now).prefix(19).filter { $0 != "-" && $0 != ":" }
        return "rollcall-report-\(digits)Z.txt"
    }

    /// Writes it, durably.
    /// - Throws: `ReportFileError` if there is such a file, or the system refuses.
    package static func write(_ text: String, to path: String) throws(ReportFileError) {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw ReportFileError(path: path, number: errno) }
        defer { close(descriptor) }
        var failure = StandardOutput.write(Array(text.utf8), to: descriptor)
        if failure == 0, fsync(descriptor) != 0 { failure = errno }
        guard failure == 0 else {
            unlink(path)
            throw ReportFileError(path: path, number: failure)
        }
    }
}

/// The reason why a report was not written.
package struct ReportFileError: Error, CustomStringConvertible {
    let path: String
    let number: CInt

    /// 64 if the file is there or cannot be made, 74 if the disk does not take it.
    package var exitCode: CInt { [ENOSPC, EDQUOT, EIO, EFBIG].contains(number) ? 74 : 64 }

    package var description: String {
        number == EEXIST
            ? "\(path): is there already; a report overwrites nothing"
            : "\(path): \(String(cString: strerror(number))); --output names another file, - is standard output"
    }
}
