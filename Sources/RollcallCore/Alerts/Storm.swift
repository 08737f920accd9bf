/// The parts of a state of storms: queues, single alerts that wait, and storms. Source: D11.
extension StormState {
    /// The queue in which alerts wait together: one name for one receiver.
    struct Queue: Hashable, Sendable {
        var receiver: [UInt8] = []
        var name = AlertName.highOfflineRate
    }

    /// A firing that a receiver has not taken by a message of its own.
    struct Single: Equatable, Sendable {
        /// It follows from the firing.
        var key = AlertKey(name: .highOfflineRate, subject: .all)
        /// The numbers of messages of its own that are on their way.
        var notices: [Int64] = []
        /// True if one of them may have arrived: then its end is told for itself.
        var isHeard = false

        /// True if the receiver may know of it by a message of its own.
        var mayBeHeard: Bool { isHeard || !notices.isEmpty }
    }

    /// Many firings of one name that one receiver is told of by one message.
    struct Storm: Equatable, Sendable {
        var queue = Queue()
        /// Its number: a firing's, rising in a store.
        var episode: Int64 = 0
        var startsAt = Timestamp.distantPast
        /// The worst of its members when it was told last.
        var severity = Severity.none
        /// By firing.
        var members: [Int64: Single] = [:]
        /// The number of alerts that ever joined.
        var joined = 0
        /// False once nobody joins any more.
        var isJoinable = true
        var lastJoin = RunningTime.distantPast
        /// The instant at which it was told last, and taken if it was, and the number of its
        /// members then; 0 before.
        var notifiedAt = RunningTime.distantPast
        var notifiedCount = 0
        /// The numbers of its messages that are on their way.
        var notices: [Int64] = []
        /// The number of its first message, as long as it is not known to be taken; else 0.
        var trigger: Int64 = 0
        /// The instant until which somebody sees to it, or to all of its members. It follows from the
        /// takes (R2).
        var heldUntil = RunningTime.distantPast

        /// True if it has grown so much that it is told again.
        var isDoubled: Bool { members.count >= 2 * notifiedCount }
    }
}

extension StormState.Queue {
    static func areInOrder(_ a: Self, _ b: Self) -> Bool {
        a.receiver == b.receiver
            ? a.name.rawValue < b.name.rawValue : a.receiver.lexicographicallyPrecedes(b.receiver)
    }

    mutating func code(_ archive: inout Archive) {
        archive.code(&receiver)
        archive.code(&name)
    }
}

extension StormState.Single {
    static func code(_ all: inout [Int64: Self], _ archive: inout Archive) {
        var incidents = all.keys.sorted()
        archive.code(&incidents, empty: 0) { archive, incident in
            archive.code(&incident)
            var single = all[incident] ?? Self()
            archive.code(&single.notices)
            archive.code(&single.isHeard)
            all[incident] = single
        }
    }
}

extension StormState.Storm {
    mutating func code(_ archive: inout Archive) {
        queue.code(&archive)
        archive.code(&episode)
        archive.code(&startsAt)
        archive.code(&severity)
        StormState.Single.code(&members, &archive)
        archive.code(&joined)
        archive.code(&isJoinable)
        archive.code(&lastJoin)
        archive.code(&notifiedAt)
        archive.code(&notifiedCount)
        archive.code(&notices)
        archive.code(&trigger)
    }
}
