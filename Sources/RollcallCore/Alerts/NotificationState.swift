/// The state that decides who is told, beside the alerts themselves: silences, drills, what we
/// missed. Source: A6, A7, A11.
package struct NotificationState: Sendable {
    /// Drills that wait for their end at most.
    static let drillsMax = 16

    /// A drill of which the outcome is not known yet.
    private struct Drill: Equatable, Sendable {
        var member = NoticeMember()
        var notice: Int64 = 0
        var receiver: [UInt8] = []
    }

    /// The number that the next notice gets.
    package private(set) var nextNotice: Int64 = 1
    /// The number that the next firing gets.
    package private(set) var nextIncident: Int64 = 1
    private var nextSilence: Int64 = 1
    /// In force, by number.
    package private(set) var silences: [Silence] = []
    /// Over, by their ends.
    package private(set) var pastSilences: [Silence] = []
    private var drills: [Drill] = []
    /// The storms, in which people are told of many alerts together.
    var storms = StormState()
    /// The incidents that somebody sees to.
    var takes = Takes()
    /// The time that we did not run, if nobody was told yet (B4).
    private(set) var absence: (from: Timestamp, to: Timestamp)?
    /// True if whoever was not told of an alert may have to be told now.
    var isDirty = false
    /// True if somebody may have to be told of any alert that fires.
    var isAllDirty = false
    /// True if a receiver asks for the watchdog (A5).
    var wantsWatchdog = false

    // MARK: - Numbers

    mutating func takeNotice() -> Int64 {
        defer { nextNotice += 1 }
        return nextNotice
    }

    mutating func takeIncident() -> Int64 {
        defer { nextIncident += 1 }
        return nextIncident
    }

    /// The state of a watch that has told nobody anything, with the silences of this one.
    func begunAnew() -> NotificationState {
        var state = NotificationState()
        // Its store holds the numbers of before.
        (state.nextNotice, state.nextIncident) = (nextNotice, nextIncident)
        state.nextSilence = nextSilence
        state.silences = silences
        state.pastSilences = pastSilences
        return state
    }

    /// Counts on from where `other` stood.
    mutating func goOn(from other: NotificationState) {
        nextNotice = other.nextNotice
        nextIncident = other.nextIncident
        storms = other.storms.storedStorms
    }

    /// Takes over numbers from the store, which win over what was decided again (J4).
    mutating func note(storedNotice notice: Int64, incident: Int64) {
        nextNotice = max(nextNotice, notice + 1)
        nextIncident = max(nextIncident, incident + 1)
    }

    // MARK: - Silences

    /// Forgets who silenced or took something, and what they said: for a state that leaves the house.
    mutating func forgetAuthors() {
        for index in silences.indices {
            (silences[index].author, silences[index].comment) = ([], [])
            silences[index].requestID = []
        }
        for index in pastSilences.indices {
            (pastSilences[index].author, pastSilences[index].comment) = ([], [])
            pastSilences[index].requestID = []
        }
        takes.forgetAuthors()
    }

    /// Takes a silence that begins now; its number, or why not. One that is listed under the same
    /// `requestID` is that one: whoever got no answer asks again.
    mutating func begin(
        _ silence: Silence, _ clock: ObservationClock
    ) -> (number: Int64?, fault: SilenceFault?, isKnown: Bool) {
        if !silence.requestID.isEmpty,
            let known = (silences + pastSilences).first(where: {
                $0.requestID == silence.requestID
            })
        {
            let isSame = known.fingerprint == silence.fingerprint
            return isSame ? (known.number, nil, true) : (nil, .otherRequest, true)
        }
        guard silence.endsAt > clock.wallNow else { return (nil, .over, false) }
        guard silences.count < Silence.countMax else { return (nil, .tooMany, false) }
        var silence = silence
        silence.number = nextSilence
        silence.startsAt = clock.wallNow
        silence.ends = clock.now + (silence.endsAt - clock.wallNow)
        nextSilence += 1
        silences.append(silence)
        isDirty = true
        return (silence.number, nil, false)
    }

    /// Ends a silence; false if none in force has this number.
    mutating func end(_ number: Int64, _ clock: ObservationClock) -> Bool {
        guard let place = silences.firstIndex(where: { $0.number == number }) else { return false }
        retire(place, clock.wallNow, clock.now)
        return true
    }

    private mutating func retire(_ place: Int, _ wall: Timestamp, _ now: RunningTime) {
        var silence = silences.remove(at: place)
        silence.endsAt = wall
        silence.ends = now
        pastSilences.append(silence)
        if pastSilences.count > Silence.overMax { pastSilences.removeFirst() }
        isDirty = true
    }

    /// Lets go of what is over.
    mutating func expire(_ clock: ObservationClock) {
        for silence in silences where silence.ends <= clock.now {
            guard let place = silences.firstIndex(of: silence) else { continue }
            retire(place, silence.endsAt, silence.ends)
        }
        pastSilences.removeAll { clock.now - $0.ends >= Silence.listedFor }
        takes.expire(clock.now)
    }

    /// The earliest instant at which a silence or a take ends.
    var nextEnd: RunningTime {
        let silence =
            silences.isEmpty ? .distantFuture : silences.map(\.ends).min() ?? .distantFuture
        return min(silence, takes.nextEnd)
    }

    /// True if somebody may have to be told now, or a silence or a take may be over.
    @inline(__always)
    var isDue: Bool {
        isDirty || isAllDirty || storms.isDirty || !silences.isEmpty || !pastSilences.isEmpty
            || !takes.isEmpty
    }

    /// Returns who sees to an incident, by its number; nil if nobody does at `now`.
    package func take(of incident: Int64, at now: RunningTime) -> Take? {
        takes.all[incident].flatMap { $0.ends > now ? $0 : nil }
    }

    /// Returns the name of the alerts that a storm of this number tells of; nil if there is none.
    package func nameOfStorm(_ episode: Int64) -> AlertName? {
        storms.storms.first { $0.episode == episode }?.queue.name
    }

    /// Returns how many incidents somebody sees to at `now`.
    package func takesCount(at now: RunningTime) -> Int {
        takes.all.values.count { $0.ends > now }
    }

    /// The first silence that mutes an alert with `labels`.
    package func silence(of labels: [Label]) -> Silence? {
        silences.first { $0.matchers.fit(labels) }
    }

    // MARK: - Absence

    /// We did not run: the next page tells it.
    mutating func wasAbsent(from: Timestamp, to: Timestamp) {
        absence = (min(absence?.from ?? from, from), to)
    }

    /// Takes what is to be told of our absence.
    mutating func takeAbsence() -> (from: Timestamp, to: Timestamp)? {
        defer { absence = nil }
        return absence
    }

    // MARK: - Drills

    /// Notes a drill; its end is told once its trigger arrived.
    mutating func drill(_ member: NoticeMember, _ notice: Int64, _ receiver: [UInt8]) {
        drills.append(Drill(member: member, notice: notice, receiver: receiver))
        if drills.count > Self.drillsMax { drills.removeFirst() }
    }

    /// The drill whose trigger is notice `number`, which is over with that.
    mutating func takeDrill(_ number: Int64) -> (member: NoticeMember, receiver: [UInt8])? {
        guard let place = drills.firstIndex(where: { $0.notice == number }) else { return nil }
        let drill = drills.remove(at: place)
        return (drill.member, drill.receiver)
    }

    mutating func code(_ archive: inout Archive) {
        archive.code(&nextNotice)
        archive.code(&nextIncident)
        archive.code(&nextSilence)
        archive.code(&silences, empty: .empty) { $1.code(&$0) }
        archive.code(&pastSilences, empty: .empty) { $1.code(&$0) }
        archive.code(&drills, empty: Drill()) { archive, drill in
            drill.member.code(&archive)
            archive.code(&drill.notice)
            archive.code(&drill.receiver)
        }
        archive.code(&absence, empty: (.distantPast, .distantPast)) { archive, absence in
            archive.code(&absence.from)
            archive.code(&absence.to)
        }
        var isAnyDirty = isDirty || isAllDirty
        archive.code(&isAnyDirty)
        // It follows from whom was told when.
        var nextRepeat = RunningTime.distantFuture
        archive.code(&nextRepeat)
        archive.code(&wantsWatchdog)
        if archive.isReading { isAllDirty = isAnyDirty }
        guard archive.version >= 6 else { return }
        for index in silences.indices { silences[index].codeRequest(&archive) }
        for index in pastSilences.indices { pastSilences[index].codeRequest(&archive) }
        storms.code(&archive)
        guard archive.version >= 8 else { return }
        takes.code(&archive)
    }
}
