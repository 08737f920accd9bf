/// The cause for which what was known is not known any more, or not all of it. The words are stored
/// and answered.
package enum StateLossCause: UInt8, CaseIterable, Sendable {
    /// The store was damaged; it is put aside.
    case damaged = 0
    /// Another application's file stood in the store's place; it is put aside.
    case foreign = 1
    /// The store was not there, or empty, although there had been one.
    case gone = 2
    /// The store is older than what was acknowledged: a copy from before, or its log is lost.
    case older = 3

    /// The name of the annotation that says it.
    static let annotation = Array("reason".utf8)

    /// The word in JSON, in the log and in annotations.
    package var word: StaticString {
        switch self {
        case .damaged: "damaged"
        case .foreign: "foreign"
        case .gone: "gone"
        case .older: "older"
        }
    }

    /// Behind "Rollcall lost what it knew: ".
    var words: String {
        switch self {
        case .damaged: "its store was damaged and is put aside"
        case .foreign: "another program's file was in its store's place"
        case .gone: "its store was gone"
        case .older: "its store is older than what it acknowledged"
        }
    }

    /// A text that tells what follows from it.
    var description: String {
        self == .older
            ? "What was acknowledged after the store's end is gone; phones send what they were not "
                + "told was taken. Messages and nudges of that time are forgotten: nudges rest for "
                + "nudges.min_interval."
            : "It began empty: people are known again as backends name them or phones report. "
                + "Silences, open alerts and history are gone, and what pagers hold open of before "
                + "is not resolved. Nudges rest for nudges.min_interval."
    }
}

extension StoreAlarm.Subject {
    /// The alert without times.
    package var member: NoticeMember {
        var member = NoticeMember()
        member.name = name
        let severity = AlertRules()[name].severity
        member.labels = [
            Label("alertname", name.word.bytes), Label("severity", severity.word.bytes),
        ]
        if case .lost(let cause) = self {
            member.annotations = [Label(StateLossCause.annotation, cause.word.bytes)]
        }
        return member
    }
}
