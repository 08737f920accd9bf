import RollcallBasis
import RollcallCore
import RollcallSupport

/// A route: what is asked of a resource by a method, who may ask, with which parameters and body,
/// what is answered, and who answers. `Route.all` is the one table of them. Source: V5.
final class Route: Sendable {
    /// The methods that there are, in the order in which `Allow` names them; `HEAD` goes wherever
    /// `GET` does.
    enum Method: String, CaseIterable, Sendable {
        case get = "GET"
        case post = "POST"
        case put = "PUT"
        case delete = "DELETE"

        /// True of those that are judged by the type of their body.
        var hasBody: Bool { self == .post || self == .put }
    }

    /// The purpose of a route.
    enum Tag: String, Sendable {
        case writes, answers, operation
    }

    /// A parameter that many routes have and read where they need it, by its name among the
    /// document's components; `sentAt` and `idempotencyKey` are fields of the head.
    enum Shared: String, Sendable {
        case source, strict, sentAt, idempotencyKey
        case you = "tell"

        /// Those that are `true` or `false`, by their names in a query.
        static let flags = [strict, you].map(\.rawValue)
    }

    /// One request to a route, and how it is answered.
    struct Call: Sendable {
        let target: Target
        let request: HTTPRequest
        let answer: Router.Answer
        /// True while somebody waits for the answer.
        let isAwaited: @Sendable () -> Bool
    }

    typealias Handler = @Sendable (Router, Call) -> Void
    /// Tells the scope that a whole request needs instead of the route's; nil if none.
    typealias ScopeOfRequest = @Sendable (HTTPRequest, Access.Token?) -> Access.Scope?

    let resource: Resource
    let method: Method
    /// Its name in the document.
    let name: String
    /// The label by which its requests are counted.
    let label: EdgeStats.Route
    /// The scope that a token must open for it; nil where none is needed.
    let scope: Access.Scope?
    private let scopeOfRequest: ScopeOfRequest
    let tag: Tag
    let summary: String
    let text: String
    let shared: [Shared]
    /// Its own parameters, as the document tells of them.
    let parameters: [JSONTree]
    /// Its body, by the name among the document's components.
    let body: String?
    /// Its answers by status, by their names among the document's components.
    let answers: KeyValuePairs<Int, String>
    /// The usual failures that it has beside those of any route.
    let problems: [Int]
    let handle: Handler

    /// The one who reads the query of a request.
    enum QueryReader: Sendable {
        /// The route has no parameters of its own. Of a read, what else a query holds is not looked
        /// at; a write is refused for it: a misspelt `source` would switch off somebody else's switch
        /// (P3).
        case route
        /// The route's own parameters, of which each is known.
        case parameters
        /// An input, whose client writes into it what it likes (M3).
        case input
    }

    /// A route without parameters of its own.
    init(
        _ method: Method, _ resource: Resource, _ name: String, _ label: EdgeStats.Route,
        _ scope: Access.Scope?, _ tag: Tag, _ summary: String, _ text: String = "",
        shared: [Shared] = [], parameters: [JSONTree] = [], body: String? = nil,
        answers: KeyValuePairs<Int, String>, problems: [Int] = [],
        scopeOfRequest: @escaping ScopeOfRequest = { _, _ in nil }, queryIsOf: QueryReader = .route,
        handle: @escaping Handler
    ) {
        self.resource = resource
        self.method = method
        self.name = name
        self.label = label
        self.scope = scope
        self.scopeOfRequest = scopeOfRequest
        self.tag = tag
        self.summary = summary
        self.text = text
        self.shared = shared
        self.parameters = parameters
        self.body = body
        self.answers = answers
        self.problems = problems
        let known = queryIsOf == .route ? Self.known(shared) : nil
        let isLookedAt = queryIsOf == .parameters || queryIsOf == .route && method != .get
        self.handle = { router, call in
            if isLookedAt, let error = Self.fault(call.request, known: known) {
                return call.answer(.refusal(error), InputStats())
            }
            handle(router, call)
        }
    }

