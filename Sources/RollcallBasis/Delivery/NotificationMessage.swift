import RollcallCore
import RollcallSupport

/// One message to a receiver, before it is put in the words of its kind: names are in it, texts are
/// made, and links. Source: A8.
package struct NotificationMessage: Equatable, Sendable {
    /// `msg_<store>_<notice>`, the same over retries; a webhook's id also tells bodies apart.
    package var id: String
    /// The receiver's name.
    package var receiver: String
    package var kind: Notice.Kind
    /// The members first, then, as context, what else of the same name the receiver was told and
    /// has not ended.
    package var alerts: [NotificationAlert]
    /// The number of `alerts` that are members.
    package var memberCount: Int
    /// The number of further alerts that belong to `context`, of which nothing is said but that
    /// they fire.
    package var contextMore: Int
    /// The URL at which we are reached from outside; empty if that is not known.
    package var externalURL: String
    /// False for what goes out because nothing can be decided any more (S18).
    package var needsPermit = true

    /// A message whose `alerts` are all members, if nothing else is said.
    package init(
        id: String, receiver: String, kind: Notice.Kind, alerts: [NotificationAlert],
        memberCount: Int? = nil, contextMore: Int = 0, externalURL: String
    ) {
        self.id = id
        self.receiver = receiver
        self.kind = kind
        self.alerts = alerts
        self.memberCount = min(max(0, memberCount ?? alerts.count), alerts.count)
        self.contextMore = contextMore
        self.externalURL = externalURL
    }

    /// The alerts that the message is about.
    package var members: ArraySlice<NotificationAlert> { alerts.prefix(memberCount) }
    /// The alerts that the receiver knows already, of the same name.
    package var context: ArraySlice<NotificationAlert> { alerts.dropFirst(memberCount) }
    /// True while one alert of it fires.
    package var isFiring: Bool { contextMore > 0 || alerts.contains { $0.isFiring } }
}

/// One alert of a message.
package struct NotificationAlert: Equatable, Sendable {
    /// `rollcall-<store>-<incident>`, of a storm `rollcall-<store>-<name>-<storm>`, of a fallback with
    /// `-<receiver>` behind it: what a pager tells
    /// incidents apart by.
    package var key: String
    package var isFiring: Bool
    /// By name.
    package var labels: [Label]
    /// `summary`, `description`, those of the settings, `runbook_url`.
    package var annotations: [Label]
    /// Numbers, threshold, causes, members: for fields.
    package var details: [Label]
    /// The instant at which it fired.
    package var startsAt: Timestamp
    /// Nil while it fires.
    package var endsAt: Timestamp?
    /// The URL at which more is known about it; empty if that is not known.
    package var generatorURL: String
}

extension NotificationAlert {
    /// A label's value as text; empty without one.
    func label(_ name: String) -> String { NotificationWords.value(name, in: labels) }

    /// An annotation's value as text; empty without one.
    func annotation(_ name: String) -> String { NotificationWords.value(name, in: annotations) }

    /// Annotations, and the details as such: the formats of this field know no other place for
    /// them. What the settings say wins.
    var fields: [Label] { (annotations + details).ordered() }

    /// Returns what is said of it beyond its name, its severity, its summary and its runbook.
    var further: [Label] {
        let said = ["alertname", "severity", "summary", "runbook_url"].map { Array($0.utf8) }
        return (details + annotations + labels).filter { !said.contains($0.name) }
    }

    /// The links to look at, by what each is called.
    var links: [(name: String, url: String)] {
        [("Runbook", annotation("runbook_url")), ("Rollcall", generatorURL)]
            .filter { !$0.1.isEmpty }
    }

    /// The word that begins what channels show of it.
    var mark: String { isFiring ? "FIRING" : "RESOLVED" }

    /// The summary without the word that tells its end, where another one does.
    var headline: String {
        let summary = annotation("summary")
        return isFiring || !summary.hasPrefix("Over: ") ? summary : String(summary.dropFirst(6))
    }
}
