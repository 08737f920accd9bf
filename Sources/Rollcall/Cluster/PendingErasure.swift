import RollcallCluster
import RollcallCore
import RollcallStore
import RollcallSupport

/// An erasure that is not over in all of a watch: a member's store may still hold something of the
/// person, or the log does. Source: S13.
package struct PendingErasure: Equatable, Sendable {
    /// Its number.
    package var number: Int64
    package var requestedAt: Timestamp
    /// The position of the erasure in the log; below 2 if it came before the log.
    package var position: Int64
    /// The members that have not said that it is over in their stores.
    package var missing: [[UInt8]]
    /// True as long as slots of the log may hold the person.
    package var isInLog: Bool

    /// Those among `erasures` that are not over by what members said in the log. `offset` is the
    /// distance from a turn's number to its position; `names` are those who are waited for.
    static func pending(
        _ erasures: some Sequence<Erasure>, offset: Int64, _ view: LogView, names: [[UInt8]]
    ) -> [PendingErasure] {
        let erased = Dictionary(
            view.notes.map { ($0.member, $0.erased) }, uniquingKeysWith: { max($0, $1) })
        return erasures.compactMap { erasure -> PendingErasure? in
            let position = erasure.turn + offset
            let missing = names.filter { erased[$0] ?? -1 < erasure.turn }
            // What came before the log was never in it.
            let isInLog = position > 1 && view.emptied < position
            guard isInLog || !missing.isEmpty else { return nil }
            return PendingErasure(
                number: erasure.number, requestedAt: erasure.requestedAt, position: position,
                missing: missing, isInLog: isInLog)
        }.sorted { $0.number < $1.number }
    }

    /// All of them in a few words, as `/v1/cluster` tells.
    static func answer(_ pending: [PendingErasure]) -> JSONTree {
        var missing: [[UInt8]] = []
        for name in pending.flatMap(\.missing) where !missing.contains(name) {
            missing.append(name)
        }
        missing.sort { $0.lexicographicallyPrecedes($1) }
        return [
            "pending": .integer(Int64(pending.count)),
            "oldest_at": pending.map(\.requestedAt).min().map { .text(RFC3339.string($0)) } ?? nil,
            "missing": .list(missing.map { .text(String(decoding: $0, as: UTF8.self)) }),
            "in_log": .integer(Int64(pending.count(where: \.isInLog))),
        ]
    }
}
