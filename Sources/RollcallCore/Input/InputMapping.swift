/// A compiled mapping: the table by which an `InputReader` reads the bodies of one input. Source: M1.
package struct InputMapping: Sendable {
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
    }

    /// A `Capture` says when a location was captured.
    enum Capture: Sendable {
        case never
        case arrival
        case at([Ref], InputDescription.Unit)
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
    private var root = InputTree()
    private var item = InputTree()
    /// The pointers into the body around the items.
    private(set) var rootPlan: InputPlan
    /// The pointers into an item.
    private(set) var itemPlan: InputPlan
    private(set) var sources: [Source] = []
    private(set) var capture = Capture.never
    private(set) var sequence: Ref?
    private(set) var sent: [Ref] = []
    private(set) var rules: [Rule] = []
    private(set) var located: [Ref] = []
    private(set) var facts: [Fact] = []
    /// True if each item names its person.
    private(set) var isIdentityOfItem = false
    /// True if items cannot be understood before the whole body around them is known.
    private(set) var needsRootFirst = false

    /// The mapping that `description` describes.
    /// - Throws: `InputFault` with the reason if it cannot be, such as that it names a place on earth.
    package init(_ description: InputDescription) throws(InputFault) {
        self.description = description
        rootPlan = InputPlan(root)
        itemPlan = InputPlan(item)
        if description.ids.isEmpty { throw InputFault("must say where the id comes from") }
        for pointer in description.items { root.holdItems(pointer) }
        if isDocumentItem { root.holdItems(try InputPointer("")) }
        for identity in description.ids { sources.append(try source(identity)) }
        switch description.capture {
        case .never: capture = .never
        case .arrival: capture = .arrival
        case .at(let places, let unit): capture = .at(try refs(places), unit)
        }
        if let place = description.sequence { sequence = try ref(place) }
        sent = try refs(description.sent)
        for rule in description.rules { rules.append(try compiled(rule)) }
        for pointer in description.located {
            located.append(Ref(slot: item.slot(pointer), isOfRoot: false))
        }
        for fact in description.facts { facts.append(try compiled(fact)) }
        guard root.slots.count + item.slots.count <= Self.pointersMax else {
            throw InputFault("must name at most \(Self.pointersMax) pointers")
        }
        rootPlan = InputPlan(root)
        itemPlan = InputPlan(item)
        settle()
    }

    /// True if the document itself is the item, or a list of them.
    var isDocumentItem: Bool {
        description.items.isEmpty || description.items.contains { $0.parts.isEmpty }
    }

    // MARK: - Compiling

    private mutating func settle() {
        let identities = sources.map { source -> Ref? in
            switch source {
            case .value(let ref), .topicIn(let ref, _): ref
            default: nil
            }
        }
        isIdentityOfItem = identities.contains { $0?.isOfRoot == false } && !isDocumentItem
        var early = rules.map(\.ref) + sent + [sequence].compactMap(\.self)
        if case .at(let refs, _) = capture { early += refs }
        if isIdentityOfItem {
            early += identities.compactMap(\.self) + facts.flatMap(\.refs)
        }
        needsRootFirst = early.contains(where: \.isOfRoot)
    }

    /// The slot of the value at `place`; what stands beside the items of a document that is one is
    /// the item's.
    private mutating func ref(_ place: InputDescription.Place) throws(InputFault) -> Ref {
        if place.pointer.parts.isEmpty { throw InputFault("must not be the whole document") }
        if place.pointer.isPlace {
            throw InputFault("\(place.pointer.text) would read coordinates, which are never taken")
        }
        let isOfRoot = place.isOfRoot && !isDocumentItem
        let slot = isOfRoot ? root.slot(place.pointer) : item.slot(place.pointer)
        return Ref(slot: slot, isOfRoot: isOfRoot)
    }

    private mutating func refs(
        _ places: [InputDescription.Place]
    ) throws(InputFault) -> [Ref] {
        var refs: [Ref] = []
        for place in places { refs.append(try ref(place)) }
        return refs
    }

    private mutating func source(
        _ identity: InputDescription.Identity
    ) throws(InputFault) -> Source {
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

    private static func check(_ name: String) throws(InputFault) {
        if name.isEmpty || name.utf8.contains(where: { $0 <= 0x20 || $0 >= 0x7F }) {
            throw InputFault("must be a name of visible ASCII characters")
        }
        if InputPlaceName.holds(name) {
            throw InputFault("\(name) would read coordinates, which are never taken")
        }
    }

    private mutating func compiled(
        _ rule: InputDescription.Rule
    ) throws(InputFault) -> Rule {
        Rule(
            ref: try ref(rule.place),
            values: rule.values.map { (Array($0.text.utf8), $0.treatment) }, other: rule.other,
            missing: rule.missing)
    }

    private mutating func compiled(_ fact: InputDescription.Fact) throws(InputFault) -> Fact {
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
        return Fact(
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
