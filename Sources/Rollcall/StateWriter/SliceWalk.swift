import RollcallStore

/// The slices of an older checkpoint that may hold something of people who are erased: the head, all
/// names, and of the people only those slices in which they stand.
///
///     head ──► names, each ──► first people ──► second people ──► those in which somebody erased stands
///
/// The second slice of people says by its first person how many stand in each.
struct SliceWalk {
    /// Index of the slice that is looked at next.
    private(set) var next: Int64 = 0
    private let slices: Int64
    /// The people's numbers.
    private let people: [Int64]
    /// The first slice of people.
    private var firstPeople: Int64?
    private var peopleASlice: Int64?

    /// A walk through a checkpoint for people of these numbers.
    init(_ checkpoint: EngineCheckpoint, of people: [Int64]) {
        slices = checkpoint.slices
        self.people = people
    }

    /// True once no slice is left.
    var isOver: Bool { next >= slices }

    /// Goes on behind the slice at `next`, which begins with person `first`, nil if it holds no people;
    /// false if people do not stand where they should.
    mutating func pass(_ first: Int?) -> Bool {
        if let first = first.map(Int64.init) {
            if let firstPeople {
                let width = peopleASlice ?? first
                guard width > 0, first == width * (next - firstPeople) else { return false }
                peopleASlice = width
            } else {
                guard first == 0 else { return false }
                firstPeople = next
            }
        } else if firstPeople != nil {
            return false
        }
        next += 1
        guard let firstPeople, let peopleASlice else { return true }
        let theirs = people.map { firstPeople + $0 / peopleASlice }
        next = theirs.filter { $0 >= next }.min() ?? slices
        return true
    }
}
