import RollcallCore
import Testing

/// A fleet whose engine decides who is told, by the second.
struct NoticeStage {
    static let zero = RunningTime(milliseconds: 1_795_219_200_000)
    var engine: Engine
    /// What was decided about telling, in words.
    private(set) var notified: [String] = []
    /// The summaries of what was told.
    private(set) var summaries: [String] = []

    init(_ receivers: [Receiver], _ words: String = "") throws {
        var policy = try Policy.of(Array("\"\(words)\"".utf8))
        policy.receivers = receivers
        engine = Engine(policy: policy)
    }

    mutating func fold(_ event: Event, at second: Int64) -> Receipt {
        let instant = Self.zero + .seconds(second)
        let receipt = engine.fold(event, at: instant)
        engine.advance(to: instant)
        note()
        return receipt
    }

    mutating func report(_ ids: String, in region: String = "north", at second: Int64) throws {
        let items = ids.split(separator: ",").map {
            "{\"responder_id\":\"\($0)\",\"region\":\"\(region)\"}"
        }
        let body = "[\(items.joined(separator: ","))]"
        let scan = try ItemScanner.scan(Array(body.utf8).span, kind: .batch)
        _ = fold(.items(scan.items, source: []), at: second)
    }

    /// A receiver takes notice `number`.
    mutating func take(_ number: Int64, _ receiver: String, at second: Int64) {
        let end = NoticeEnd(
            notice: number, receiver: Array(receiver.utf8), target: 0, outcome: .delivered,
            took: Milliseconds(5))
        _ = fold(.outcome(end), at: second)
    }

    /// Goes on with what a checkpoint keeps.
    mutating func restore() throws {
        var reader = CheckpointReader()
        let checkpoint = Checkpoint(engine)
        for index in 0..<checkpoint.sliceCount { reader.take(checkpoint.slice(index)) }
        engine = try #require(reader.finish())
    }

    mutating func pass(to second: Int64) {
        engine.advance(to: Self.zero + .seconds(second))
        note()
    }

    mutating func silence(_ matchers: [LabelMatcher], from: Int64, until: Int64) -> Receipt {
        let end = Timestamp(milliseconds: Self.zero.milliseconds + until * 1000)
        let silence = Silence(
            matchers: matchers, endsAt: end, author: Array("kim".utf8), comment: [])
        return fold(.silence(.begin(silence)), at: from)
    }

    private mutating func note() {
        for numbered in engine.takeDecisions() {
            switch numbered.decision {
            case .notice(let at, let notice):
                let members = notice.members.map { member in
                    "\(member.name.word)#\(member.incident)" + Self.subject(member)
                        + (member.fallback.map { " for \(Self.text($0.receiver))" } ?? "")
                }
                summaries += notice.members.map { AlertText($0, name: id).summary }
                notified.append(
                    "\(second(at)) \(Self.text(notice.receiver)) \(notice.kind.word) "
                        + members.joined(separator: " "))
            case .mute(let at, let mute):
                var reason = "blind"
                if case .silence(let number) = mute.reason { reason = "silence \(number)" }
                if case .inhibited(let key) = mute.reason { reason = "by \(key.name.word)" }
                notified.append(
                    "\(second(at)) \(Self.text(mute.receiver)) not told "
                        + "\(mute.key.name.word)#\(mute.incident): \(reason)")
            default: break
            }
        }
    }

    /// Somebody's id; nil if they are erased.
    private func id(_ number: Int) -> [UInt8]? {
        let id = Array(engine.roster.id(number))
        return id.isEmpty ? nil : id
    }

    private func second(_ at: Timestamp) -> Int64 {
        (at.milliseconds - Self.zero.milliseconds) / 1000
    }

    private static func subject(_ member: NoticeMember) -> String {
        let names = ["region", "source"].map { member.labels.value(of: Array($0.utf8)) }
        return names.first { !$0.isEmpty }.map { "(\(text($0)))" } ?? ""
    }

    private static func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }
}

extension Receiver {
    /// A receiver of what fits `match`.
    static func named(
        _ name: String, _ kind: ReceiverKind = .webhook, _ match: [LabelMatcher] = []
    ) -> Receiver {
        var receiver = Receiver(name: Array(name.utf8), kind: kind)
        receiver.match = match
        return receiver
    }
}

extension LabelMatcher {
    /// The condition that label `name` has one of `values`, or none of them.
    static func of(_ name: String, _ values: String..., isEqual: Bool = true) -> LabelMatcher {
        LabelMatcher(
            name: Array(name.utf8), isEqual: isEqual, values: values.map { Array($0.utf8) })
    }
}
