/// A compiled mapping: the table by which an `InputReader` reads the bodies of one input. Source: M1.
package final class InputMapping: Sendable {
    /// A value at a named pointer.
    struct Ref: Sendable {
        let slot: Int
        let isOfRoot: Bool
    }

    /// A `Source` says where an id may come from.
    enum Source: Sendable {
        case value(Ref)
        case topicIn(Ref, part: Int)
        case topic(part: Int)
        case header(String)
        case user
        case query(String)
        case path

        /// The value that it is read from; nil if it is no part of the body.
        var ref: Ref? {
            switch self {
            case .value(let ref), .topicIn(let ref, _): ref
            default: nil
            }
        }
    }

    /// A `Capture` says when a location was captured.
    enum Capture: Sendable {
        case never
        case arrival
        case at([Ref], InputDescription.Unit)

        /// True if an item says it itself.
        var isOfItem: Bool {
            if case .at = self { true } else { false }
        }
    }

    /// A `Rule` says how an item is treated by a value.
    struct Rule: Sendable {
        let ref: Ref
        let values: [(text: [UInt8], treatment: InputDescription.Treatment)]
        let other: InputDescription.Treatment?
        let missing: InputDescription.Treatment?
    }

    /// A fact and where it stands.
    struct Fact: Sendable {
        let field: InputField
        let refs: [Ref]
        let scale: Double
        /// The codes that its texts stand for; a code of nil says nothing.
        let codes: [(text: [UInt8], code: UInt8?)]
    }

    /// Pointers of a mapping at most.
    package static let pointersMax = 64

    /// The description that the mapping was made of.
    package let description: InputDescription
    /// The pointers into the body around the items.
    let rootPlan: InputPlan
    /// The pointers into an item.
    let itemPlan: InputPlan
    let sources: [Source]
    let capture: Capture
    let sequence: Ref?
    let sent: [Ref]
    let rules: [Rule]
    let located: [Ref]
    let facts: [Fact]
    /// True if each item names its person.
    let isIdentityOfItem: Bool
    /// True if items cannot be understood before the whole body around them is known.
    let needsRootFirst: Bool
    /// True if the document itself is the item, or a list of them.
    let isDocumentItem: Bool

    /// The mapping that `description` describes.
    /// - Throws: `InputFault` with the reason if it cannot be, such as that it names a place on earth.
    package init(_ description: InputDescription) throws(InputFault) {
        self.description = description
        if description.ids.isEmpty { throw InputFault("must say where the id comes from") }
        var compiler = try InputCompiler(description)
        isDocumentItem = compiler.isDocumentItem
        var sources: [Source] = []
        for identity in description.ids { sources.append(try compiler.source(identity)) }
        self.sources = sources
        capture =
            switch description.capture {
            case .never: .never
            case .arrival: .arrival
            case .at(let places, let unit): .at(try compiler.refs(places), unit)
            }
        sequence = try compiler.refs(description.sequence.map { [$0] } ?? []).first
        sent = try compiler.refs(description.sent)
        var rules: [Rule] = []
        for rule in description.rules { rules.append(try compiler.compiled(rule)) }
        self.rules = rules
        located = compiler.located(description.located)
        var facts: [Fact] = []
        for fact in description.facts { facts.append(try compiler.compiled(fact)) }
        self.facts = facts
        guard compiler.slotsCount <= Self.pointersMax else {
            throw InputFault("must name at most \(Self.pointersMax) pointers")
        }
        rootPlan = InputPlan(compiler.root)
        itemPlan = InputPlan(compiler.item)
        let identities = sources.compactMap(\.ref)
        isIdentityOfItem = identities.contains { !$0.isOfRoot } && !compiler.isDocumentItem
        var early = rules.map(\.ref) + sent + [sequence].compactMap(\.self)
        if case .at(let refs, _) = capture { early += refs }
        if isIdentityOfItem { early += identities + facts.flatMap(\.refs) }
        needsRootFirst = early.contains(where: \.isOfRoot)
    }
}

/// Puts the pointers of a description into trees, and what it says of them into tables.
private struct InputCompiler {
    private(set) var root = InputTree()
    private(set) var item = InputTree()
    let isDocumentItem: Bool

    /// A compiler of `description`.
    /// - Throws: `InputFault` if its items cannot be where it says.
    init(_ description: InputDescription) throws(InputFault) {
        isDocumentItem =
            description.items.isEmpty || description.items.contains { $0.parts.isEmpty }
        for pointer in description.items { root.holdItems(pointer) }
        if isDocumentItem { root.holdItems(try InputPointer("")) }
    }

    var slotsCount: Int { root.slots.count + item.slots.count }

    /// The slot of the value at `place`; what stands beside the items of a document that is one is
    /// the item's.
    mutating func ref(_ place: InputDescription.Place) throws(InputFault) -> InputMapping.Ref {
        if place.pointer.parts.isEmpty { throw InputFault("must not be the whole document") }
        if place.pointer.isPlace {
            throw InputFault("\(place.pointer.text) would read coordinates, which are never taken")
        }
        let isOfRoot = place.isOfRoot && !isDocumentItem
        let slot = isOfRoot ? root.slot(place.pointer) : item.slot(place.pointer)
        return InputMapping.Ref(slot: slot, isOfRoot: isOfRoot)
    }

    mutating func refs(
        _ places: [InputDescription.Place]
    ) throws(InputFault) -> [InputMapping.Ref] {
        var refs: [InputMapping.Ref] = []
        for place in places { refs.append(try ref(place)) }
        return refs
    }

