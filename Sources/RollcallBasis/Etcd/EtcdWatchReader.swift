import RollcallCluster
import RollcallCore
import RollcallSupport

/// Reads the lines of a watch: changes, revision by revision, however the network cuts them.
struct EtcdWatchReader {
    /// The end of a watch.
    enum End: Equatable {
        /// The changes that were asked for are compacted.
        case gone
        /// It is to be begun again where it broke; why.
        case broken(String)
    }

    /// Bytes of a line at most: etcd cuts answers at about two megabytes, and Base64 adds a third.
    static let lineBytesMax = 16 << 20

    /// All changes up to this revision were handed over.
    private(set) var revision: Int64
    private var line: [UInt8] = []
    /// The changes of a revision of which more may come.
    private var open: [KeyValueRow] = []

    /// A reader of what comes after a revision.
    init(after revision: Int64) { self.revision = revision }

    /// Takes bytes as they come; calls `receive` with the changes of each revision that is whole.
    /// Returns why nothing follows, or nil.
    mutating func take(
        _ bytes: UnsafeRawBufferPointer, receive: ([KeyValueRow]) -> Void
    ) -> End? {
        var rest = bytes[...]
        while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
            line.append(contentsOf: rest[rest.startIndex..<end])
            rest = rest[(end + 1)...]
            defer { line.removeAll(keepingCapacity: true) }
            if let end = takeLine(receive) { return end }
        }
        guard line.count + rest.count <= Self.lineBytesMax else {
            return .broken("a line beyond all measure")
        }
        line.append(contentsOf: rest)
        return nil
    }

    private mutating func takeLine(_ receive: ([KeyValueRow]) -> Void) -> End? {
        guard !line.isEmpty else { return nil }
        guard let tree = try? JSONTree(reading: line) else {
            return .broken("a line that makes no sense")
        }
        guard let result = tree["result"] else {
            return .broken("\(EtcdRefusal(status: 200, tree["error"]))")
        }
        if result["canceled"]?.isTrue ?? false {
            guard let compacted = EtcdGateway.number(result["compact_revision"]), compacted > 0
            else { return .broken(result["cancel_reason"]?.text ?? "cancelled") }
            return .gone
        }
        for event in result["events"]?.elements ?? [] {
            guard let row = event["kv"].flatMap({ EtcdGateway.row($0) }) else {
                return .broken("a change that makes no sense")
            }
            // What was handed over before a break comes once.
            guard row.revision > revision else { continue }
            if let last = open.last, last.revision != row.revision { close(receive) }
            open.append(row)
        }
        if !(result["fragment"]?.isTrue ?? false) { close(receive) }
        return nil
    }

    private mutating func close(_ receive: ([KeyValueRow]) -> Void) {
        guard let last = open.last else { return }
        revision = last.revision
        receive(open)
        open = []
    }

    /// The connection broke: half a line, and half a revision, come again.
    mutating func begin() {
        line = []
        open = []
    }
}
