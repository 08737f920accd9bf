/// The codings in which an answer may go out. Source: V16, RFC 9110 §12.5.3.
package enum AnswerCoding: Sendable {
    /// As it is.
    case plain
    /// By gzip.
    case gzip

    /// Returns the coding for a field `Accept-Encoding`; nil if there was none.
    ///
    /// By gzip goes what is asked for by name or by `*`, unless the client would rather have it as it
    /// is. Without the field all codings would be acceptable; whoever sends none mostly cannot read
    /// one. Never 406: who wants neither gets it as it is.
    package static func choice(
        _ acceptEncoding: String?, isAvailable: Bool = GzipWriter.isAvailable
    ) -> AnswerCoding {
        guard isAvailable, acceptEncoding != nil else { return .plain }
        // A coding stands there as a type does in `Accept`, with its weight behind it.
        let named = AcceptedType.all(acceptEncoding)
        let any = named.first { $0.type == "*" }?.weight
        // "A recipient SHOULD consider "x-gzip" to be equivalent to "gzip"".
        let gzip = named.first { $0.type == "gzip" || $0.type == "x-gzip" }?.weight ?? any ?? 0
        let plain = named.first { $0.type == "identity" }?.weight ?? any ?? 0
        return gzip > 0 && gzip >= plain ? .gzip : .plain
    }
}
