/// The codings in which a body may come. Source: P8, RFC 9110 §8.4.
package enum BodyCoding {
    /// The coding of a request's body, or the answer to one that is not taken.
    package enum Choice {
        /// As it is.
        case plain
        /// By gzip.
        case gzip
        /// Neither, or there is no zlib here.
        case refused(HTTPResponse)
    }

    /// Returns how to read a body under this `Content-Encoding`: "A recipient SHOULD consider "x-gzip"
    /// to be equivalent to "gzip"". Source: RFC 9110 §8.4.1.3.
    package static func choice(
        _ contentEncoding: String?, _ reader: GzipReader? = .shared
    ) -> Choice {
        guard let contentEncoding else { return .plain }
        let isGzip = ["gzip", "x-gzip"].contains(contentEncoding.lowercased())
        if isGzip, reader != nil { return .gzip }
        let detail =
            reader == nil
            ? "there is no zlib here: send it uncompressed"
            : "no content coding but gzip is understood"
        return .refused(
            .problem(
                415, "Unsupported Media Type", detail: detail,
                headers: [("Accept-Encoding", reader == nil ? "identity" : "gzip")]))
    }

    /// Returns the answer to a compressed body that is not taken.
    static func refusal(_ fault: GzipFault, bytesMax: Int) -> HTTPResponse {
        switch fault {
        case .damaged:
            .problem(
                400, "Bad Request",
                detail: "the body is not gzip, or not whole members of it and nothing else")
        case .cut: .problem(400, "Bad Request", detail: "the compressed body ends too early")
        case .tooLarge:
            .problem(
                413, "Content Too Large",
                detail: "The limit is \(bytesMax) bytes, also for what was compressed, in "
                    + "\(GzipReader.membersMax) members at most.")
        case .unavailable:
            .problem(
                503, "Service Unavailable", detail: "No memory to expand it. Send it again.",
                headers: [("Retry-After", "1")])
        }
    }
}
