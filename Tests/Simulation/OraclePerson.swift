extension Oracle {
    /// The model's statuses, from good to bad. Source: F18.
    enum Status: Int, Comparable {
        case online, degraded, unknown, offline

        /// The status that a text names; nil for any other text.
        init?(_ text: String) {
            switch text {
            case "ONLINE": self = .online
            case "DEGRADED": self = .degraded
            case "UNKNOWN": self = .unknown
            case "OFFLINE": self = .offline
            default: return nil
            }
        }

        /// As printed; nil is not expected. Source: F5.
        static func text(_ status: Status?) -> String {
            switch status {
            case .online: "ONLINE"
            case .degraded: "DEGRADED"
            case .unknown: "UNKNOWN"
            case .offline: "OFFLINE"
            case nil: "NOT_EXPECTED"
            }
        }

        /// Whether `left` is the better one. Source: F18.
        static func < (left: Status, right: Status) -> Bool { left.rawValue < right.rawValue }
    }

    /// Who or what made a change. Source: F21.
    enum Origin: String {
        case contact, server, deadline, duty, policy
    }

    /// Whether somebody works. Source: L1.
    enum Duty {
        case onDuty, onMission, offDuty

        /// The duty that a text names; nil for any other, which keeps the last known. Source: F15.
        init?(_ text: String?) {
            switch text {
            case "ON_DUTY": self = .onDuty
            case "ON_MISSION": self = .onMission
            case "OFF_DUTY": self = .offDuty
            default: return nil
            }
        }
    }

    /// Two thresholds of a person, factors included. Source: L4.
    struct Thresholds: Equatable {
        /// The greatest age of ONLINE.
        var degraded: Span
        /// The greatest age of DEGRADED.
        var offline: Span

        /// What contact of this age makes of somebody. Source: L4.
        func status(ofAge age: Span) -> Status {
            age <= degraded ? .online : age <= offline ? .degraded : .offline
        }
    }

    /// When a fact was told, and by which sequence. Source: F15, I2.
    struct Mention {
        /// The told instant.
        var at: Instant
        /// The highest sequence of the batch, if one told it.
        var sequence: Int64?
    }

    /// A worse status that the server declared and the model took over. Source: L7, F20.
    struct Adoption {
        /// The told instant; later contact undoes it.
        var at: Instant
        /// What was declared.
        var status: Status
    }

    /// All that is known of a responder.
    struct Person {
        /// As the story names them.
        let responderID: String
        /// The same, to compare.
        let name: Name
        /// Nil while not expected. Source: L1.
        var status: Status?

        /// Whether the app was behind at the last contact. Source: F19, P5.
        var isBehind = false
        /// What the phone promised with its newest batch; 0 for nothing. Source: P5.
        var promise: Span = 0
        /// Nil until a duty state or a batch comes. Source: I9.
        var duty: Duty?
        /// The newest duty state that the backend told. Source: F15.
        var dutyByBackend: Mention?
        /// The newest duty state in a batch. Source: F15.
        var dutyByBatch: Mention?
        /// Whether sharing is paused. Source: L1.
        var isPaused = false
        /// When a pause runs out, by the wall. Source: F23.
        var pausedUntil: Wall?
        /// The newest mention of sharing or its pause.
        var sharingTold: Mention?
        /// `ios`, `android`, or a word without a factor.
        var platform: String?
        /// The newest mention of the platform.
        var platformTold: Mention?
        /// The newest telemetry, as a whole. Source: F15.
        var telemetry = StoryTelemetry()
        /// The newest mention of any telemetry.
        var telemetryTold: Mention?
        /// Every depth of the queue that was told, in the order of arrival. Source: F25.
        var depths: [(mention: Mention, depth: Int)] = []
        /// Ten-thousandths of a full battery.
        var battery: Int?
        /// The newest mention of the battery.
        var batteryTold: Mention?
        /// Where they work.
        var region = "default"
        /// Whom they are there with.
        var circles: Set<String> = []
        /// The newest mention of the circles.
        var circlesTold: Mention?
        /// The newest mention of the region.
        var regionTold: Mention?
        /// When a roster left them out; nil if it did not or they came back. Source: F17.
        var retiredAt: Instant?
        /// Silent for so long that they are not expected any more. Source: L10.
        var isForgotten = false

        /// The newest contact. Source: T1, F18.
        var lastContact: Instant?
        /// The product of the factors that held at the last contact. Source: F19.
        var factor = 1.0
        /// When they became active; this and the following matter only while they are.
        var activeSince: Instant = 0
        /// The newest grace since then. Source: B5.
        var grace: Instant?
        /// Whether contact has counted since then. Source: L2, F19.
        var isHeard = false
        /// Ids of transitions told lately, oldest first. Source: F20.
        var transitionIDs: [Name] = []
        /// What was adopted since then and no contact has undone. Source: F20.
        var adopted: [Adoption] = []
        /// The observed time at which lateness begins. Source: L4.
        var degradedDeadline: Span = 0
        /// The observed time at which absence begins. Source: L4, L5.
        var offlineDeadline: Span = 0
        /// When they last became OFFLINE. Source: F22.
        var offlineAt: Instant = 0

        /// The last of ONLINE and OFFLINE since then. Source: A3.
        var lastExtreme: Status?
        /// When they changed between ONLINE and OFFLINE, as far as that counts. Source: F28.
        var changes: [Instant] = []
        /// From enough changes on until there are too few. Source: F28.
        var isFlapping = false
        /// The region in which ResponderOffline counts them. Source: R1.
        var missedIn: String?

        /// The gap that is open. Source: C1.
        var gap: Gap?
        /// What is seen after a gap until its verdict. Source: C2.
        var comeback: Comeback?
        /// What was received from their phones.
        var phones = Phones()
        /// Whether and why they are nudged.
        var nudging = Nudging()

        /// Somebody of whom nothing is known but the id.
        init(responderID: String) {
            self.responderID = responderID
            name = Name(responderID)
        }

        /// Why they are not expected; nil if they are. Source: L1.
        var absence: String? {
            if retiredAt != nil { return "retired" }
            if isForgotten { return "forgotten" }
            guard let duty else { return "no_duty" }
            if duty == .offDuty { return "off_duty" }
            return isPaused ? "paused" : nil
        }

        /// The worst of `status` and what is still adopted. Source: F19, F20.
        func capped(_ status: Status) -> Status {
            adopted.reduce(status) { max($0, $1.status) }
        }
    }

    /// The index of a known person.
    func index(of name: Name) -> Int? { everybody.firstIndex { $0.name == name } }

    /// The index of a person, who is enrolled if unknown. Source: I9.
    mutating func enrolled(_ responderID: String) -> Int {
        let name = Name(responderID)
        if let index = index(of: name) { return index }
        let index = everybody.firstIndex { name < $0.name } ?? everybody.endIndex
        everybody.insert(Person(responderID: responderID), at: index)
        return index
    }
}