    /// A route with parameters: a query that makes no sense is refused, and so is one with others.
    convenience init<Query>(
        _ method: Method, _ resource: Resource, _ name: String, _ label: EdgeStats.Route,
        _ scope: Access.Scope?, _ tag: Tag, _ summary: String, _ text: String = "",
        shared: [Shared] = [], query: Parameters<Query>, body: String? = nil,
        answers: KeyValuePairs<Int, String>, problems: [Int] = [],
        scopeOfRequest: @escaping ScopeOfRequest = { _, _ in nil },
        handle: @escaping @Sendable (Router, Query, Call) -> Void
    ) {
        let known = Self.known(shared)
        self.init(
            method, resource, name, label, scope, tag, summary, text, shared: shared,
            parameters: query.all.map(\.document), body: body, answers: answers,
            problems: problems, scopeOfRequest: scopeOfRequest, queryIsOf: .parameters
        ) { router, call in
            let asked: Query
            do throws(ParameterError) {
                asked = try query.read(call.request.query, known: known)
            } catch {
                return call.answer(.refusal(error), InputStats())
            }
            handle(router, asked, call)
        }
    }

    /// The parameters that it shares with others, which it reads where it needs them.
    var sharedParameters: [String] { Self.known(shared) }

    /// The parameters among `shared` that stand in a query.
    private static func known(_ shared: [Shared]) -> [String] {
        shared.filter { $0 != .sentAt && $0 != .idempotencyKey }.map(\.rawValue)
    }

    /// Returns what is wrong with a query, whatever its parameters say: a part of it is no UTF-8, a
    /// name stands twice, or is not `known` unless that is nil, or a flag is no word. Returns nil if
    /// nothing is.
    private static func fault(_ request: HTTPRequest, known: [String]?) -> ParameterError? {
        if let name = request.argumentUnread { return .unread(name) }
        let query = request.query
        for (place, (name, value)) in query.enumerated() {
            if query[..<place].contains(where: { $0.name == name }) { return .repeated(name) }
            if let known, !known.contains(name) { return .unknown(name) }
            if Shared.flags.contains(name), value != "true", value != "false" {
                return ParameterError(detail: "\(name): true or false expected")
            }
        }
        return nil
    }

    /// The time for which a request may wait for its answer; nil for what all may.
    var patience: Duration? { resource == .events ? Router.eventPatience : nil }

    /// The scope in the words of the document; nil where none is needed. Each input has its own (M3).
    var scopeName: String? {
        switch resource {
        case .input, .inputBelow: "input:NAME"
        default: scope?.rawValue
        }
    }

    // MARK: - Finding one

    private static let byResource = Dictionary(grouping: all, by: \.resource).mapValues { routes in
        Method.allCases.compactMap { method in routes.first { $0.method == method } }
    }

    /// The targets and routes of the paths in which nothing varies, which each request asks for twice.
    private static let byPath = Dictionary(
        uniqueKeysWithValues: Resource.allCases.filter(\.variables.isEmpty).map {
            ($0.path, (target: Target($0.path), routes: of($0)))
        })

    /// The path of nearly all writes, which is compared and not hashed.
    private static let usual = (path: Resource.batches.path, named: byPath[Resource.batches.path])

    /// Returns what `path` names, and its routes in the order of `Method`; none of what there is not.
    static func named(_ path: String) -> (target: Target?, routes: [Route]) {
        if path == usual.path, let known = usual.named { return known }
        if let known = byPath[path] { return known }
        let target = Target(path)
        return (target, of(target?.resource))
    }

    /// Returns the routes of a resource, in the order of `Method`; none of what there is not.
    static func of(_ resource: Resource?) -> [Route] {
        resource.flatMap { byResource[$0] } ?? []
    }

    /// Returns the scope that a token must open for `method` among the routes of a resource; nil
    /// where none is needed. What there is not counts as reading, or as the most that there is.
    static func scope(_ method: String, among routes: [Route]) -> Access.Scope? {
        if let route = routes.first(where: { $0.method.rawValue == method }) { return route.scope }
        if let route = routes.first, route.scope == nil { return nil }
        return method == Method.get.rawValue ? .read : .admin
    }

    /// Returns the scope that a token must open for a whole request. What a source of its own may
    /// not do to all others needs more than to write.
    func scope(of request: HTTPRequest, by token: Access.Token?) -> Access.Scope? {
        scopeOfRequest(request, token) ?? scope
    }
}
