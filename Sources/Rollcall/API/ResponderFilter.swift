import RollcallCore

/// A choice among names: those that are one of some, or begin as one of them.
struct NameChoice: Sendable {
    private struct Pattern: Sendable {
        let text: [UInt8]
        /// True for all that begins with it, whatever the case of its letters.
        let isBeginning: Bool

        func fits(_ name: [UInt8]) -> Bool {
            guard isBeginning else { return name == text }
            return name.count >= text.count
                && zip(text, name).allSatisfy { ASCIIText.lowered($0) == ASCIIText.lowered($1) }
        }
    }

    /// All of it as one name.
    let whole: [UInt8]
    private let patterns: [Pattern]

    /// The names of `text`, with commas between them; one that ends in `*` is a beginning.
    init(_ text: String) {
        whole = Array(text.utf8)
        patterns = whole.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false).map {
            let isBeginning = $0.last == UInt8(ascii: "*")
            return Pattern(text: Array(isBeginning ? $0.dropLast() : $0), isBeginning: isBeginning)
        }
    }

    /// True if a name is chosen. If all of the text is a name that somebody has, `isWhole`, it is
    /// that alone: a name may hold commas.
    func fits(_ name: [UInt8], isWhole: Bool) -> Bool {
        isWhole ? name == whole : patterns.contains { $0.fits(name) }
    }
}

/// Letters without their case, of which only those of ASCII have one here.
enum ASCIIText {
    /// Returns a byte as a small letter if it is a large one.
    static func lowered(_ byte: UInt8) -> UInt8 {
        (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) ? byte | 0x20 : byte
    }

    /// Returns the place at which `part`, in small letters, stands in `text` first; nil if nowhere.
    static func place(of part: [UInt8], in text: ArraySlice<UInt8>) -> Int? {
        guard part.count <= text.count else { return nil }
        for start in 0...(text.count - part.count) {
            var index = text.startIndex + start
            var isSame = true
            for byte in part {
                guard lowered(text[index]) == byte else {
                    isSame = false
                    break
                }
                index += 1
            }
            if isSame { return start }
        }
        return nil
    }
}

/// A choice of names and what it came to for those that were met, by their numbers.
private struct NumberedChoice: Sendable {
    private let choice: NameChoice
    private var isWhole = false
    /// 0 not looked at, 1 chosen, 2 not chosen.
    private var verdicts: [UInt8] = []

    init(_ choice: NameChoice) { self.choice = choice }

    /// Forgets all of them; `isKnown` says whether somebody has a name.
    mutating func begin(_ isKnown: ([UInt8]) -> Bool) {
        isWhole = isKnown(choice.whole)
        verdicts.removeAll(keepingCapacity: true)
    }

    /// True if the name of a number is chosen, or one of several.
    mutating func fits(_ number: UInt32, _ names: () -> [[UInt8]]) -> Bool {
        let place = Int(number)
        if place >= verdicts.count {
            verdicts.append(contentsOf: repeatElement(0, count: place + 1 - verdicts.count))
        }
        if verdicts[place] == 0 {
            let fits = names().contains { choice.fits($0, isWhole: isWhole) }
            verdicts[place] = fits ? 1 : 2
        }
        return verdicts[place] == 1
    }
}

/// The filters of a question about people, as they are looked at within one turn. Source: V12.
struct ResponderFilter: Sendable {
    private let query: ResponderQuery
    private var region: NumberedChoice?
    private var circle: NumberedChoice?
    /// Of the names of a phone, in the order of `Responder.phoneNames`.
    private var phone: [NumberedChoice?]
    private let looksAtPhone: Bool
    private let looksAtGap: Bool

    init(_ query: ResponderQuery) {
        self.query = query
        region = query.region.map { NumberedChoice($0) }
        circle = query.circle.map { NumberedChoice($0) }
        phone = [query.osVersion, query.appVersion, query.manufacturer, query.model].map {
            $0.map { NumberedChoice($0) }
        }
        looksAtPhone = phone.contains { $0 != nil }
        looksAtGap = !query.causes.isEmpty || query.silentSince != nil || query.silentUntil != nil
    }

    /// Begins to look at people of `engine`: what was remembered of names before is forgotten.
    mutating func begin(_ engine: Engine) {
        region?.begin { engine.regions.known($0) != nil }
        circle?.begin { engine.circles.known(CircleNames.pack([$0])) != nil }
        for place in phone.indices { phone[place]?.begin { engine.versions.known($0) != nil } }
    }

    /// Returns the place of the text that was searched for in the id of somebody who fits, 0 if none
    /// was; nil of who does not fit, or was erased.
    mutating func match(_ number: Int, _ engine: Engine) -> Int? {
        let person = engine.roster[number]
        guard person.idCount > 0, fitsStanding(person, engine),
            fitsNames(person, engine), fitsTelemetry(person),
            !looksAtGap || fitsGap(number, engine)
        else { return nil }
        if query.text.isEmpty { return 0 }
        return ASCIIText.place(of: query.text, in: engine.roster.id(number))
    }

    private func fitsStanding(_ person: Responder, _ engine: Engine) -> Bool {
        if !query.statuses.isEmpty, !query.statuses.contains(ShownStatus(person)) { return false }
        if !query.duties.isEmpty, !query.duties.contains(person.duty) { return false }
        if !query.sharing.isEmpty, !query.sharing.contains(person.sharing) { return false }
        if !query.platforms.isEmpty, !query.platforms.contains(person.platform) { return false }
        if !query.batteries.isEmpty, !query.batteries.contains(BatteryBand(person.battery)) {
            return false
        }
        if !query.notExpected.isEmpty {
            guard let reason = person.notExpected, query.notExpected.contains(reason)
            else { return false }
        }
        return query.reachable.isEmpty || query.reachable.contains(engine.reachable(person))
    }

    private mutating func fitsNames(_ person: Responder, _ engine: Engine) -> Bool {
        if region?.fits(person.region, { [engine.regions[person.region]] }) == false {
            return false
        }
        let names: () -> [[UInt8]] = {
            let names = CircleNames.names(engine.circles[person.circles])
            return names.isEmpty ? [[]] : names
        }
        if circle?.fits(person.circles, names) == false { return false }
        guard looksAtPhone else { return true }
        for place in phone.indices {
            let name = UInt32(person.phoneNames[place])
            if phone[place]?.fits(name, { [engine.versions[name]] }) == false { return false }
        }
        return true
    }

    private func fitsTelemetry(_ person: Responder) -> Bool {
        for (field, wanted) in zip(Telemetry.fields, query.telemetry) where !wanted.isEmpty {
            if !wanted.contains(field.value(person.telemetry)) { return false }
        }
        return true
    }

    private func fitsGap(_ number: Int, _ engine: Engine) -> Bool {
        guard let suspicion = engine.suspicion(of: number) else { return false }
        if !query.causes.isEmpty, !query.causes.contains(suspicion.cause) { return false }
        if let since = query.silentSince, suspicion.openedAt < since { return false }
        if let until = query.silentUntil, suspicion.openedAt >= until { return false }
        return true
    }
}
