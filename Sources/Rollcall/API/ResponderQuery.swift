import RollcallCore
import RollcallSupport

/// The status of anybody, also of those who are not expected.
enum ShownStatus: CaseIterable, Sendable {
    case online, degraded, unknown, offline, notExpected

    /// The status of a person.
    init(_ person: Responder) {
        guard person.isActive else {
            self = .notExpected
            return
        }
        self =
            switch person.status {
            case .online: .online
            case .degraded: .degraded
            case .unknown: .unknown
            case .offline: .offline
            }
    }

    /// The word in answers and parameters.
    var word: StaticString {
        switch self {
        case .online: Status.online.word
        case .degraded: Status.degraded.word
        case .unknown: Status.unknown.word
        case .offline: Status.offline.word
        case .notExpected: "NOT_EXPECTED"
        }
    }
}

/// A part of a battery, in percent: above the first number, up to the second.
enum BatteryBand: Int, CaseIterable, Sendable {
    case unknown, empty, low, half, full

    /// The band of so many ten-thousandths of a full battery; negative ones were not told.
    init(_ battery: Int16) {
        self =
            switch battery {
            case ..<0: .unknown
            case ...500: .empty
            case ...2000: .low
            case ...5000: .half
            default: .full
            }
    }

    /// The word in answers and parameters.
    var word: StaticString {
        switch self {
        case .unknown: "unknown"
        case .empty: "0-5"
        case .low: "5-20"
        case .half: "20-50"
        case .full: "50-100"
        }
    }
}

/// The people whom a question is about, and for a list their order. Source: V12.
struct ResponderQuery: Sendable {
    var statuses: [ShownStatus] = []
    var reachable: [Reachable] = []
    var duties: [DutyState] = []
    var notExpected: [NotExpected] = []
    var sharing: [Sharing] = []
    var platforms: [Platform] = []
    var causes: [GapCause] = []
    var batteries: [BatteryBand] = []
    /// The values that are looked for of each of `Telemetry.fields`.
    var telemetry: [[UInt8]] = Telemetry.fields.map { _ in [] }
    var region: NameChoice?
    var circle: NameChoice?
    var manufacturer: NameChoice?
    var model: NameChoice?
    var osVersion: NameChoice?
    var appVersion: NameChoice?
    var silentSince: Timestamp?
    var silentUntil: Timestamp?
    /// The text that is searched for in ids, in small letters.
    var text: [UInt8] = []
    var order: ResponderOrder?
    var after: [UInt8]?
    /// The person who is to be replaced, as they cannot be reached.
    var insteadOf: [UInt8]?
    var limit = Router.limitStandard
    /// True if the answer is to have a cursor behind each person.
    var hasCursors = false

    /// Characters of a `q` at most: an id has no more.
    static let textMax = 128

    /// The order of the list that is asked for; nil of one as people were enrolled.
    var orderInForce: ResponderOrder? {
        order ?? (text.isEmpty ? nil : ResponderOrder(sort: .relevance))
    }

    static let parameters = Parameters(
        ResponderQuery(),
        filters + [
            Parameter(
                "sort",
                """
                The key to sort by, with `-` in front the other way round: \
                \(ResponderOrder.words.map { "`\($0)`" }.joined(separator: ", ")). Where it is the same, \
                by id; those of whom it is not known come last. Without one people come as they were \
                enrolled, and if something is searched for those whose id begins with it first.
                """, ["type": "string"]
            ) { (query, value) throws(ParameterError) in
                guard let order = ResponderOrder(value) else {
                    let words = ResponderOrder.words.joined(separator: ", ")
                    throw ParameterError(
                        detail: "sort: one of \(words) expected, maybe with - in front")
                }
                query.order = order
            },
            .text("after", "The `next` of the answer before.", into: \.after),
            .limit(
                "People in the answer at most.", standard: Router.limitStandard, into: \.limit),
            .flag(
                "cursors",
                """
                True for `cursors` in the answer, each the `after` of what comes behind a person; goes with \
                `sort` or `q`. A gateway makes one list of several cells' by them.
                """, standard: false, into: \.hasCursors),
            .text(
                "instead_of",
                """
                Who can be reached instead of this person: of the same region or a circle of theirs \
                first, then who is ON_DUTY, then whose location is the newest. Goes with `limit` alone.
                """, OpenAPI.schema("Name"), into: \.insteadOf),
        ]
    ) { (query, names) throws(ParameterError) in
        if query.insteadOf != nil, names.contains(where: { !["instead_of", "limit"].contains($0) })
        {
            throw ParameterError(detail: "instead_of: goes with limit alone")
        }
        if query.hasCursors, query.orderInForce == nil {
            throw ParameterError(detail: "cursors: goes with sort or q")
        }
    }

