import RollcallSupport
import Synchronization

/// Work that may hang, on a thread of its own: a disk, a library or a server may never answer, and a
/// report is made all the same.
enum BoundedWait {
    /// Returns what `work` returns within so many seconds; nil if it does not, or there is no thread.
    static func value<Value: Sendable>(
        seconds: Int, _ work: @escaping @Sendable () -> Value
    ) -> Value? {
        let answers = Mailbox<Value>()
        guard DetachedThread.start(stackBytes: 8 << 20, { answers.put(work()) }) else { return nil }
        return answers.takeAll(waiting: Int64(seconds) * 1000).first
    }

    /// Returns the lines that `work` has said when it ends, or when its time is over, which is a line
    /// of its own.
    static func lines(
        seconds: Int, _ work: @escaping @Sendable (ReportLines) -> Void
    ) -> [String] {
        let lines = ReportLines()
        let isOver = value(seconds: seconds) {
            work(lines)
            return true
        }
        let said = lines.all
        return isOver == true
            ? said : said + ["not had: the rest did not come within \(seconds) s"]
    }
}

/// Lines that one thread says and another reads.
final class ReportLines: Sendable {
    private let said = Mutex<[String]>([])

    /// Says one more.
    func say(_ line: String) { said.withLock { $0.append(line) } }

    /// Everything that was said so far.
    var all: [String] { said.withLock { $0 } }
}
