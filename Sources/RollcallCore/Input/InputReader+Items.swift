/// The reader makes batches of the items of a body: those about one person, one behind the other,
/// are one batch.
extension InputReader {
    /// True if an item names its person itself, or is all that there is.
    var isIdentityKnown: Bool { mapping.isIdentityOfItem || mapping.isDocumentItem }

    /// Takes the item whose values are known.
    mutating func take(_ body: Span<UInt8>) {
        var treatment = treatment(body)
        if treatment == .skip {
            reading.skipped += 1
            return
        }
        if isIdentityKnown {
            guard let id = identity(body) else { return }
            if group.isOpen, group.id != id { flush(body) }
            group.id = id
        }
        group.isOpen = true
        if group.items == 0 { group.number = place.number }
        group.items += 1
        guard treatment != .fact else { return }
        group.isContact = true
        if treatment == .location, !mapping.located.isEmpty,
            !mapping.located.contains(where: { token($0).isThere })
        {
            treatment = .contact
        }
        let captured = treatment == .location ? locate(body) : time(of: mapping.capture, body)
        if let sent = firstTime(mapping.sent, mapping.description.sentUnit, body) {
            group.sent = max(group.sent ?? sent, sent)
        }
        guard let newest = group.newest, let captured, captured < newest else {
            group.newest = captured ?? group.newest
            swap(&group.tokens, &itemTokens)
            if itemTokens.isEmpty { itemTokens = group.tokens }
            group.place = place
            return
        }
    }

    /// Returns what the first rule that says something makes of the item.
    private func treatment(_ body: Span<UInt8>) -> InputDescription.Treatment {
        for rule in mapping.rules {
            let token = token(rule.ref)
            guard token.isThere else {
                if let missing = rule.missing { return missing }
                continue
            }
            if let value = rule.values.first(where: { isText(token, $0.text, body) }) {
                return value.treatment
            }
            if let other = rule.other { return other }
        }
        return .location
    }

    /// Takes the location of the item; returns when it was captured.
    private mutating func locate(_ body: Span<UInt8>) -> Timestamp? {
        let captured = time(of: mapping.capture, body)
        if let ref = mapping.sequence {
            let token = token(ref)
            guard let sequence = natural(token, body) else {
                note(.ref(ref), token.isThere ? .malformed : .missing, Self.sequenceRule)
                return captured
            }
            ItemWriter.update(
                Update(sequence: sequence, capturedAt: captured, isCached: false),
                to: &group.updates)
            group.updateCount += 1
            updatesMet += 1
        } else if let captured {
            ItemWriter.update(
                Update(sequence: -1, capturedAt: captured, isCached: false), to: &group.updates)
            group.updateCount += 1
            updatesMet += 1
        } else if case .at(let refs, _) = mapping.capture, let ref = refs.first,
            !refs.contains(where: { token($0).isThere })
        {
            note(.ref(ref), .missing, "without it nobody knows when the location was captured")
        }
        return captured
    }

    private static var sequenceRule: String { "an integer from 0 to 2^63-1 expected" }

    // MARK: - Writing

    /// A body with an empty list is a phone that has nothing to tell; one without a list is none of
    /// ours.
    mutating func finishWithoutItems(_ body: Span<UInt8>) {
        guard hasList || mapping.description.isContactWithoutItems else {
            let lists = mapping.description.items.map(\.text)
            return note(.text(lists.first ?? ""), .missing, "no object or array of items is here")
        }
        if isIdentityKnown {
            // Items name people here; but what came with the body may name whose phone it is.
            let isNamed = mapping.sources.contains { source in
                if case .user = source { request.user?.isEmpty == false } else { false }
            }
            guard isNamed, let id = identity(body) else { return }
            group.id = id
        }
        group.isOpen = true
        group.isContact = true
        flush(body)
    }

    /// Writes what was collected as an item.
    mutating func flush(_ body: Span<UInt8>) {
        guard group.isOpen else { return }
        if !isIdentityKnown {
            guard let id = identity(body) else { return group.clear() }
            group.id = id
        }
        if let only = request.only, group.id != only {
            reading.isForeign = true
            return group.clear()
        }
        // What is said of the group is read from the item that was captured last.
        let (current, hasTokens) = (place, !group.tokens.isEmpty)
        if hasTokens { swap(&itemTokens, &group.tokens) }
        place = group.place
        if group.isContact {
            contact(body)
        } else if request.isFresh {
            begin(.responder, at: request.arrival)
            finish()
        } else {
            reading.skipped += group.items
        }
        if hasTokens { swap(&itemTokens, &group.tokens) }
        place = current
        group.clear()
    }

    private mutating func contact(_ body: Span<UInt8>) {
        var heard = request.arrival
        if mapping.description.isForwarded || request.isForwarded {
            // The arrival is no time of the message's own.
            let said = group.sent ?? (mapping.capture.isOfItem ? group.newest : nil)
            // Nor does a time to come say how old a message is (F13).
            let isPast = said.map { $0 - request.arrival <= Self.aheadMax } ?? false
            guard request.isFresh || isPast else {
                // An old message, and nobody says how old (M8).
                reading.skipped += group.items
                return
            }
            if let said {
                heard = min(said, request.arrival)
                reading.scan.noteReceived(heard)
            }
        }
        begin(.batch, at: heard)
        facts(body)
        if group.updateCount > 0 {
            ItemWriter.number(
                mapping.sequence == nil ? .unsequenced : .updates, UInt64(group.updateCount),
                to: &reading.scan.items.bytes)
            reading.scan.items.bytes.append(contentsOf: group.updates)
        }
        finish()
    }

