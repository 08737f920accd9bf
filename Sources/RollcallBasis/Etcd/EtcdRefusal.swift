import RollcallSupport

/// An `EtcdRefusal` holds what etcd says instead of doing what it was asked.
struct EtcdRefusal: CustomStringConvertible {
    /// The status of the answer.
    let status: Int
    /// gRPC's code; nil if the answer names none.
    let code: Int64?
    /// etcd's words.
    let words: String

    /// The refusal in an answer that is not 200.
    init(_ answer: HTTPCallAnswer) {
        let tree = try? JSONTree(reading: answer.body)
        self.init(status: answer.status, tree)
    }

    /// The refusal in an error as the gateway writes it.
    init(status: Int, _ tree: JSONTree?) {
        self.status = status
        code = (tree?["code"] ?? tree?["grpc_code"])?.whole
        words = (tree?["message"] ?? tree?["error"])?.text ?? ""
    }

    /// True if what was asked was not run and never will be: etcd itself said so, with a code that it
    /// uses before a proposal, or where all members refuse it alike. gRPC's own words may come after
    /// the fact. Source: etcd's rpctypes/error.go.
    var wasCertainlyNotRun: Bool {
        guard words.hasPrefix("etcdserver: "), let code else { return false }
        // Invalid argument, not found, permission denied, resources exhausted, failed precondition,
        // out of range, unimplemented, unauthenticated.
        return [3, 5, 7, 8, 9, 11, 12, 16].contains(code)
    }

    /// True if a new token would help.
    var wantsToken: Bool {
        code == 16 || words == "etcdserver: user name is empty"
            || words == "etcdserver: revision of auth store is old"
    }

    var description: String {
        let said = words.isEmpty ? "status \(status)" : ConsoleText.safe(words)
        return code.map { "\(said) (code \($0))" } ?? said
    }
}
