/// What happens in a simulated fleet, line by line, as `rollcall replay` would read it.
///
/// A world writes it, the engine folds it as JSON, the oracle reads it as it stands here. Times are
/// milliseconds since 1970 by the host's wall clock, which may step.
struct Story {
    /// What drew it; with the world's version it is the story's name.
    var seed: UInt64
    /// The settings in force before the first line.
    var policy = StoryPolicy()
    /// In time order.
    var lines: [StoryLine] = []
}

/// One line of a replay file: an instant, who sent it, what it says.
struct StoryLine {
    /// The wall when it is folded; after the step in a `clock` line.
    var at: Int64
    /// The backend instance; nil is `default` (F10).
    var source: String?
    var event: StoryEvent
}

/// What is told with a roster. Source: I9.
struct RosterNote: Equatable {
    var allowsShrink = false
    /// The roster that it is a part of; empty for a whole one.
    var id = ""
    var hasMore = false
}

/// The kinds of the journal's events. Source: J1, F5.
enum StoryEvent {
    case batch([BatchItem])
    case transition([TransitionItem])
    case responder([FactItem])
    /// A roster, whole or in parts: who is not in it is retired.
    case roster([FactItem], RosterNote)
    case erase(responderID: String)
    /// Zero disarms.
    case heartbeat(everySeconds: Int)
    /// The clock of the line's source is so far behind, as a minute says.
    case skew(milliseconds: Int64)
    case clock(stepMilliseconds: Int64)
    case store(isFailing: Bool)
    /// Writes answered 503 for our own reasons.
    case refused(count: Int)
    case policy(StoryPolicy)
    case silence(StorySilence)
    case silenceEnd(number: Int64)
    case take(StoryTake)
    /// Nobody sees to the incident any more.
    case giveBack(incident: Int64)
    case ask(StoryAsk)
    /// Without a `stop` before it: a crash, after which the last line is the last that was seen.
    case start
    case stop
    /// A sign of life; late by as much, nil if it tells by its own distance.
    case turn(lateMilliseconds: Int64?)
}

/// What a phone said of itself with a location batch. Nil is not sent.
struct BatchItem {
    var responderID: String
    var receivedAt: Int64?
    var dutyState: String?
    var region: String?
    var circles: [String]?
    var sharing: String?
    var platform: String?
    var installID: String?
    /// The phone's promise in seconds.
    var nextExpectedIn: Int64?
    /// Ten-thousandths of a full battery.
    var battery: Int?
    var telemetry = StoryTelemetry()
    var updates: [StoryUpdate] = []
}

/// The telemetry object of a batch: sent when any member is. It is taken as a whole, so that a member
/// that is not sent becomes unknown (F15).
struct StoryTelemetry: Equatable {
    /// `granted` or `denied`.
    var permissionStatus: String?
    var locationServices: Bool?
    /// `low_power` or `normal`.
    var powerMode: String?
    /// `foreground`, `background`, `suspended` or `terminated`.
    var appState: String?
    /// `wifi`, `cellular` or `none`.
    var networkType: String?
    var queueDepth: Int?

    /// True if the object is sent.
    var isSent: Bool { self != StoryTelemetry() }
}

/// One update of a batch.
struct StoryUpdate {
    /// Nil for an update that its capture identifies (P4).
    var sequence: Int64?
    /// By the phone's own clock; nil is no location.
    var capturedAt: Int64?
    var isCached = false
}

/// The backend's own status transition.
struct TransitionItem {
    var responderID: String
    var from: String
    var to: String
    var at: Int64?
    var id: String?
}

/// Facts that the backend knows, or an entry of a roster.
struct FactItem {
    var responderID: String
    var dutyState: String?
    var region: String?
    var circles: [String]?
    var sharing: String?
    var pausedUntil: Int64?
    var platform: String?
    var pushToken: String?
    var at: Int64?
}