    /// The parameters of a question about what is different of some.
    static let differenceParameters = Parameters(
        {
            var query = ResponderQuery()
            query.limit = DifferenceTable.limitStandard
            return query
        }(),
        filters + [
            .limit(
                "Differences in the answer at most.", standard: DifferenceTable.limitStandard,
                into: \.limit)
        ])
}

extension ResponderQuery {
    /// The filters, of which all must hold.
    private static let filters: [Parameter<ResponderQuery>] =
        [
            choice("status", "Those of this status", ShownStatus.allCases, \.word, \.statuses),
            choice("reachable", "Who can be reached now", Reachable.allCases, \.word, \.reachable),
            names("region", "Of this region", \.region),
            choice("duty_state", "Of this duty state", DutyState.allCases, \.word, \.duties),
            choice(
                "not_expected", "Not expected, for this reason", NotExpected.allCases, \.word,
                \.notExpected),
            choice("sharing", "Who shares now, or not", Sharing.allCases, \.word, \.sharing),
            names("circle", "Of this circle", \.circle),
            choice(
                "cause", "Of whose open gap this is suspected", GapCause.allCases, \.word,
                \.causes),
            .time("silent_since", "Whose open gap opened then or later.", into: \.silentSince),
            .time("silent_until", "Whose open gap opened before then.", into: \.silentUntil),
            choice("platform", "On this platform", Platform.allCases, \.word, \.platforms),
            names("manufacturer", "Whose phone is by this manufacturer", \.manufacturer),
            names("model", "Whose phone is this model", \.model),
            names("os_version", "Whose phone's system has this version", \.osVersion),
            names("app_version", "Whose app has this version", \.appVersion),
            choice(
                "battery",
                "Whose battery was so full last, in percent, above the first number and up to the second",
                BatteryBand.allCases, \.word, \.batteries),
        ] + Telemetry.fields.indices.map { telemetry($0) } + [
            Parameter(
                "q", "Whose id has this text in it; a to z in either case.",
                ["type": "string", "maxLength": .integer(Int64(textMax))]
            ) { (query, value) throws(ParameterError) in
                guard value.utf8.count <= textMax else {
                    throw ParameterError(detail: "q: at most \(textMax) bytes expected")
                }
                query.text = value.utf8.map { ASCIIText.lowered($0) }
            }
        ]

    private static func choice<Word: Sendable & Equatable>(
        _ name: String, _ meaning: String, _ words: [Word],
        _ text: @escaping @Sendable (Word) -> StaticString,
        _ place: Parameter<ResponderQuery>.Place<[Word]>
    ) -> Parameter<ResponderQuery> {
        // What has no word says nothing, and is asked for by nobody.
        let known = words.filter { text($0).utf8CodeUnitCount > 0 }
        return .words(name, "\(meaning)", known, text, max: known.count, into: place)
    }

    private static func telemetry(_ index: Int) -> Parameter<ResponderQuery> {
        let field = Telemetry.fields[index]
        let values = field.values.indices.map { UInt8($0) }
        return .words(
            "\(field.name)", "Whose phone said this last", values, { field.values[Int($0)] },
            max: values.count, into: \.telemetry[index])
    }

    private static func names(
        _ name: String, _ meaning: String, _ place: Parameter<ResponderQuery>.Place<NameChoice?>
    ) -> Parameter<ResponderQuery> {
        let more = """
            or of one of several with commas between them; one that ends in `*` is a beginning, and an \
            empty one means those who have none
            """
        return Parameter(name, "\(meaning), \(more).", ["type": "string"]) { query, value in
            query[keyPath: place] = NameChoice(value)
        }
    }
}
