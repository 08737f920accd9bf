/// The rights of clients: the tokens that are known, and what each of them opens.
///
/// Without tokens everything is open; that is for loopback, or for who says `--insecure`.
/// Source: V9.
package struct Access: Sendable, Equatable {
    /// The scopes that a token opens. None includes another but `admin`, which opens `act` too: a token
    /// has the scopes that it lists.
    package enum Scope: String, CaseIterable, Sendable {
        /// Batches, transitions, facts, rosters, heartbeats, wakes.
        case ingest
        /// All GET.
        case read
        /// Silences, drills, taking incidents, asking people.
        case act
        /// Reloading, erasing, and all that `act` opens.
        case admin
    }

    /// One token.
    package struct Token: Sendable, Equatable {
        /// The name by which logs and messages call it; also the source of writes that name none.
        package let name: String
        /// The scopes that it opens.
        package let scopes: Set<Scope>
        /// The inputs that it opens, each by any method (M3).
        package let inputs: Set<String>
        fileprivate let padded: PaddedToken
        /// The key by which it signs sessions (R7).
        package let sessionKey: SessionKey

        /// Returns true if the token opens what needs `scope`.
        package func opens(_ scope: Scope) -> Bool {
            scopes.contains(scope) || scope == .act && scopes.contains(.admin)
        }

        /// The token of `bytes` under a name that may be shown.
        /// - Throws: `AccessError`, never with the bytes, if the name, the scopes or the bytes are
        ///   not allowed.
        package init(
            name: String, scopes: Set<Scope>, inputs: Set<String> = [], bytes: [UInt8]
        ) throws(AccessError) {
            let isName =
                (1...tokenNameBytesMax).contains(name.utf8.count)
                && name.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F }
            if !isName { throw .name }
            if scopes.isEmpty, inputs.isEmpty { throw .scopes(name: name) }
            guard let padded = PaddedToken(bytes), bytes.allSatisfy({ (0x21...0x7E) ~= $0 }),
                bytes.count >= PaddedToken.bytesMin
            else { throw .text(name: name) }
            self.name = name
            self.scopes = scopes
            self.inputs = inputs
            self.padded = padded
            sessionKey = SessionKey(ofToken: bytes)
        }
    }

    /// Tokens at most: each is compared with on each request.
    package static let tokensMax = 64

    /// In the order of the settings.
    package let tokens: [Token]

    /// Everything open.
    package init() { tokens = [] }

    /// Access for those alone who hold one of these tokens. Two that open the same are a rotation:
    /// both are valid.
    /// - Throws: `AccessError` if there are too many, or two have the same name or the same bytes.
    package init(tokens: [Token]) throws(AccessError) {
        if tokens.count > Self.tokensMax { throw .count }
        for (place, token) in tokens.enumerated() {
            for earlier in tokens[..<place] {
                if earlier.name == token.name { throw .sameName(token.name) }
                if earlier.padded == token.padded { throw .sameText(earlier.name, token.name) }
            }
        }
        self.tokens = tokens
    }

    /// True if nobody needs a token.
    package var isOpen: Bool { tokens.isEmpty }

    /// Returns the token that stands in an `Authorization` field; nil if it is nobody's.
    ///
    /// Every token is compared with in full, whether or not an earlier one fits: how long it takes
    /// tells nothing of any of them.
    package func holder(_ authorization: String?) -> Token? {
        authorization.flatMap { Credentials.token(in: $0) }.flatMap { holder(of: $0) }
    }

    /// Returns true if a field's token is a password, which a browser sends by itself.
    package static func isPassword(_ authorization: String?) -> Bool {
        authorization.flatMap { Credentials.basic(in: $0) } != nil
    }

    /// Returns the token of these bytes; nil if it is nobody's.
    package func holder(of shown: [UInt8]) -> Token? {
        guard let padded = PaddedToken(shown) else { return nil }
        var found = -1
        for (place, token) in tokens.enumerated() {
            let isSame = padded.differs(from: token.padded) == 0
            found = isSame ? place : found
        }
        return found < 0 ? nil : tokens[found]
    }
}

/// Bytes of a token's name at most: it can be a source (F10).
private let tokenNameBytesMax = 128

/// A token's bytes, padded so that all are of one length. It prints as nothing, so that no log line
/// or crash report can hold one.
private struct PaddedToken: Sendable, Equatable, CustomStringConvertible, CustomReflectable {
    /// A shorter one can be guessed.
    static let bytesMin = 16
    /// The bytes that are compared, whatever the token's own length.
    static let bytesMax = 512

    private let words: [UInt64]

    /// The padded bytes; nil if there are too many.
    init?(_ bytes: [UInt8]) {
        guard bytes.count <= Self.bytesMax else { return nil }
        // The last word is the length: padding must not make two tokens one.
        var words = [UInt64](repeating: 0, count: Self.bytesMax / 8 + 1)
        for (place, byte) in bytes.enumerated() {
            words[place / 8] |= UInt64(byte) << UInt64(place % 8 * 8)
        }
        words[Self.bytesMax / 8] = UInt64(bytes.count)
        self.words = words
    }

    /// 0 if both are the same; without a branch on what they hold.
    @inline(never)
    func differs(from other: PaddedToken) -> UInt64 {
        var difference: UInt64 = 0
        for (a, b) in zip(words, other.words) { difference |= a ^ b }
        return difference
    }

    static func == (a: PaddedToken, b: PaddedToken) -> Bool { a.differs(from: b) == 0 }

    var description: String { "<token>" }
    var customMirror: Mirror { Mirror(self, children: []) }
}

/// The reason why tokens cannot be used. It names them by their names, never by their text.
package enum AccessError: Error, Equatable, CustomStringConvertible {
    /// A name is empty, too long or holds control characters.
    case name
    /// A token opens nothing.
    case scopes(name: String)
    /// A token is too short, too long or holds what a header field cannot.
    case text(name: String)
    /// Two tokens have one name.
    case sameName(String)
    /// Two names have one token.
    case sameText(String, String)
    /// There are more than `Access.tokensMax`.
    case count

    /// A text that says what is wrong, and what to do.
    package var description: String {
        switch self {
        case .name: "name: must have 1 to \(tokenNameBytesMax) bytes without control characters"
        case .scopes(let name):
            "token \"\(name)\": scopes must list one or more of "
                + Access.Scope.allCases.map(\.rawValue).joined(separator: ", ") + ", input:NAME"
        case .text(let name):
            "token \"\(name)\": must have \(PaddedToken.bytesMin) to \(PaddedToken.bytesMax) visible ASCII "
                + "characters without spaces; make one with: openssl rand -hex 32"
        case .sameName(let name): "token \"\(name)\": named twice"
        case .sameText(let a, let b): "tokens \"\(a)\" and \"\(b)\": must not be the same text"
        case .count: "must hold at most \(Access.tokensMax) tokens"
        }
    }
}