/// The settings that decide, as far as the simulation varies them.
struct StoryPolicy: Equatable {
    /// Thresholds of one duty state, milliseconds.
    struct Profile: Equatable {
        var expected: Int64
        var degradedAfter: Int64
        var offlineAfter: Int64
    }

    /// The same with the app behind; nil as in front.
    var onDutyBehind: Profile?
    var onMissionBehind: Profile?
    /// No promise is believed for longer, nor on a mission, milliseconds.
    var promiseMax: Int64 = 10_800_000
    var missionPromiseMax: Int64 = 0
    var onDuty = Profile(expected: 60_000, degradedAfter: 90_000, offlineAfter: 180_000)
    var onMission = Profile(expected: 15_000, degradedAfter: 30_000, offlineAfter: 60_000)
    var lowPowerFactor = 1.0
    var iosFactor = 1.0
    var androidFactor = 1.0
    /// False: `observe`.
    var adoptsServerTransitions = true
    var forgetAfter: Int64 = 7 * 24 * 3_600_000
    /// So many ONLINE at the last batch, and a stalled feed may be suspected (B3).
    var feedMinActive = 20
    /// Without a batch from anyone, milliseconds.
    var feedStallAfter: Int64 = 45_000
    /// Regions that must always be staffed.
    var coverage: [String] = []
    var alerts = StoryAlerts()
    var nudges = StoryNudges()
    /// Who is told. A replay tells nobody: they are no part of the settings' text.
    var receivers: [StoryReceiver] = []
}

/// What a step is expected to print, or printed. Source: V7.
enum StoryDecision: Equatable {
    /// `from` and `to` are statuses or `NOT_EXPECTED`; `origin` as in F21.
    case status(at: Int64, responderID: String, from: String, to: String, origin: String)
    case blind(at: Int64, begins: Bool, since: Int64, reason: String)
    /// `state`: `open`, `judged`, `closed`, `verdict`; the evidence is not compared.
    case gap(at: Int64, responderID: String, state: String, suspected: String, verdict: String?)
    /// `state`: `pending`, `firing`, `resolved`, `inactive`; labels and value as JSON.
    case alert(at: Int64, name: String, state: String, labels: String, value: String)
    /// `kind`: `fired`, `repeated`, `resolved`. No replay prints it.
    case notice(at: Int64, receiver: String, kind: String, alerts: [StoryTold])
    /// Why a receiver is not told of an alert. No replay prints it.
    case mute(at: Int64, receiver: String, alert: String, reason: String)
    /// `answer`: `taken`, which has an end by the wall, `given back`, or why not. No replay prints it.
    case take(at: Int64, incident: Int64, answer: String, until: Int64?)
    /// `decision`: `send`, `ask` for one that is sent because somebody asked, `hold`, which has a reason.
    case nudge(at: Int64, responderID: String, decision: String, reason: String?)
    /// `answer`: `send`, `dry_run`, `outsider`, `disabled`, `unknown`, or why not, behind the
    /// decision; `until` when that ends by the wall. No replay prints it.
    case ask(at: Int64, responderID: String, answer: String, until: Int64?)
    /// `state`: `right`, `unsure`, `corrected`, `too_far`, `unmeasured`.
    case skew(at: Int64, source: String, state: String, skew: Int64, correction: Int64)
    /// `outcome`: `accepted`, `duplicate`, `late`.
    /// Without a sequence it was captured at some instant.
    case update(
        at: Int64, responderID: String, sequence: Int64?, captured: Int64?, outcome: String)
}

/// An alert that a receiver is told of.
struct StoryTold: Equatable {
    /// The number of the firing.
    var incident: Int64
    /// The name and the labels of the identity.
    var alert: String
}

/// What everybody can see of one person after a step.
struct StoryPerson: Equatable {
    var responderID: String
    /// A status or `NOT_EXPECTED`.
    var status: String
    /// Why not expected: `retired`, `forgotten`, `no_duty`, `off_duty`, `paused`; nil if expected.
    var notExpected: String?
}
