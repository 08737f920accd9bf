/// An action of somebody on the watch, with who they were and why. Source: E1.
package struct ActionReport: Equatable, Sendable {
    /// The kinds of actions. The raw values are stored.
    package enum Kind: UInt8, CaseIterable, Sendable {
        /// A silence begins.
        case silence = 0
        /// A silence is ended.
        case silenceEnd = 1
        /// The way to a receiver is tested.
        case drill = 2
        /// Other settings hold.
        case reload = 3
        /// Somebody sees to an incident.
        case take = 4
        /// Nobody sees to it any more.
        case release = 5
        /// A person is asked to reconnect.
        case ask = 6

        /// The word in answers.
        package var word: StaticString {
            switch self {
            case .silence: "silence"
            case .silenceEnd: "silence_end"
            case .drill: "drill"
            case .reload: "reload"
            case .take: "take"
            case .release: "release"
            case .ask: "ask"
            }
        }
    }

    package var kind: Kind
    /// The number of what it made or ended: of the silence, of the drill's message, of the
    /// incident, of the push; 0 of others.
    package var number: Int64 = 0
    /// The name of what it is about: a drill's receiver; empty for none.
    package var subject: [UInt8] = []
    /// The one who says that they did it: the name that they gave, else that of their token; empty if neither
    /// is known.
    package var author: [UInt8]
    /// The name of the token that they came with; empty for none.
    package var token: [UInt8]
    /// The reason in their words; empty for none.
    package var comment: [UInt8] = []
    /// The instant until which it holds, of a take; the distant past of others.
    package var until = Timestamp.distantPast
    /// The number of the person whom it is about; below 0 if it is about nobody.
    package var person = -1
    /// The number of the person who did it; below 0 if it was an operator.
    package var actor = -1

    /// A report that `author` did something.
    package init(_ kind: Kind, author: [UInt8], token: [UInt8] = []) {
        self.kind = kind
        self.author = author
        self.token = token
    }

    /// The report as the store keeps it. A field's place, once written, stays.
    package var journalBytes: [UInt8] {
        var copy = self
        return Archive.bytes { copy.code(&$0) }
    }

    /// The report that `journalBytes` were made of; nil if they are damaged.
    package init?(journalBytes: [UInt8]) {
        self.init(.reload, author: [])
        if !Archive.reads(part: journalBytes, { code(&$0) }) { return nil }
    }

    private mutating func code(_ archive: inout Archive) {
        archive.code(&kind)
        archive.code(&number)
        archive.code(&subject)
        archive.code(&author)
        archive.code(&token)
        archive.code(&comment)
        archive.code(&until)
        archive.code(&person)
        archive.code(&actor)
    }
}
