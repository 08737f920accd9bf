/// A `Pace` says how often those who are active are expected to report, summed up as people change.
/// Source: F11, P5.
package struct Pace: Equatable, Sendable {
    /// The people of one kind.
    struct Counts: Equatable, Sendable {
        var onDuty = 0
        var onDutyBehind = 0
        var onMission = 0
        var onMissionBehind = 0

        @inline(__always)
        mutating func change(_ person: Responder, by step: Int) {
            switch (person.duty == .onMission, person.isBehind) {
            case (false, false): onDuty += step
            case (false, true): onDutyBehind += step
            case (true, false): onMission += step
            case (true, true): onMissionBehind += step
            }
        }

        mutating func code(_ archive: inout Archive) {
            archive.code(&onDuty)
            archive.code(&onDutyBehind)
            archive.code(&onMission)
            archive.code(&onMissionBehind)
        }
    }

    /// Reports of promises are counted in these, so that sums are exact in whatever order people come
    /// and go: a billion are one a millisecond.
    static let parts: Int64 = 1_000_000_000

    /// Everybody who is active.
    private(set) var people = Counts()
    /// Those of them whose promise counts.
    private(set) var promising = Counts()
    /// The reports that these promise, in `parts` a millisecond.
    private(set) var promised: Int64 = 0
    /// The longest that any of these may be silent for their promise; 0 without any.
    fileprivate(set) var longest = Milliseconds(0)

    init() {}

    /// An active person without a promise that counts comes or goes.
    @inline(__always)
    fileprivate mutating func change(_ person: Responder, by step: Int) {
        people.change(person, by: step)
    }

    /// One with a promise comes or goes, of whom so much is expected.
    fileprivate mutating func change(_ person: Responder, by step: Int, every: Milliseconds) {
        people.change(person, by: step)
        promising.change(person, by: step)
        promised += Int64(step) * (Self.parts / max(1, every.count))
    }

    mutating func code(_ archive: inout Archive) {
        people.code(&archive)
        promising.code(&archive)
        archive.code(&promised)
        archive.code(&longest)
    }

    /// Everybody who is active, by duty.
    var byDuty: (onDuty: Int, onMission: Int) {
        (people.onDuty + people.onDutyBehind, people.onMission + people.onMissionBehind)
    }

    /// As it was kept before there were promises: people by duty.
    init(onDuty: Int, onMission: Int) {
        people.onDuty = onDuty
        people.onMission = onMission
    }
}

/// Keeps the pace of all who are active. What a promise comes to follows from settings, which are told
/// beforehand.
struct PaceBook: Sendable {
    private(set) var pace = Pace()
    /// People by the longest that they may be silent for their promise, in milliseconds.
    private var patience: [Int64: Int] = [:]
    private var policy: PacePolicy

    init(_ policy: PacePolicy) { self.policy = policy }

    /// An active person comes or goes.
    @inline(__always)
    mutating func change(_ person: Responder, by step: Int) {
        if person.promise == 0 { return pace.change(person, by: step) }
        changePromising(person, by: step)
    }

    private mutating func changePromising(_ person: Responder, by step: Int) {
        let promise = policy.promise(person)
        guard promise.count > 0 else { return pace.change(person, by: step) }
        pace.change(person, by: step, every: max(promise, policy.expected(person)))
        let silent = promise.count * 3
        let count = (patience[silent] ?? 0) + step
        patience[silent] = count == 0 ? nil : count
        if count > 0 {
            pace.longest.count = max(pace.longest.count, silent)
        } else if silent == pace.longest.count {
            pace.longest.count = patience.keys.max() ?? 0
        }
    }
}

/// A `PacePolicy` holds what the settings say of how often somebody is expected to report.
struct PacePolicy: Equatable, Sendable {
    private var expected: [Milliseconds]
    private var promiseMost: [Milliseconds]

    init(expected: [Milliseconds], promiseMost: [Milliseconds]) {
        self.expected = expected
        self.promiseMost = promiseMost
    }

    /// As of `Policy.promise`.
    func promise(_ person: Responder) -> Milliseconds {
        min(
            .seconds(Int64(person.promise)),
            promiseMost[person.duty == .onMission ? 1 : 0])
    }

    func expected(_ person: Responder) -> Milliseconds {
        expected[(person.duty == .onMission ? 2 : 0) + (person.isBehind ? 1 : 0)]
    }
}
