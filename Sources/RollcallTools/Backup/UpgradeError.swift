import Glibc
import RollcallStore

/// The reason why a store was not looked at, brought up to date or put back. It is as it was.
package enum UpgradeError: Error, CustomStringConvertible {
    /// There is no store that could be.
    case unusable(path: String, String)
    /// The store says no.
    case store(StoreError)
    /// There is no copy to go back to.
    case noCopy(path: String)
    /// Somebody was erased since the copy was made.
    case erased(path: String, people: Int)
    /// It cannot be read who is being erased.
    case unread(path: String)
    /// The copy is not what was kept.
    case damagedCopy(path: String, String)
    /// Somebody reads the store that is to give way.
    case isRead(path: String)
    /// There is no room for the copy.
    case noRoom(String)
    /// The system refused a call.
    case file(call: String, path: String, errno: CInt)

    /// 1 if the store or the disk says no, else 64.
    package var exitCode: CInt {
        switch self {
        case .store, .erased, .unread, .damagedCopy, .isRead, .noRoom, .file: 1
        case .unusable, .noCopy: 64
        }
    }

    package var description: String {
        switch self {
        case .unusable(let path, let what): "\(path): \(what)"
        case .store(let error): "\(error)"
        case .noCopy(let path):
            "\(path): no copy of an older version stands beside it. One is kept when a newer version "
                + "brings the store up to date, for 7 days or until somebody is erased. A backup from "
                + "before the upgrade takes the store's place by hand"
        case .erased(let path, let people):
            "\(path): \(people) people were erased since the copy was made, or are being erased, and are "
                + "in it: it is not put back, and goes with the next start of this version"
        case .unread(let path):
            "\(path): it cannot be read who is being erased, and would be there again: --yes --unread goes "
                + "back all the same"
        case .damagedCopy(let path, let what):
            "\(path): the copy is damaged, and is not put back: \(what). A backup from before the upgrade "
                + "takes the store's place by hand"
        case .isRead(let path):
            "\(path) is read by somebody else, so that its log cannot be moved into it: end what reads it, "
                + "then say it again"
        case .noRoom(let words): words
        case .file(let call, let path, let number):
            "\(path): \(call): \(String(cString: strerror(number)))"
        }
    }
}