    /// A time may be ahead of the arrival by so much and count as the arrival (F13).
    private static var aheadMax: Milliseconds { Milliseconds(2000) }

    private mutating func begin(_ kind: ItemKind, at time: Timestamp) {
        writer.begin(kind, in: &reading.scan.items)
        ItemWriter.bytes(.responderID, group.id, to: &reading.scan.items.bytes)
        if kind != .batch || !request.enrols {
            ItemWriter.number(.isKnownOnly, 1, to: &reading.scan.items.bytes)
        }
        ItemWriter.time(.reportedAt, time, to: &reading.scan.items.bytes)
    }

    private mutating func finish() {
        writer.finish(in: &reading.scan.items)
        reading.scan.places.append(UInt32(truncatingIfNeeded: group.number))
    }

    // MARK: - Whom it is about

    /// The id of the person; nil if there is none that can be taken, which is then noted.
    private mutating func identity(_ body: Span<UInt8>) -> [UInt8]? {
        for source in mapping.sources {
            switch source {
            case .value(let ref):
                let token = token(ref)
                guard token.isThere, !isEmpty(token) else { continue }
                return identity(at: .ref(ref), text(ofID: token, body))
            case .topicIn(let ref, let part):
                guard let topic = text(token(ref), body, bytesMax: Self.topicBytesMax),
                    let name = Self.part(part, of: topic)
                else { continue }
                return identity(at: .ref(ref), name)
            case .topic(let part):
                guard let name = request.topic.flatMap({ Self.part(part, of: $0) }) else {
                    continue
                }
                return identity(at: .text("topic"), name)
            case .header(let name):
                let field = request.headers.first { $0.name.lowercased() == name }
                guard let value = field?.value, !value.isEmpty else { continue }
                return identity(at: .text("header \(name)"), Array(value.utf8))
            case .user:
                guard let user = request.user, !user.isEmpty else { continue }
                return identity(at: .text("Basic user"), user)
            case .query(let name):
                let field = request.query.first { $0.name == name }
                guard let value = field?.value, !value.isEmpty else { continue }
                return identity(at: .text("query \(name)"), Array(value.utf8))
            case .path:
                guard let path = request.path, !path.isEmpty else { continue }
                return identity(at: .text("path"), path)
            }
        }
        // Of thousands of items only some are listed.
        let isListed = reading.scan.rejected.count < ItemScanner.notesMax
        let places = isListed ? mapping.sources.map { words($0) }.joined(separator: ", ") : ""
        reject(isIdentityKnown ? .item : .text(""), .missing, "no id: there is none of \(places)")
        return nil
    }

    private mutating func identity(at pointer: Pointer, _ text: [UInt8]?) -> [UInt8]? {
        guard let text else {
            reject(pointer, .malformed, "neither a string nor an integer")
            return nil
        }
        guard Self.isName(text) else {
            let most = ItemScanner.nameBytesMax
            reject(pointer, .outOfRange, "1 to \(most) bytes without control characters expected")
            return nil
        }
        guard !PlaceText.isIn(text) else {
            reject(pointer, .coordinate, ItemScanner.placeRefusal)
            return nil
        }
        return text
    }

    /// The name of a source, for a message.
    private func words(_ source: InputMapping.Source) -> String {
        switch source {
        case .value(let ref), .topicIn(let ref, _): pointer(ref)
        case .topic: "the topic"
        case .header(let name): "the header \(name)"
        case .user: "the user of Basic"
        case .query(let name): "the parameter \(name)"
        case .path: "the path"
        }
    }

    /// Part `number` of a topic, from 1; nil if there is none, or it is empty.
    private static func part(_ number: Int, of topic: [UInt8]) -> [UInt8]? {
        var rest = topic[...]
        for _ in 0..<max(number - 1, 0) {
            guard let slash = rest.firstIndex(of: UInt8(ascii: "/")) else { return nil }
            rest = rest[(slash + 1)...]
        }
        let part = rest.prefix { $0 != UInt8(ascii: "/") }
        return part.isEmpty ? nil : Array(part)
    }
}

/// An `InputGroup` collects what makes one item of ours.
struct InputGroup {
    var id: [UInt8] = []
    var isOpen = false
    /// True if the phone itself was heard.
    var isContact = false
    /// Items of the body in it, and the first of them.
    var items = 0
    var number = 0
    var updateCount = 0
    var updates: [UInt8] = []
    /// The instant at which it was sent, if that is told.
    var sent: Timestamp?
    /// The newest capture, and the values of the item that it is of.
    var newest: Timestamp?
    var tokens: [InputToken] = []
    var place = InputPlace()

    /// Forgets all; keeps the room.
    mutating func clear() {
        var fresh = InputGroup()
        swap(&fresh.updates, &updates)
        swap(&fresh.tokens, &tokens)
        fresh.updates.removeAll(keepingCapacity: true)
        for slot in fresh.tokens.indices { fresh.tokens[slot] = InputToken() }
        swap(&self, &fresh)
    }
}
