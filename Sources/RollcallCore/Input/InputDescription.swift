/// An `InputDescription` says what an input takes of a body, by the settings or a preset: which
/// pointer means what. It is compiled to an `InputMapping`, which reads. Source: M1.
package struct InputDescription: Equatable, Sendable {
    /// A `Place` says where a value stands: in the item, or in the body around the items.
    package struct Place: Equatable, Sendable {
        /// The way to it.
        package var pointer: InputPointer
        /// True if it is relative to the body, false if to the item.
        package var isOfRoot: Bool

        /// A value at `pointer`.
        package init(_ pointer: InputPointer, isOfRoot: Bool = false) {
            self.pointer = pointer
            self.isOfRoot = isOfRoot
        }

        /// A value of a preset, relative to the item.
        static func item(_ pointer: StaticString) -> Place { Place(InputPointer(preset: pointer)) }

        /// A value of a preset, relative to the body.
        static func root(_ pointer: StaticString) -> Place {
            Place(InputPointer(preset: pointer), isOfRoot: true)
        }
    }

    /// An `Identity` says where the id of the person may come from.
    package enum Identity: Equatable, Sendable {
        /// A string or an integer of the body.
        case place(Place)
        /// A part of a topic that stands in the body, counted from 1: `owntracks/jane/phone`.
        case topicIn(Place, part: Int)
        /// A part of the topic that the message came by, counted from 1.
        case topic(part: Int)
        /// A header field.
        case header(String)
        /// The user of Basic authentication.
        case user
        /// A parameter of the query.
        case query(String)
        /// The part of the path behind the input's name.
        case path
    }

    /// A `Unit` says how a number that is a time is meant.
    package enum Unit: String, CaseIterable, Sendable {
        /// By its magnitude (P1).
        case auto
        /// Seconds since 1970.
        case seconds = "s"
        /// Milliseconds since 1970.
        case milliseconds = "ms"
        /// As Traccar's OsmAnd protocol has it: by its magnitude, or a date in UTC without a zone.
        case osmand
    }

    /// A `Capture` says when a location was captured.
    package enum Capture: Equatable, Sendable {
        /// The bodies do not say, and hold no locations.
        case never
        /// They do not say, but are sent at once.
        case arrival
        /// The first of these places that has a value.
        case at([Place], Unit)
    }

    /// A `Treatment` says what an item is to us.
    package enum Treatment: Equatable, Sendable {
        /// Contact and a location.
        case location
        /// Contact without a location.
        case contact
        /// Something that somebody else says of the phone: no contact.
        case fact
        /// Nothing.
        case skip
    }

    /// A rule that tells by a value how an item is treated; the first rule that says something holds.
    package struct Rule: Equatable, Sendable {
        /// The value.
        package var place: Place
        /// The texts that it may be, and what they mean.
        package var values: [(text: String, treatment: Treatment)]
        /// The treatment that any other text asks for; nil if the rule says nothing of it.
        package var other: Treatment?
        /// The treatment if there is no value; nil if the rule says nothing of that.
        package var missing: Treatment?

        /// A rule that treats items by the value at `place`.
        package init(
            _ place: Place, _ values: [(text: String, treatment: Treatment)],
            other: Treatment? = nil, missing: Treatment? = nil
        ) {
            self.place = place
            self.values = values
            self.other = other
            self.missing = missing
        }

        package static func == (a: Rule, b: Rule) -> Bool {
            a.place == b.place && a.other == b.other && a.missing == b.missing
                && a.values.elementsEqual(b.values) { $0 == $1 }
        }
    }

    /// A fact and where it stands.
    package struct Fact: Equatable, Sendable {
        package var field: InputField
        /// Places in the order in which they are tried.
        package var places: [Place]
        /// The factor that a number is multiplied by.
        package var scale: Double
        /// Their texts for our words, such as `w` for `wifi`; empty if they are our words already.
        /// An empty word says nothing.
        package var values: [(text: String, word: String)]

        /// A fact at the first of `places` that has a value.
        package init(
            _ field: InputField, _ places: [Place], scale: Double = 1,
            values: [(text: String, word: String)] = []
        ) {
            self.field = field
            self.places = places
            self.scale = scale
            self.values = values
        }

        package static func == (a: Fact, b: Fact) -> Bool {
            a.field == b.field && a.places == b.places && a.scale == b.scale
                && a.values.elementsEqual(b.values) { $0 == $1 }
        }
    }

    /// The places that the id comes from: the first of these that is there.
    package var ids: [Identity] = []
    /// The pointers to the items, each to a list or to one of them; none if the document is one, or
    /// a list.
    package var items: [InputPointer] = []
    package var capture: Capture = .never
    /// The phone's own count of updates, if it has one.
    package var sequence: Place?
    /// The places of the time at which the message was sent, for those that come by way of somebody
    /// else (M8).
    package var sent: [Place] = []
    /// The unit of the time at `sent`.
    package var sentUnit: Unit = .auto
    package var rules: [Rule] = []
    /// Members of which an item has one if it holds a location at all; they are seen, never read.
    package var located: [InputPointer] = []
    package var facts: [Fact] = []
    /// True if bodies come from a server in between, not from the phone (M8).
    package var isForwarded = false
    /// True if an item without a time was captured when it came.
    package var isCapturedOnArrival = false
    /// True if a body without items comes from a phone all the same.
    package var isContactWithoutItems = false
    /// True if the body is a form, or the query.
    package var isForm = false

    /// A description that takes nothing.
    package init() {}
}

/// The facts that an input may take. Source: I9.
package enum InputField: String, CaseIterable, Sendable {
    case batteryLevel = "battery_level"
    case permissionStatus = "permission_status"
    case locationServices = "location_services"
    case powerMode = "power_mode"
    case appState = "app_state"
    case queueDepth = "queue_depth"
    case networkType = "network_type"
    case platform
    case osVersion = "os_version"
    case appVersion = "app_version"
    case manufacturer, model
    case installID = "install_id"
    case dutyState = "duty_state"
    case sharing
    case region

    /// The words that it may be, with their codes in an item; nil for a text, number or flag.
    var words: [(word: String, code: UInt8)]? {
        switch self {
        case .permissionStatus: Self.words(0)
        case .locationServices: Self.words(1)
        case .powerMode: Self.words(2)
        case .appState: Self.words(3)
        case .networkType: Self.words(4)
        case .platform:
            [Platform.ios, .android, .other].map { ("\($0.word)", $0.rawValue) }
        case .dutyState:
            [DutyState.offDuty, .onDuty, .onMission].map { ("\($0.word)", $0.rawValue) }
        case .sharing: Sharing.allCases.map { ("\($0.word)", $0.rawValue) }
        case .batteryLevel, .queueDepth, .osVersion, .appVersion, .manufacturer, .model,
            .installID, .region:
            nil
        }
    }

    /// The code of a text that is none of the words; nil if that says nothing.
    var other: UInt8? {
        switch self {
        case .platform: Platform.other.rawValue
        case .permissionStatus, .powerMode, .appState, .networkType:
            words?.first { $0.word == "other" }?.code
        default: nil
        }
    }

    /// True of what a phone says of itself as a whole (F15).
    var isTelemetry: Bool {
        switch self {
        case .permissionStatus, .locationServices, .powerMode, .appState, .queueDepth,
            .networkType:
            true
        default: false
        }
    }

    private static func words(_ place: Int) -> [(word: String, code: UInt8)] {
        Telemetry.fields[place].values.enumerated().dropFirst().map { ("\($1)", UInt8($0)) }
    }
}
