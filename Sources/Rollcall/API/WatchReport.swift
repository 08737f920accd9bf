import RollcallCore
import RollcallSupport

/// The standing of the watch, as streams carry it beside events: the whole of `GET /v1/status` once, then what
/// changed of it, as a merge patch (RFC 7396). Each change has `as_of`, so that a stream is never silent
/// for long while the watch is well. Source: E3.
struct WatchReport {
    /// The time between two of them; a little more passes until one is sent.
    static let every = Milliseconds.seconds(4)
    /// Lists in which nothing but times changed are sent no more often: 64 sources beat all the time.
    private static let timesEvery = Milliseconds.seconds(60)
    /// The members of which that is true.
    private static let restless = ["sources", "clocks", "store", "subscriptions", "cluster"]

    /// The event that tells all of it.
    let whole: [UInt8]
    /// The event that tells what is not as it was one report ago; nil of the first.
    let change: [UInt8]?

    private let members: [JSONTree.Member]
    /// The instants at which the members were sent last, by the machine's clock.
    private let sentAt: [String: Int64]

    /// The report that follows `last`, of an answer to `GET /v1/status`; nil if that cannot be read.
    init?(_ body: [UInt8], after last: WatchReport?, now: Int64) {
        guard case .object(let news)? = try? JSONTree(reading: body) else { return nil }
        var members: [JSONTree.Member] = []
        var changes: [JSONTree.Member] = []
        var sentAt = last?.sentAt ?? [:]
        for member in news {
            let before = last?.members.first { $0.name == member.name }
            let isUnchanged =
                Self.restless.contains(member.name)
                && before.map { Self.isAlike($0.value, member.value) } ?? false
            if let before, isUnchanged, now - (sentAt[member.name] ?? 0) < Self.timesEvery.count {
                // What they were told holds.
                members.append(before)
                continue
            }
            members.append(member)
            guard before != member else { continue }
            sentAt[member.name] = now
            let patch = before.map { Self.patch($0.value, member.value) } ?? member.value
            changes.append(.init(name: member.name, value: patch))
        }
        for before in last?.members ?? [] where !members.contains(where: { $0.name == before.name })
        {
            changes.append(.init(name: before.name, value: .null))
        }
        self.members = members
        self.sentAt = sentAt
        whole = Self.frame("watch", .object(members))
        change = last.map { _ in Self.frame("watch-change", .object(changes)) }
    }

    private static func frame(_ name: String, _ tree: JSONTree) -> [UInt8] {
        var bytes = Array("event: \(name)\ndata: ".utf8)
        tree.append(to: &bytes)
        return bytes + Array("\n\n".utf8)
    }

    /// True if lists and objects differ in times and sizes alone.
    private static func isAlike(_ before: JSONTree, _ after: JSONTree) -> Bool {
        switch (before, after) {
        case (.list(let old), .list(let new)):
            old.count == new.count && zip(old, new).allSatisfy(isAlikeWithin)
        case (.object, .object): isAlikeWithin(before, after)
        default: false
        }
    }

    private static func isAlikeWithin(_ before: JSONTree, _ after: JSONTree) -> Bool {
        switch (before, after) {
        case (.list(let old), .list(let new)):
            return old.count == new.count && zip(old, new).allSatisfy(isAlikeWithin)
        case (.object(let old), .object(let new)):
            guard old.count == new.count else { return false }
            return zip(old, new).allSatisfy { old, new in
                guard old.name == new.name else { return false }
                let isRestless = old.name.hasSuffix("_at") || old.name.hasSuffix("_bytes")
                return isRestless && old.value != .null && new.value != .null
                    || isAlikeWithin(old.value, new.value)
            }
        default: return before == after
        }
    }

    /// Returns what makes `after` of `before`: lists and plain values whole, of objects what changed.
    private static func patch(_ before: JSONTree, _ after: JSONTree) -> JSONTree {
        guard case .object(let old) = before, case .object(let new) = after else { return after }
        var changes: [JSONTree.Member] = []
        for member in new {
            let former = old.first { $0.name == member.name }
            guard former != member else { continue }
            let value = former.map { patch($0.value, member.value) } ?? member.value
            changes.append(.init(name: member.name, value: value))
        }
        for member in old where !new.contains(where: { $0.name == member.name }) {
            changes.append(.init(name: member.name, value: .null))
        }
        return .object(changes)
    }
}
