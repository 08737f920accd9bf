import Glibc

/// The reason why a store cannot be exported, or not now.
package enum ExportError: Error, Equatable, CustomStringConvertible {
    /// It cannot be read.
    case store(StoreError)
    /// The system does not let us read the file, or there is none.
    case unreadable(path: String, errno: CInt)
    /// Its tables are those of an older version.
    case older(path: String, version: Int64)
    /// Nothing of it can be read without writing beside it.
    case needsRecovery(path: String)
    /// It holds no turn, or none in the time that is asked for.
    case nothing(path: String, String)
    /// It contradicts itself.
    case damaged(path: String, String)
    /// Somebody is being erased: what is to go is still there.
    case erasing(path: String, people: Int64)
    /// Somebody was erased while it was read.
    case erased(path: String)
    /// Retention took away what was to be read next.
    case cut(path: String, turn: Int64)

    /// True if the same works a little later.
    package var isTemporary: Bool {
        switch self {
        case .erasing, .erased, .cut: true
        case .store(let error):
            if case .recoverable(.busy) = error.disposition { true } else { false }
        default: false
        }
    }

    package var description: String {
        switch self {
        case .store(let error): "\(error)"
        case .unreadable(let path, let code):
            "\(path): cannot be read: \(String(cString: strerror(code)))"
        case .older(let path, let version):
            "\(path) is a store of version \(version), this rollcall reads \(JournalSchema.version): "
                + "start `rollcall serve` once on it"
        case .needsRecovery(let path):
            "\(path): its log has to be read first, and nothing can be written beside it: start "
                + "`rollcall serve` once on it, or copy it with its -wal file to where you may write"
        case .nothing(let path, let what): "\(path): \(what)"
        case .damaged(let path, let what): "\(path): damaged: \(what)"
        case .erasing(let path, let people):
            "\(path): \(people == 1 ? "somebody is" : "\(people) people are") being erased, and what "
                + "is to go is still there: try again in some minutes (a stopped server must run for it)"
        case .erased(let path):
            "\(path): somebody was erased while it was read: try again in some minutes"
        case .cut(let path, let turn):
            "\(path): retention took turn \(turn) away while it was to be read: try again, or begin "
                + "later with --since"
        }
    }
}
