/// The rights of clients: the tokens that are known, and what each of them opens.
///
/// Without tokens and users everything is open; that is for loopback, or for who says `--insecure`.
/// Source: V9, V18.
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
            if !Self.isName(name) { throw .name }
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

        /// A user, whom what is shown of their hash makes another one once the password is; nobody comes in
        /// by showing it.
        fileprivate init?(userNamed name: [UInt8], hash: String) {
            guard let padded = PaddedToken(Array(hash.utf8)) else { return nil }
            self.name = String(decoding: name, as: UTF8.self)
            scopes = Set(Scope.allCases)
            inputs = []
            self.padded = padded
            sessionKey = SessionKey(ofToken: Array(hash.utf8))
        }

        fileprivate static func isName(_ name: String) -> Bool {
            (1...tokenNameBytesMax).contains(name.utf8.count)
                && name.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F }
        }
    }

    /// Tokens at most: each is compared with on each request.
    package static let tokensMax = 64

    /// Users with a password at most, all of whom are in memory.
    package static let usersMax = 256

    /// In the order of the settings.
    package let tokens: [Token]
    /// Those with a password, by their names as they are shown; each opens everything.
    let users: [[UInt8]: Token]
    private let hashes: [[UInt8]: String]
    /// The hash that is compared with where there is no such user: the dearest of all.
    private let nobodys: String

    /// Everything open.
    package init() {
        tokens = []
        users = [:]
        hashes = [:]
        nobodys = ""
    }

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
        self.init(tokens: tokens, hashes: [:])
    }

    private init(tokens: [Token], hashes: [[UInt8]: String]) {
        self.tokens = tokens
        self.hashes = hashes
        users = Dictionary(
            uniqueKeysWithValues: hashes.compactMap { name, hash in
                Token(userNamed: name, hash: hash).map { (name, $0) }
            })
        nobodys =
            hashes.values.max { (Bcrypt.cost(of: $0) ?? 0, $0) < (Bcrypt.cost(of: $1) ?? 0, $1) }
            ?? ""
    }

    /// Returns the same tokens with these users, each with a hash by bcrypt.
    /// - Throws: `AccessError`, never with a hash, if there are too many, or a name or a hash is none.
    package func with(users: [(name: String, hash: String)]) throws(AccessError) -> Access {
        if users.count > Self.usersMax { throw .userCount }
        var hashes: [[UInt8]: String] = [:]
        for (name, hash) in users {
            let bytes = Array(name.utf8)
            // "a user-id containing a colon character is invalid". Source: RFC 7617 §2.
            guard Token.isName(name), !name.utf8.contains(UInt8(ascii: ":")) else {
                throw .userName
            }
            if tokens.contains(where: { $0.name == name }) || hashes[bytes] != nil {
                throw .sameUser(name)
            }
            guard let cost = Bcrypt.cost(of: hash) else { throw .hash(name: name) }
            guard Bcrypt.costs.contains(cost) else { throw .cost(name: name, cost) }
            hashes[bytes] = hash
        }
        return Access(tokens: tokens, hashes: hashes)
    }

    /// True if nobody needs a token or a password.
    package var isOpen: Bool { tokens.isEmpty && users.isEmpty }

    /// True if there are users with a password.
    package var hasUsers: Bool { !users.isEmpty }

    /// The names of the users, in the order of the alphabet.
    package var userNames: [String] { users.values.map(\.name).sorted() }

    /// Returns the user of this name; nil if there is none.
    func user(_ name: [UInt8]) -> Token? { users[name] }

    /// Returns the hash that a password of this user is compared with, and whether there is such a user.
    func hash(of user: [UInt8]) -> (text: String, isSomebodys: Bool) {
        hashes[user].map { ($0, true) } ?? (nobodys, false)
    }

    /// Returns the token or the user of a name, as it is now; nil if there is none.
    package func named(_ name: String) -> Token? {
        tokens.first { $0.name == name } ?? users[Array(name.utf8)]
    }

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
    /// A user's name is none.
    case userName
    /// A user has the name of a token, or of another user.
    case sameUser(String)
    /// There are more than `Access.usersMax`.
    case userCount
    /// The text that stands for a user is no hash by bcrypt.
    case hash(name: String)
    /// A look at a password would take too long, or no time.
    case cost(name: String, Int)

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
        case .userName:
            "a user's name must have 1 to \(tokenNameBytesMax) bytes without colons and control characters"
        case .sameUser(let name):
            "user \"\(name)\": another user, or a token, has this name"
        case .userCount: "must hold at most \(Access.usersMax) users"
        case .hash(let name):
            "user \"\(name)\": must have a hash by bcrypt ($2a$, $2b$ or $2y$); make one with: "
                + "htpasswd -nBC 10 \"\""
        case .cost(let name, let cost):
            "user \"\(name)\": the cost of the hash is \(cost), and must be \(Bcrypt.costs.lowerBound) to "
                + "\(Bcrypt.costs.upperBound): no request waits for longer"
        }
    }
}
