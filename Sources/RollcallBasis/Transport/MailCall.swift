import RollcallCore

/// One mail to be handed to a mail server.
struct MailCall {
    /// `smtp://…` or `smtps://…`.
    var url: String
    /// The address that failures of delivery come back to.
    var from: String
    /// The addresses that get it, at least one. If one of them is refused nobody gets it.
    var recipients: [String]
    /// Head and text, with CR LF at each line's end.
    var content: [UInt8]
    /// The user whom the server knows us as; empty for nobody.
    var username = ""
    var password: [UInt8] = []
    /// True if nothing is said before TLS but EHLO.
    var needsTLS = true
    /// Until the mail is taken.
    var timeout: Milliseconds
    /// Asked once the connection stands; nil if the mail may go out in any case (S6).
    var permit: SendingPermit?

    /// A mail from one address to others.
    init(
        url: String, from: String, to recipients: [String], content: [UInt8], timeout: Milliseconds
    ) {
        self.url = url
        self.from = from
        self.recipients = recipients
        self.content = content
        self.timeout = timeout
    }
}

/// The reply of a mail server that decides about a mail. Source: RFC 5321 §4.2.
struct MailReply: Equatable {
    /// 250 once the mail is taken.
    var code: Int
    /// Its words, on one line.
    var words: String
    /// True if it came to a recipient or to the sender: without that recipient it may be another one.
    var isOfEnvelope = false
    /// False if nothing of the mail's text can have reached the server.
    var mayHaveArrived = true
}

/// The reason why no reply decides about a mail, and the server's last words, if it said any.
struct MailCallError: Error {
    let error: HTTPCallError
    var lastReply: MailReply?
}
