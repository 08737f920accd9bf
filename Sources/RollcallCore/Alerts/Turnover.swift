/// A person who left or came back while ResponderOffline fires in their region. Source: R1.
package struct Absentee: Equatable, Sendable {
    package var number = 0
    /// The cause that is suspected while they are away; of those who are back the one that was.
    package var cause = GapCause.unexplained
    /// The verdict, once it is known.
    package internal(set) var verdict: GapVerdict?
    /// For how long they were OFFLINE, in observed time; of those who are back.
    package var absence = Milliseconds(0)
    /// True of those who are back; false of those who are not counted there any more.
    package var isBack = false
    /// True if they left since the last message as well.
    package internal(set) var isBrief = false
    /// The place among all who left or came back since it fired.
    var serial: Int64 = 0

    /// Person `number`, who is away for `cause`.
    package init(number: Int = 0, cause: GapCause = .unexplained) {
        self.number = number
        self.cause = cause
    }

    /// Person `number`, who was OFFLINE for `absence`; `isBack` is false if they are only not counted
    /// there any more.
    package init(number: Int, cause: GapCause, absence: Milliseconds, isBack: Bool) {
        self.init(number: number, cause: cause)
        (self.absence, self.isBack) = (absence, isBack)
    }

    mutating func code(_ archive: inout Archive) {
        archive.code(&number)
        archive.code(&cause)
        archive.code(&verdict, empty: .unexplained) { $0.code(&$1) }
        archive.code(&absence)
        archive.code(&isBack)
        archive.code(&isBrief)
        archive.code(&serial)
    }
}

/// The changes that one message tells of. Source: R1.
package struct TurnoverFacts: Equatable, Sendable {
    /// Those who became OFFLINE and are, the newest last.
    package var left: [Absentee] = []
    /// Those who were OFFLINE and are not, the newest last.
    package var back: [Absentee] = []
    /// Further ones, who are not named.
    package var moreLeft = 0
    package var moreBack = 0

    package init() {}

    mutating func code(_ archive: inout Archive) {
        archive.code(&left, empty: Absentee()) { $1.code(&$0) }
        archive.code(&back, empty: Absentee()) { $1.code(&$0) }
        archive.code(&moreLeft)
        archive.code(&moreBack)
    }
}

/// The people who left and came back since ResponderOffline fires in a region: the newest of them, and
/// how many there were. Source: R1.
struct Turnover: Equatable, Sendable {
    /// A receiver hears of changes at most this often, in running time.
    static let every = Milliseconds.seconds(30)

    /// A place in it: how many had left and come back.
    struct Mark: Equatable, Sendable {
        var left: Int64 = 0
        var back: Int64 = 0

        var serial: Int64 { left + back }

        mutating func code(_ archive: inout Archive) {
            archive.code(&left)
            archive.code(&back)
        }
    }

    /// All changes so far.
    private(set) var mark = Mark()
    /// The numbers of now, also while it is kept firing.
    var stats = AlertStats()
    /// The newest ones, the newest last.
    private(set) var left: [Absentee] = []
    private(set) var back: [Absentee] = []

    /// Somebody became OFFLINE; `most` are remembered.
    mutating func leave(_ absentee: Absentee, most: Int) {
        mark.left += 1
        Self.append(absentee, mark.serial, to: &left, most)
    }

    /// Somebody is not OFFLINE any more, or not counted there; `most` are remembered.
    mutating func comeBack(_ absentee: Absentee, most: Int) {
        mark.back += 1
        Self.append(absentee, mark.serial, to: &back, most)
    }

    private static func append(
        _ absentee: Absentee, _ serial: Int64, to list: inout [Absentee], _ most: Int
    ) {
        if list.count >= most { list.removeFirst(list.count - max(0, most - 1)) }
        guard most > 0 else { return list = [] }
        list.append(absentee)
        list[list.count - 1].serial = serial
    }

    /// Notes the verdict of somebody's absence.
    mutating func learn(_ verdict: GapVerdict, _ number: Int) {
        guard let place = back.lastIndex(where: { $0.number == number }) else { return }
        back[place].verdict = back[place].verdict ?? verdict
    }

    /// Some are here no more: they are not named, and still counted.
    mutating func forget(_ numbers: Set<Int>) {
        left.removeAll { numbers.contains($0.number) }
        back.removeAll { numbers.contains($0.number) }
    }

    /// Returns the changes since a place, of which the newest are named; each person once, by what they
    /// did last.
    func news(since last: Mark) -> TurnoverFacts {
        var facts = TurnoverFacts()
        let recent = (left + back).filter { $0.serial > last.serial }
            .sorted { $0.serial < $1.serial }
        func isLast(_ absentee: Absentee) -> Bool {
            recent.last { $0.number == absentee.number }?.serial == absentee.serial
        }
        let gone = left.filter { $0.serial > last.serial }
        let returned = back.filter { $0.serial > last.serial }
        facts.left = gone.filter(isLast)
        facts.back = returned.filter(isLast).map { absentee in
            var absentee = absentee
            absentee.isBrief = gone.contains { $0.number == absentee.number }
            return absentee
        }
        facts.moreLeft = Int(mark.left - last.left) - gone.count
        facts.moreBack = Int(mark.back - last.back) - returned.count
        return facts
    }

    mutating func code(_ archive: inout Archive) {
        mark.code(&archive)
        stats.code(&archive)
        archive.code(&left, empty: Absentee()) { $1.code(&$0) }
        archive.code(&back, empty: Absentee()) { $1.code(&$0) }
    }
}
