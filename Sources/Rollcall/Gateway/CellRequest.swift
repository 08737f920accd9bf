import RollcallBasis
import RollcallCore
import RollcallSupport

/// The outcome of a request to one cell.
enum CellOutcome: Sendable {
    /// It answered, whatever it says.
    case answered(HTTPCallAnswer)
    /// No answer came in time, for a reason in words. Nothing is known of what it did, unless it was not
    /// reached.
    case unavailable(String)

    /// The version of the map by which a cell answered; 0 if none was said.
    var mapVersion: Int64 {
        guard case .answered(let answer) = self,
            let field = answer.fields.first(where: { $0.name == Router.cellMapField })
        else { return 0 }
        return Int64(field.value) ?? 0
    }
}

/// A request as it goes on to a cell.
struct CellRequest: Sendable {
    var method: HTTPCall.Method
    /// The path and the query.
    var target: String
    var headers: [(name: String, value: String)] = []
    var body: [UInt8] = []
    /// True of what does nothing more when it comes twice.
    var mayBeSentTwice = true
    /// From the arrival of the request until the answer is given up.
    var patience = CellCalls.patience
    /// The time that each of several addresses has at least, while there is any.
    var shareMin = Milliseconds(500)
    /// True of what one of our own pages sent, which the gateway has seen to: to the cell the page is its own.
    var hasOrigin = false

    /// A question.
    init(_ target: String) { (method, self.target) = (.get, target) }

    /// A request with another target or body than the one that came; nil if its method goes on to nobody.
    init?(_ request: HTTPRequest, target: String, body: [UInt8]? = nil, mayBeSentTwice: Bool) {
        guard let method = HTTPCall.Method(rawValue: request.method) else { return nil }
        self.method = method
        self.target = target
        headers = Router.passedFields(of: request)
        if let coding = request.acceptEncoding, method == .get, body == nil {
            headers.append((name: "Accept-Encoding", value: coding))
        }
        self.body = body ?? request.body
        self.mayBeSentTwice = mayBeSentTwice || method == .get
        hasOrigin = request.origin != nil
    }

    /// Returns the name of a field of a request that can be sent to nobody; nil if all can.
    static func unsendableField(of request: HTTPRequest) -> String? {
        let more = [
            ("Accept-Encoding", request.acceptEncoding), ("Last-Event-ID", request.lastEventID),
        ]
        let fields = Router.passedFields(of: request) + more.map { ($0, $1 ?? "") }
        return fields.first { !HTTPCaller.canSend($0.value) }?.name
    }

    /// Returns the same without a coding of the answer, which is to be read here.
    var plain: CellRequest {
        var copy = self
        copy.headers.removeAll { $0.name == "Accept-Encoding" }
        return copy
    }
}
