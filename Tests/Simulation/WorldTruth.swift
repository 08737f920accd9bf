/// What really was, for whom evaluates what the engine made of a story.
struct WorldTruth {
    /// One person at the end.
    struct Person {
        var id: String
        /// True if their phone reports; false if it died, or never was.
        var isAlive: Bool
        /// By duty, sharing, erasure and roster (L1).
        var isExpected: Bool
        /// When the phone last reported, by the host's wall; nil if it never did.
        var lastReportAt: Int64?
    }

    /// From here on nothing is wrong any more, by the host's wall.
    var healsAt: Int64
    /// The last line's instant, by the host's wall.
    var endsAt: Int64
    /// In the order of their enrolment in the world.
    var phones: [Person]
    /// Rare situations that the story contains.
    var marks: Set<String>
    /// Times running time, phones that lived: how much fleet life the story tells, milliseconds.
    var fleetMilliseconds: Int64
}
