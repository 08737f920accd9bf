/// The news that settings which were read again bring of the way to an address, or to the sink of
/// pushes: that it is another one, never what it is (J1).
package enum EndpointChange: Int, Comparable, Sendable {
    /// Nothing. Whoever has them read again may have repaired the other side.
    case same = 0
    /// Other secrets: what was refused may be taken now.
    case secret = 1
    /// Another URL, or others who vouch for it: what was met at the old one says nothing of it.
    case place = 2

    package static func < (a: EndpointChange, b: EndpointChange) -> Bool { a.rawValue < b.rawValue }
}

/// The changes of the ways to all addresses, and to the sink of pushes.
package struct EndpointChanges: Equatable, Sendable {
    /// By address; what is not in here is as it was.
    package var queues: [QueueKey: EndpointChange] = [:]
    /// Of the sink of pushes.
    package var sink = EndpointChange.same

    /// Nothing has changed.
    package init() {}

    /// Returns the change of the way to an address.
    func of(_ key: QueueKey) -> EndpointChange { queues[key] ?? .same }
}
