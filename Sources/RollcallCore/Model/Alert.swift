/// What makes an alert the same one over time. Source: design §6 A1.
package struct AlertKey: Hashable, Sendable {
    package var name: AlertName
    package var subject: AlertSubject
}

/// An alert that is pending or firing. Source: design §6 A1.
package struct Alert: Equatable, Sendable {
    /// `pending` or `firing`.
    package internal(set) var state = AlertState.pending
    /// Since when it is true without a break, by the clock that it is judged in.
    var since: Int64 = 0
    /// Since when a firing one is false; nil while it is true.
    var falseSince: Int64?
    /// Wall time at which it became true.
    package internal(set) var activeAt = Timestamp.distantPast
    /// Wall time at which it fired.
    package internal(set) var startsAt = Timestamp.distantPast
    /// The numbers of the last time that it was true.
    package internal(set) var figures = AlertFigures()
}

/// The numbers behind an alert. Source: design §6 A2 to A4.
package struct AlertFigures: Equatable, Sendable {
    /// OFFLINE people, flapping people, people without contact, or missing sources.
    package var count = 0
    /// Of so many: active people, or declared sources.
    package var total = 0

    package init(count: Int = 0, total: Int = 0) {
        self.count = count
        self.total = total
    }
}

/// A change of an alert, as it is told. Source: design §6, fine print F5.
package struct AlertReport: Equatable, Sendable {
    package var key: AlertKey
    package var state: AlertState
    package var severity: Severity
    package var activeAt: Timestamp
    /// `distantPast` if it never fired.
    package var startsAt: Timestamp
    package var figures: AlertFigures
}

extension AlertReport {
    /// The report as the store keeps it. A field's place, once written, stays.
    package var journalBytes: [UInt8] {
        var copy = self
        var archive = Archive()
        copy.code(&archive)
        return archive.bytes
    }

    private mutating func code(_ archive: inout Archive) {
        key.code(&archive)
        archive.code(&state)
        archive.code(&severity)
        archive.code(&activeAt)
        archive.code(&startsAt)
        archive.code(&figures.count)
        archive.code(&figures.total)
    }
}