    /// The slots of what makes an item a location.
    mutating func located(_ pointers: [InputPointer]) -> [InputMapping.Ref] {
        pointers.map { InputMapping.Ref(slot: item.slot($0), isOfRoot: false) }
    }

    mutating func source(
        _ identity: InputDescription.Identity
    ) throws(InputFault) -> InputMapping.Source {
        switch identity {
        case .place(let place): return .value(try ref(place))
        case .topicIn(let place, let part): return .topicIn(try ref(place), part: part)
        case .topic(let part): return .topic(part: part)
        case .header(let name):
            try Self.check(name)
            return .header(name.lowercased())
        case .user: return .user
        case .query(let name):
            try Self.check(name)
            return .query(name)
        case .path: return .path
        }
    }

    /// Names of fields and parameters that hold secrets: no id is made of them.
    private static let secrets: Set<String> = [
        "authorization", "proxy-authorization", "cookie", "token",
    ]

    private static func check(_ name: String) throws(InputFault) {
        if secrets.contains(name.lowercased()) {
            throw InputFault("\(name) holds a secret, which is never an id")
        }
        if name.isEmpty || name.utf8.contains(where: { $0 <= 0x20 || $0 >= 0x7F }) {
            throw InputFault("must be a name of visible ASCII characters")
        }
        if InputPlaceName.holds(name) {
            throw InputFault("\(name) would read coordinates, which are never taken")
        }
    }

    mutating func compiled(
        _ rule: InputDescription.Rule
    ) throws(InputFault) -> InputMapping.Rule {
        InputMapping.Rule(
            ref: try ref(rule.place),
            values: rule.values.map { (Array($0.text.utf8), $0.treatment) }, other: rule.other,
            missing: rule.missing)
    }

    mutating func compiled(_ fact: InputDescription.Fact) throws(InputFault) -> InputMapping.Fact {
        let words = fact.field.words
        if words == nil, !fact.values.isEmpty {
            throw InputFault("\(fact.field.rawValue) has no words: values must not be given")
        }
        let isNumber = fact.field == .batteryLevel || fact.field == .queueDepth
        if fact.scale != 1, !isNumber {
            throw InputFault("\(fact.field.rawValue) is no number: scale must not be given")
        }
        guard fact.scale.isFinite, fact.scale > 0, fact.scale <= 1000 else {
            throw InputFault("scale must be above 0, at most 1000")
        }
        var codes: [(text: [UInt8], code: UInt8?)] = []
        let texts = fact.values.isEmpty ? (words ?? []).map { ($0.word, $0.word) } : fact.values
        for (text, word) in texts {
            let code = words?.first { $0.word == word }?.code
            if code == nil, !word.isEmpty, word != "unknown" {
                let known = (words ?? []).map(\.word).joined(separator: ", ")
                throw InputFault("\(fact.field.rawValue) must be one of \(known) (\(word))")
            }
            codes.append((Array(text.utf8), code))
        }
        return InputMapping.Fact(
            field: fact.field, refs: try refs(fact.places), scale: fact.scale, codes: codes)
    }
}

/// All that a request says beside its body. Source: M1, M3, M8.
package struct InputRequest: Sendable {
    /// The instant at which the request came.
    package var arrival: Timestamp
    /// The user of Basic authentication.
    package var user: [UInt8]?
    /// Header fields, as they were sent.
    package var headers: [(name: String, value: String)] = []
    /// The query's parameters, decoded.
    package var query: [(name: String, value: String)] = []
    /// The part of the path behind the input's name, decoded.
    package var path: [UInt8]?
    /// The topic of a message from a broker.
    package var topic: [UInt8]?
    /// True if the body is a form, or there is none and the query is one.
    package var isForm = false
    /// True if it came by way of somebody who may have kept it, such as a broker (M8).
    package var isForwarded = false
    /// False for a message that may be an old one: retained, redelivered, the first after a
    /// reconnection. Without a time of its own it is no contact (M8).
    package var isFresh = true
    /// True if somebody unknown is enrolled (M3).
    package var enrols = true
    /// The only person that it may be about: whose key it came with (M3).
    package var only: [UInt8]?
    /// Facts that hold for all that comes this way.
    package var fixed = InputFixed()

    /// A request that came at `arrival` and says nothing else.
    package init(arrival: Timestamp) { self.arrival = arrival }
}

/// The facts that hold for all that comes by one input.
package struct InputFixed: Equatable, Sendable {
    /// The region; empty for none.
    package var region: [UInt8] = []
    package var duty: DutyState?
    package var platform: Platform?

    /// No facts.
    package init() {}
}

/// An `InputReading` holds what was read of a request.
package struct InputReading: Sendable {
    /// The items, and what was not taken.
    package var scan = ScanResult()
    /// Items that are of no interest.
    package var skipped = 0
    /// True if it is about somebody else than its key allows: nothing of it is to be taken.
    package var isForeign = false

    /// Nothing was read.
    package init() {}

    /// Nothing could be read, for it is not what it should be.
    package init(refused error: ScanError) {
        switch error {
        case .notJSON(let error):
            scan.note(
                ItemNote(
                    index: 0, pointer: "", fault: .malformed,
                    detail: "not JSON: \(error.message), at byte \(error.offset)"))
        case .tooManyItems(let limit):
            scan.note(
                ItemNote(
                    index: 0, pointer: "", fault: .outOfRange, detail: "more than \(limit) items"))
        }
    }
}

extension ItemList {
    /// Returns item `index` as the JSON of a native one; nil if its bytes are damaged.
    package func text(_ index: Int) -> [UInt8]? {
        var text: [UInt8] = []
        return ItemText.append(self, index, to: &text) ? text : nil
    }
}
