import Glibc

/// The reason why a store was not backed up, or not now.
package enum BackupError: Error, CustomStringConvertible {
    /// The file that is to be made is there.
    case exists(path: String)
    /// Another backup to the same file goes on.
    case busy(path: String)
    /// The store is being written, for longer than we wait, or again and again.
    case moving(path: String)
    /// The system refused a call.
    case file(call: String, path: String, errno: CInt)
    /// The store is of another version, or none.
    case unusable(path: String, String)
    /// The copy is not whole, so neither is the store.
    case damaged(path: String, String)

    /// 75 if the same works a little later (sysexits.h EX_TEMPFAIL), 1 if the store is damaged, else
    /// 64.
    package var exitCode: CInt {
        switch self {
        case .busy, .moving: 75
        case .damaged: 1
        case .exists, .file, .unusable: 64
        }
    }

    package var description: String {
        switch self {
        case .exists(let path): "\(path): is there already; a backup overwrites nothing"
        case .busy(let path): "\(path): another backup is being written there"
        case .moving(let path): "\(path): was being written the whole time: try again"
        case .file(let call, let path, let code):
            "\(path): \(call): \(String(cString: strerror(code)))"
        case .unusable(let path, let what): "\(path): \(what)"
        case .damaged(let path, let what):
            "\(path): the store is damaged, nothing was kept of its copy: \(what)"
        }
    }
}
