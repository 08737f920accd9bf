/// Different people who fell out of contact at one instant. Source: C1, K2.
package struct SilentPeople: Equatable, Sendable {
    /// Observed time since then.
    package var ago = Milliseconds(0)
    /// Below 0 if so many are not counted there any more: they fell silent again, or are here no more.
    package var people = 0

    package init() {}

    init(ago: Milliseconds, people: Int) { (self.ago, self.people) = (ago, people) }
}
