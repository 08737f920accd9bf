import RollcallCore

@testable import RollcallBasis

/// Messages as tests send them.
enum NotificationSamples {
    /// 2026-11-21T03:00:00Z.
    static let time = Timestamp(milliseconds: 1_795_230_000_000)

    static func labels(_ pairs: [(String, String)]) -> [Label] {
        pairs.map { Label(Array($0.0.utf8), Array($0.1.utf8)) }
    }

    /// A region without anybody online, or that again has somebody.
    static func alert(
        region: String = "north", incident: Int = 17, endsAt: Timestamp? = nil,
        change: (inout NotificationAlert) -> Void = { _ in }
    ) -> NotificationAlert {
        let over = endsAt == nil ? "" : "Over: "
        var alert = NotificationAlert(
            key: "rollcall-00000000000000ab-\(incident)", isFiring: endsAt == nil,
            labels: labels([
                ("alertname", "NoOnlineResponders"), ("region", region), ("severity", "critical"),
                ("team", ""),
            ]),
            annotations: labels([
                ("description", "None of 6 is ONLINE."), ("runbook_url", "https://runbooks/a?b&c"),
                ("summary", "\(over)Nobody can be reached in \(region), 6 of 6 silent"),
            ]),
            details: labels([("count", "6"), ("causes", "4 low_power, 2 no_network")]),
            startsAt: time, endsAt: endsAt, generatorURL: "https://rollcall.example.org/v1/alerts")
        change(&alert)
        return alert
    }

    static func message(
        _ alerts: [NotificationAlert], kind: Notice.Kind = .fired, memberCount: Int? = nil
    ) -> NotificationMessage {
        NotificationMessage(
            id: "msg_00000000000000ab_5", receiver: "oncall", kind: kind, alerts: alerts,
            memberCount: memberCount, externalURL: "https://rollcall.example.org")
    }

    static func address(
        _ kind: ReceiverKind, _ urls: [String] = []
    ) -> ReceiverAddress {
        var address = ReceiverAddress(name: "oncall", kind: kind)
        address.urls = urls
        return address
    }

    static func address(
        _ kind: ReceiverKind, _ urls: [String] = [],
        change: (inout ReceiverAddress) throws -> Void
    ) rethrows -> ReceiverAddress {
        var address = address(kind, urls)
        try change(&address)
        return address
    }

    static func secret(_ text: String) throws -> Secret { try Secret(Array(text.utf8)) }

    static func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }
}
