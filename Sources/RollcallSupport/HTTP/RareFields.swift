/// The parts of a request that most have none of.
extension HTTPRequest {
    /// The name of the first argument that is no UTF-8, itself or its value; nil if all are. What does not
    /// read stands in `query` as U+FFFD.
    package var argumentUnread: String? {
        get { rare?.fields.argumentUnread }
        set { change(newValue != nil) { $0.argumentUnread = newValue } }
    }

    /// `Content-Encoding`, if sent; several fields are joined by commas.
    package var contentEncoding: String? {
        get { rare?.fields.contentEncoding }
        set { change(newValue != nil) { $0.contentEncoding = newValue } }
    }

    /// `Accept`, if sent; several fields are joined by commas.
    package var accept: String? {
        get { rare?.fields.accept }
        set { change(newValue != nil) { $0.accept = newValue } }
    }

    /// `Accept-Encoding`, if sent; several fields are joined by commas.
    package var acceptEncoding: String? {
        get { rare?.fields.acceptEncoding }
        set { change(newValue != nil) { $0.acceptEncoding = newValue } }
    }

    /// `Origin`, if sent: a browser is asking.
    package var origin: String? {
        get { rare?.fields.origin }
        set { change(newValue != nil) { $0.origin = newValue } }
    }

    /// `Authorization`, if sent. A secret: never log it.
    package var authorization: String? {
        get { rare?.fields.authorization }
        set { change(newValue != nil) { $0.authorization = newValue } }
    }

    /// The user of the web configuration whose password was shown and is right; nil for nobody's.
    package var knownUser: Access.Token? {
        get { rare?.fields.knownUser }
        set { change(newValue != nil) { $0.knownUser = newValue } }
    }

    /// `Cookie`, if sent; several fields are joined by semicolons. A secret: never log it.
    package var cookie: String? {
        get { rare?.fields.cookie }
        set { change(newValue != nil) { $0.cookie = newValue } }
    }

    /// `Rollcall-Sent-At`, if sent: when the client sent the request.
    package var sentAt: String? {
        get { rare?.fields.sentAt }
        set { change(newValue != nil) { $0.sentAt = newValue } }
    }

    /// `Idempotency-Key`, if sent: the name that the client gives this request.
    package var idempotencyKey: String? {
        get { rare?.fields.idempotencyKey }
        set { change(newValue != nil) { $0.idempotencyKey = newValue } }
    }

    /// `Last-Event-ID`, if sent: the last event of a stream that the client has seen.
    package var lastEventID: String? {
        get { rare?.fields.lastEventID }
        set { change(newValue != nil) { $0.lastEventID = newValue } }
    }

    /// `Rollcall-Passed-On`, if sent: another member heard the request, and passes it on.
    package var passedOn: String? {
        get { rare?.fields.passedOn }
        set { change(newValue != nil) { $0.passedOn = newValue } }
    }

    /// `Via`, if sent: who passed the request on; several fields are joined by commas.
    package var via: String? {
        get { rare?.fields.via }
        set { change(newValue != nil) { $0.via = newValue } }
    }

    /// Changes them; where there are none, only if something is to be there.
    private mutating func change(_ isSomething: Bool, _ body: (inout RareFields) -> Void) {
        guard rare != nil || isSomething else { return }
        if !isKnownUniquelyReferenced(&rare) { rare = RareBox(rare?.fields ?? RareFields()) }
        if let rare { body(&rare.fields) }
    }
}

/// The values of those parts, which copies of a request share until one is changed.
///
/// `@unchecked Sendable` is true because nobody changes one that another request holds too.
final class RareBox: @unchecked Sendable {
    fileprivate var fields: RareFields

    fileprivate init(_ fields: RareFields) { self.fields = fields }
}

private struct RareFields {
    var argumentUnread: String?
    var contentEncoding: String?
    var accept: String?
    var acceptEncoding: String?
    var origin: String?
    var authorization: String?
    var knownUser: Access.Token?
    var cookie: String?
    var sentAt: String?
    var idempotencyKey: String?
    var lastEventID: String?
    var passedOn: String?
    var via: String?
}
